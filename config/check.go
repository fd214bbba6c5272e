package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/target/effects"
	"github.com/idemrace/idemrace/target/hook"
	"github.com/idemrace/idemrace/target/httptarget"
)

var plainName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]*$`)

// workersMost is more than a race needs, and than a developer's machine likes.
const workersMost = 16

// check refuses what decodes and makes no sense.
func (c Config) check() error {
	if len(c.Targets) == 0 {
		return errors.New("targets is empty; idemrace init writes an example")
	}
	names := map[string]bool{}
	for i, s := range c.Targets {
		where := fmt.Sprintf("targets[%d]", i)
		switch {
		case s.Name == "":
			return fmt.Errorf("%s has no name", where)
		case !plainName.MatchString(s.Name):
			return fmt.Errorf("%s: the name %q; use small letters, digits, - _ and .", where, s.Name)
		case names[s.Name]:
			return fmt.Errorf("two targets are named %s", s.Name)
		}
		names[s.Name] = true
		if err := s.check(); err != nil {
			return fmt.Errorf("target %s: %w", s.Name, err)
		}
	}
	for i, a := range c.Accept {
		if err := a.check(names); err != nil {
			return fmt.Errorf("accept[%d]: %w", i, err)
		}
	}
	return nil
}

func (s Service) check() error {
	w := s.Workers
	switch {
	case len(w.URLs) > 0 && w.Command != "":
		return errors.New("workers: they run at urls, or a command starts them; not both")
	case len(w.URLs) == 0 && w.Command == "":
		return errors.New("workers: give urls of running ones, or a command that starts one")
	case w.Count < 0 || w.Count > workersMost:
		return fmt.Errorf("workers.count: %d; it is from 1 to %d", w.Count, workersMost)
	case w.Count > 0 && len(w.URLs) > 0:
		return errors.New("workers.count is for a command; each url is one worker")
	case s.Store.Kind != "" && s.Store.Kind != Redis && s.Store.Kind != None:
		return fmt.Errorf("store: %q is neither %s nor %s", s.Store.Kind, Redis, None)
	}
	for _, u := range w.URLs {
		if !strings.HasPrefix(u, "http://") && !strings.HasPrefix(u, "https://") {
			return fmt.Errorf("workers.urls: %q; write e.g. http://127.0.0.1:8080", u)
		}
	}
	if _, err := httptarget.Resolve(s.Profile); err != nil {
		return err
	}
	if _, err := effects.Attribute(s.Effects.Ref); err != nil {
		return err
	}
	if _, err := effects.NewSource(effects.Config{Spec: s.Effects}); err != nil {
		return err
	}
	if err := hook.Check(append(append([]hook.Step{}, s.Setup...), s.Teardown...)); err != nil {
		return err
	}
	t, err := httptarget.New(httptarget.Config{Request: s.Request, Answer: s.Answer, Tenants: s.Tenants, Vars: s.captured()})
	if err != nil {
		return err
	}
	t.Close()
	return nil
}

// captured are the variables that setup steps will have, as examples for templates.
func (s Service) captured() map[string]string {
	vars := map[string]string{}
	for _, step := range s.Setup {
		for name := range step.Capture {
			vars[name] = name
		}
	}
	return vars
}

func (a Accept) check(targets map[string]bool) error {
	switch {
	case a.Invariant == "" || a.Scenario == "" || a.Reason == "" || a.Until.IsZero():
		return errors.New("it needs invariant, scenario, reason and until (a day)")
	case a.Target != "" && !targets[a.Target]:
		return fmt.Errorf("there is no target %q", a.Target)
	}
	if _, ok := check.Lookup(a.Invariant); !ok {
		return fmt.Errorf("unknown invariant %q; see: idemrace list invariants", a.Invariant)
	}
	return nil
}
