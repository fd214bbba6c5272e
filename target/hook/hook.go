package hook

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"
)

// Runner runs steps.
type Runner struct {
	Dir    string       // the configuration's folder
	Env    []string     // of commands; nil is an empty one
	Client *http.Client // nil, or one without a Transport: no connection stays open
	Header http.Header  // of every request: the run's mark
}

// Run runs the steps whose Per is per, in order, and returns what they captured,
// with vars. The first failure ends it; the error names the step and what was seen.
func (r Runner) Run(ctx context.Context, steps []Step, per string, d Data) (vars map[string]string, err error) {
	vars = map[string]string{}
	maps.Copy(vars, d.Vars)
	d.Vars = vars
	for i, s := range steps {
		if s.per() != per {
			continue
		}
		if err := r.step(ctx, s, d); err != nil {
			return vars, fmt.Errorf("%s: %w", s.called(i), err)
		}
	}
	return vars, nil
}

// step runs one step and adds to d.Vars what it captures.
func (r Runner) step(ctx context.Context, s Step, d Data) error {
	took := fmt.Errorf("it took longer than %v", s.timeout())
	limited, cancel := context.WithTimeoutCause(ctx, s.timeout(), took)
	defer cancel()
	do := r.command
	if s.HTTP != nil {
		do = r.request
	}
	got, err := do(limited, s, d)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.Capture)) {
		value, err := got.at(s.Capture[name])
		if err != nil {
			return fmt.Errorf("capture %s: %w", name, err)
		}
		d.Vars[name] = value
	}
	return nil
}

// because is the reason why a context has ended, or err if it has not.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// wordsMax is how many characters of an answer or an output stand in an error.
const wordsMax = 200

// words is a text on one line.
func words(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
}

// firstWords is how a text begins.
func firstWords(text string) string {
	w := []rune(words(text[:min(len(text), 8*wordsMax)]))
	switch {
	case len(w) == 0:
		return "nothing"
	case len(w) > wordsMax:
		return string(w[:wordsMax]) + "…"
	}
	return string(w)
}

// lastWords is how a text ends.
func lastWords(text string) string {
	w := []rune(words(text[max(0, len(text)-8*wordsMax):]))
	switch {
	case len(w) == 0:
		return "it said nothing"
	case len(w) > wordsMax:
		return "it last said: …" + string(w[len(w)-wordsMax:])
	}
	return "it last said: " + string(w)
}
