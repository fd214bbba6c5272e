package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"strings"
	"text/template"
	"time"

	"github.com/tidwall/gjson"
)

// Runner runs steps.
type Runner struct {
	Dir    string   // the configuration's folder
	Env    []string // of commands
	Client *http.Client
	Header http.Header // of every request: the run's mark
}

// bodyMax is more than a setup step has to read.
const bodyMax = 1 << 20

// Run runs the steps whose Per is per, in order, and returns what they captured,
// with vars. The first failure ends it; the error names the step and what was seen.
func (r Runner) Run(ctx context.Context, steps []Step, per string, d Data) (map[string]string, error) {
	vars := map[string]string{}
	maps.Copy(vars, d.Vars)
	for i, s := range steps {
		if s.per() != per {
			continue
		}
		d.Vars = vars
		seen, err := r.one(ctx, s, d)
		if err != nil {
			return vars, fmt.Errorf("%s: %w", s.called(i), err)
		}
		for name, place := range s.Capture {
			value, ok := seen.at(place)
			if !ok {
				return vars, fmt.Errorf("%s: nothing to capture at %s: %s", s.called(i), place, beginning(seen.body))
			}
			vars[name] = value
		}
	}
	return vars, nil
}

func (s Step) per() string {
	if s.Per == "" {
		return PerRun
	}
	return s.Per
}

func (s Step) called(i int) string {
	if s.Name != "" {
		return "step " + s.Name
	}
	return fmt.Sprintf("step %d", i+1)
}

// seen is what a step gave.
type seen struct {
	status int
	header http.Header
	body   string
}

// at is what stands at a place: a gjson path, header:NAME, status, or output.
func (s seen) at(place string) (string, bool) {
	name, isHeader := strings.CutPrefix(place, "header:")
	switch {
	case isHeader:
		return s.header.Get(name), s.header.Get(name) != ""
	case place == "status":
		return fmt.Sprint(s.status), s.status > 0
	case place == "output":
		return strings.TrimSpace(s.body), true
	}
	found := gjson.Get(s.body, place)
	return found.String(), gjson.Valid(s.body) && found.Exists()
}

func (r Runner) one(ctx context.Context, s Step, d Data) (seen, error) {
	within := s.Timeout
	if within <= 0 {
		within = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if s.HTTP != nil {
		return r.request(ctx, *s.HTTP, d)
	}
	return r.command(ctx, s.Command, d)
}

func (r Runner) request(ctx context.Context, h HTTP, d Data) (seen, error) {
	url, err := fill(h.URL, d)
	if err != nil {
		return seen{}, err
	}
	if !strings.Contains(url, "://") {
		url = strings.TrimSuffix(d.Base, "/") + "/" + strings.TrimPrefix(url, "/")
	}
	body, err := fill(h.Body, d)
	if err != nil {
		return seen{}, err
	}
	method := h.Method
	if method == "" {
		method = map[bool]string{true: http.MethodPost, false: http.MethodGet}[body != ""]
	}
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return seen{}, err
	}
	maps.Copy(req.Header, r.Header)
	if gjson.Valid(body) && body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, text := range h.Headers {
		value, err := fill(text, d)
		if err != nil {
			return seen{}, err
		}
		req.Header.Set(name, value)
	}
	client := *r.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		return seen{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, bodyMax))
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s answered %d: %s", method, url, resp.StatusCode, beginning(string(text)))
	}
	return seen{resp.StatusCode, resp.Header, string(text)}, err
}

func (r Runner) command(ctx context.Context, command string, d Data) (seen, error) {
	text, err := fill(command, d)
	if err != nil {
		return seen{}, err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", text)
	cmd.Dir, cmd.Env, cmd.WaitDelay = r.Dir, r.Env, time.Second
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	inGroup(cmd)
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("it took too long")
		}
		return seen{}, fmt.Errorf("%w: %s", err, beginning(complaint.String()+out.String()))
	}
	return seen{body: out.String()}, nil
}

// Check parses all templates, and refuses steps that cannot be meant.
func Check(steps []Step) error {
	for i, s := range steps {
		switch {
		case (s.HTTP == nil) == (s.Command == ""):
			return fmt.Errorf("%s: it is http or a command", s.called(i))
		case s.Per != "" && s.Per != PerRun && s.Per != PerRef:
			return fmt.Errorf("%s: per: %q is neither run nor ref", s.called(i), s.Per)
		}
		texts := []string{s.Command}
		if s.HTTP != nil {
			texts = append(texts, s.HTTP.URL, s.HTTP.Body)
			for _, h := range s.HTTP.Headers {
				texts = append(texts, h)
			}
		}
		for _, text := range texts {
			if _, err := parse(text); err != nil {
				return fmt.Errorf("%s: %w", s.called(i), err)
			}
		}
	}
	return nil
}

func parse(text string) (*template.Template, error) {
	return template.New("text").Option("missingkey=error").Funcs(template.FuncMap{
		"json": func(v any) (string, error) { b, err := json.Marshal(v); return string(b), err },
	}).Parse(text)
}

func fill(text string, d Data) (string, error) {
	t, err := parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&b, d); err != nil {
		return "", err
	}
	return b.String(), nil
}

const beginningMax = 200

func beginning(text string) string {
	words := strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if words == "" {
		return "(it said nothing)"
	}
	if r := []rune(words); len(r) > beginningMax {
		return string(r[:beginningMax]) + "…"
	}
	return words
}
