package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/idemrace/idemrace/strictyaml"
	"github.com/idemrace/idemrace/target/httptarget"
	"github.com/idemrace/idemrace/target/worker"
)

// Load reads a file. env is the environment. Errors name file, line and column,
// and the next step.
func Load(path string, env func(string) (string, bool)) (Config, error) {
	text, err := read(path)
	if err != nil {
		return Config{}, err
	}
	return parse(text, path, filepath.Dir(path), env)
}

// sizeMax is one byte more than is taken: enough to see that it is too much, of
// files without end too.
const sizeMax = 1<<20 + 1

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist; idemrace init writes one", path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a directory; give the file in it, e.g. %s", path, filepath.Join(path, "idemrace.yaml"))
	}
	return io.ReadAll(io.LimitReader(f, sizeMax))
}

// Parse is Load of a text that lies in dir.
func Parse(text []byte, dir string, env func(string) (string, bool)) (Config, error) {
	return parse(text, "idemrace.yaml", dir, env)
}

func parse(text []byte, file, dir string, env func(string) (string, bool)) (Config, error) {
	cfg := Config{Dir: dir}
	if err := refuseLive(text, file); err != nil {
		return cfg, err
	}
	x := &expander{env: env, names: map[string]string{}}
	at := places{file: file, all: map[string]place{}}
	err := strictyaml.Decode(text, &cfg, strictyaml.Options{File: file, Value: x.expand, Short: shortForms(), Seen: at.seen})
	if err == nil {
		err = cfg.check(at)
	}
	cfg.Secrets = x.secrets
	for i := range cfg.Targets {
		cfg.Targets[i].beside(dir)
	}
	return cfg, x.hide(err)
}

// expander replaces ${env:NAME}.
type expander struct {
	env     func(string) (string, bool)
	secrets []string
	names   map[string]string // of secrets
}

var (
	reference = regexp.MustCompile(`\$?\$\{[^}]*\}`)
	// liveKey is how keys of Stripe begin that move money. Other providers' do not say
	// it of themselves.
	liveKey = regexp.MustCompile(`(?:^|[^0-9A-Za-z])([srp]k_live_[0-9A-Za-z]+)`)
)

const liveKeyRefused = "this looks like a live key of Stripe's; give a test key, nothing here may move money"

// refuseLive looks at the whole text, comments too: what lies in this file is read
// by many.
func refuseLive(text []byte, file string) error {
	found := liveKey.FindSubmatchIndex(text)
	if found == nil {
		return nil
	}
	before := text[:found[2]]
	return &strictyaml.Error{File: file, Line: 1 + bytes.Count(before, []byte("\n")),
		Column: 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]), Text: liveKeyRefused}
}

// shortest is the length from which on a value of the environment is taken for a
// secret: shorter ones would blot out half of a report.
const shortest = 4

// expand replaces each reference; $${ is a literal ${. In a text for a shell, every
// other ${ is the shell's.
func (x *expander) expand(where, text string) (string, error) {
	var failed error
	out := reference.ReplaceAllStringFunc(text, func(m string) string {
		inside, isOurs := strings.CutPrefix(strings.TrimSuffix(m, "}"), "${env:")
		switch {
		case !isOurs && forShell(where) && !strings.HasPrefix(m, "$${env:"):
			return m
		case strings.HasPrefix(m, "$$"):
			return m[1:]
		case !isOurs:
			failed = cmp.Or(failed, fmt.Errorf("%s: only ${env:NAME} is known; $${ is a literal ${", shown(m)))
			return ""
		}
		value, err := x.value(inside)
		failed = cmp.Or(failed, err)
		return value
	})
	if failed == nil && liveKey.MatchString(out) {
		failed = errors.New(liveKeyRefused)
	}
	return out, failed
}

// forShell: the field is run by sh -c.
func forShell(where string) bool {
	field := where[strings.LastIndexByte(where, '.')+1:]
	return field == "command" || strings.Contains(where, ".workers.control.")
}

// hide takes secrets out of an error: a value that is refused is quoted in it.
func (x *expander) hide(err error) error {
	var e *strictyaml.Error
	if !errors.As(err, &e) {
		return err
	}
	longest := slices.Clone(x.secrets)
	slices.SortFunc(longest, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range longest {
		pairs = append(pairs, s, "${env:"+x.names[s]+"}")
	}
	hidden := *e
	hidden.Text = strings.NewReplacer(pairs...).Replace(e.Text)
	return &hidden
}

func (x *expander) value(ref string) (string, error) {
	name, otherwise, hasDefault := strings.Cut(ref, ":-")
	value, set := x.env(name)
	switch {
	case !set && hasDefault:
		return otherwise, nil
	case !set:
		return "", fmt.Errorf("%s is not set in the environment; set it, or write ${env:%s:-default}", shown(name), shown(name))
	}
	if len(value) >= shortest && x.names[value] == "" {
		x.names[value] = name
		x.secrets = append(x.secrets, value)
	}
	return value, nil
}

// shown is enough of a text to find it again.
func shown(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// shortForms let a name or a list stand for a mapping.
func shortForms() map[reflect.Type]func(*yaml.Node) (*yaml.Node, error) {
	as := func(field string) func(*yaml.Node) (*yaml.Node, error) {
		return func(n *yaml.Node) (*yaml.Node, error) {
			if n.Kind == yaml.MappingNode || n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
				return n, nil
			}
			return mapping(n, field), nil
		}
	}
	return map[reflect.Type]func(*yaml.Node) (*yaml.Node, error){
		reflect.TypeFor[httptarget.Profile](): waiting(as("name")),
		reflect.TypeFor[Store]():              as("kind"),
		reflect.TypeFor[worker.Spec]():        as("urls"),
	}
}

func mapping(n *yaml.Node, field string) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line, Column: n.Column,
		Content: []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: field, Line: n.Line, Column: n.Column}, n}}
}

// waiting turns in-flight: wait into waits: true.
func waiting(short func(*yaml.Node) (*yaml.Node, error)) func(*yaml.Node) (*yaml.Node, error) {
	return func(n *yaml.Node) (*yaml.Node, error) {
		long, err := short(n)
		if err != nil || long.Kind != yaml.MappingNode {
			return long, err
		}
		out := *long
		out.Content = slices.Clone(long.Content)
		for i := 0; i < len(out.Content); i += 2 {
			if key, value := out.Content[i], out.Content[i+1]; key.Value == "in-flight" && value.Kind == yaml.ScalarNode && value.Value == "wait" {
				name, yes := *key, *value
				name.Value, yes.Value = "waits", "true"
				out.Content[i], out.Content[i+1] = &name, &yes
			}
		}
		return &out, nil
	}
}

// beside makes paths relative to the file's folder.
func (s *Service) beside(dir string) {
	for _, path := range []*string{&s.TLS.CA, &s.TLS.Cert, &s.TLS.Key} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
}

// Simple is the configuration of one running service at a URL.
func Simple(text string) (Config, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return Config{}, errors.New("this is no URL of a service; write e.g. http://127.0.0.1:8080/charges")
	}
	if liveKey.MatchString(text) {
		return Config{}, errors.New(liveKeyRefused)
	}
	path := u.RequestURI()
	s := Service{Name: u.Hostname(), Request: httptarget.Request{Path: path}, Store: Store{Kind: None},
		Workers: worker.Spec{URLs: []string{u.Scheme + "://" + u.Host}}}
	if port := u.Port(); port != "" {
		s.Name += "-" + port
	}
	return Config{Targets: []Service{s}}, nil
}

// Remote lists what is not on this machine: targets, and addresses to listen on.
func (c Config) Remote() []string {
	var away []string
	add := func(host string) {
		if host != "" && !loopback(host) && !slices.Contains(away, host) {
			away = append(away, host)
		}
	}
	for _, s := range c.Targets {
		urls := append(slices.Clone(s.Workers.URLs), s.Effects.URL)
		for _, step := range slices.Concat(s.Setup, s.Teardown) {
			if step.HTTP != nil {
				urls = append(urls, step.HTTP.URL)
			}
		}
		for _, u := range urls {
			if parsed, err := url.Parse(u); err == nil {
				add(parsed.Hostname())
			}
		}
		for _, addr := range []string{s.Provider.Listen, s.Store.Listen} {
			host, _, err := net.SplitHostPort(addr)
			if addr != "" && (err != nil || host == "") {
				host = addr + " (all addresses)"
			}
			add(host)
		}
	}
	return away
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
