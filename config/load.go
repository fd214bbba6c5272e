package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/idemrace/idemrace/strictyaml"
	"github.com/idemrace/idemrace/target/httptarget"
	"github.com/idemrace/idemrace/target/worker"
)

// Load reads a file. env is the environment. Errors name file, line and column,
// and the next step.
func Load(path string, env func(string) (string, bool)) (Config, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, fmt.Errorf("%s does not exist; idemrace init writes one", path)
	}
	if err != nil {
		return Config{}, err
	}
	return parse(text, path, filepath.Dir(path), env)
}

// Parse is Load of a text that lies in dir.
func Parse(text []byte, dir string, env func(string) (string, bool)) (Config, error) {
	return parse(text, "idemrace.yaml", dir, env)
}

func parse(text []byte, file, dir string, env func(string) (string, bool)) (Config, error) {
	cfg := Config{Dir: dir}
	x := &expander{env: env}
	err := strictyaml.Decode(text, &cfg, strictyaml.Options{File: file, Value: x.expand, Short: shortForms()})
	if err != nil {
		return cfg, err
	}
	cfg.Secrets = x.secrets
	for i := range cfg.Targets {
		cfg.Targets[i].beside(dir)
	}
	if err := cfg.check(); err != nil {
		return cfg, fmt.Errorf("%s: %w", file, err)
	}
	return cfg, nil
}

// expander replaces ${env:NAME}.
type expander struct {
	env     func(string) (string, bool)
	secrets []string
}

var (
	reference = regexp.MustCompile(`\$?\$\{[^}]*\}`)
	liveKey   = regexp.MustCompile(`\b[srp]k_live_[0-9A-Za-z]+`)
)

// shortest is the length from which on a value of the environment is taken for a
// secret: shorter ones would blot out half of a report.
const shortest = 4

// expand replaces each reference; $${ is a literal ${.
func (x *expander) expand(text string) (string, error) {
	var failed error
	out := reference.ReplaceAllStringFunc(text, func(m string) string {
		if strings.HasPrefix(m, "$$") {
			return m[1:]
		}
		value, err := x.value(strings.TrimSuffix(strings.TrimPrefix(m, "${"), "}"))
		if err != nil && failed == nil {
			failed = err
		}
		return value
	})
	if liveKey.MatchString(out) && failed == nil {
		failed = errors.New("this looks like a live key of Stripe's; give a test key, nothing here may move money")
	}
	return out, failed
}

func (x *expander) value(ref string) (string, error) {
	rest, ok := strings.CutPrefix(ref, "env:")
	if !ok {
		return "", fmt.Errorf("${%s}: only ${env:NAME} is known; $${ is a literal ${", ref)
	}
	name, otherwise, hasDefault := strings.Cut(rest, ":-")
	value, set := x.env(name)
	switch {
	case !set && hasDefault:
		return otherwise, nil
	case !set:
		return "", fmt.Errorf("%s is not set in the environment; set it, or write ${env:%s:-default}", name, name)
	}
	if len(value) >= shortest && !slices.Contains(x.secrets, value) {
		x.secrets = append(x.secrets, value)
	}
	return value, nil
}

// shortForms let a name or a list stand for a mapping.
func shortForms() map[reflect.Type]func(*yaml.Node) (*yaml.Node, error) {
	as := func(field string) func(*yaml.Node) (*yaml.Node, error) {
		return func(n *yaml.Node) (*yaml.Node, error) {
			if n.Kind == yaml.MappingNode || n.Tag == "!!null" {
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
	if s.Workers.Dir == "" {
		s.Workers.Dir = dir
	} else if !filepath.IsAbs(s.Workers.Dir) {
		s.Workers.Dir = filepath.Join(dir, s.Workers.Dir)
	}
}

// Simple is the configuration of one running service at a URL.
func Simple(text string) (Config, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return Config{}, errors.New("this is no URL of a service; write e.g. http://127.0.0.1:8080/charges")
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
		for _, u := range append(slices.Clone(s.Workers.URLs), s.Effects.URL) {
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
