package hook

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// variable is a name that {{.Vars.NAME}} can hold.
var variable = regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)

// Check parses all templates and captures, and refuses steps that cannot be meant.
// Whether a variable has been captured is known only when the step runs.
func Check(steps []Step) error {
	for i, s := range steps {
		if err := s.check(); err != nil {
			return fmt.Errorf("%s: %w", s.called(i), err)
		}
	}
	return nil
}

func (s Step) check() error {
	switch {
	case s.HTTP == nil && s.Command == "":
		return errors.New("it does nothing: say http or command")
	case s.HTTP != nil && s.Command != "":
		return errors.New("it is http or a command, not both: make two steps")
	case s.Per != "" && s.Per != PerRun && s.Per != PerRef:
		return fmt.Errorf("per: %q is neither %s nor %s", s.Per, PerRun, PerRef)
	case s.Timeout < 0:
		return fmt.Errorf("timeout: %v is before the beginning", s.Timeout)
	}
	if err := s.checkTexts(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.Capture)) {
		if err := s.checkCapture(name, s.Capture[name]); err != nil {
			return fmt.Errorf("capture %s: %w", name, err)
		}
	}
	return nil
}

func (s Step) checkTexts() error {
	if s.HTTP == nil {
		return named("command", checkText(s.Command))
	}
	errs := []error{named("url", checkText(s.HTTP.URL)), named("body", checkText(s.HTTP.Body))}
	if s.HTTP.URL == "" {
		errs[0] = errors.New("url: it is empty")
	}
	for _, name := range slices.Sorted(maps.Keys(s.HTTP.Headers)) {
		errs = append(errs, named("header "+name, checkText(s.HTTP.Headers[name])))
	}
	for _, err := range errs { // one is enough at a time
		if err != nil {
			return err
		}
	}
	return nil
}

func named(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// noField is how text/template says that Data has no such field. Everything else
// that a trial says may be the trial's own fault: its values are made up.
const noField = "can't evaluate field"

// checkText parses a template and tries it for misspelt fields.
func checkText(text string) error {
	t, err := parse(text)
	if err != nil {
		return err
	}
	err = t.Option("missingkey=zero").Execute(new(strings.Builder), Data{Run: "run", Ref: "ref", Base: "http://127.0.0.1"})
	if err != nil && strings.Contains(err.Error(), noField) {
		return fmt.Errorf("in %q: %s (there are .Run, .Ref, .Base and .Vars)", shown(text), plain(err))
	}
	return nil
}

func (s Step) checkCapture(name, place string) error {
	header, isHeader := strings.CutPrefix(place, placeHeader)
	switch {
	case !variable.MatchString(name):
		return fmt.Errorf("a variable's name has letters, digits and _ only, or {{.Vars.%s}} cannot be written", name)
	case place == "":
		return errors.New("it says no place: a gjson path, header:NAME, status, or output")
	case isHeader && header == "":
		return errors.New("header: which one?")
	case s.HTTP == nil && (isHeader || place == placeStatus):
		return errors.New("a command has neither status nor header; take output, or a gjson path into it")
	}
	return nil
}
