package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/strictyaml"
	"github.com/idemrace/idemrace/target/effects"
	"github.com/idemrace/idemrace/target/hook"
	"github.com/idemrace/idemrace/target/httptarget"
	"github.com/idemrace/idemrace/target/worker"
)

var plainName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]*$`)

// workersMost is more than a race needs, and than a developer's machine likes.
const workersMost = 16

// check refuses what decodes and makes no sense.
func (c Config) check(at places) error {
	if len(c.Targets) == 0 {
		return at.refuse("targets", "targets is empty; idemrace init writes an example")
	}
	names := map[string]bool{}
	for i, s := range c.Targets {
		where := fmt.Sprintf("targets[%d]", i)
		switch {
		case s.Name == "":
			return at.refuse(where+".name", "%s has no name", where)
		case !plainName.MatchString(s.Name):
			return at.refuse(where+".name", "the name %q; use small letters, digits, - _ and ., and begin with a letter or digit", shown(s.Name))
		case names[s.Name]:
			return at.refuse(where+".name", "two targets are named %s", s.Name)
		}
		names[s.Name] = true
		if err := s.check(at, where); err != nil {
			return err
		}
	}
	for i, a := range c.Accept {
		if err := a.check(at, fmt.Sprintf("accept[%d]", i), names); err != nil {
			return err
		}
	}
	return nil
}

// check of a service looks at our own fields; then each room looks at its own.
func (s Service) check(at places, where string) error {
	ours := []func(places, string) error{s.checkWorkers, s.checkAddresses}
	for _, look := range ours {
		if err := look(at, where); err != nil {
			return err
		}
	}
	theirs := []func() error{
		func() error { _, err := httptarget.Resolve(s.Profile); return err },
		func() error { _, err := effects.Attribute(s.Effects.Ref); return err },
		func() error { _, err := effects.NewSource(effects.Config{Spec: s.Effects}); return err },
		func() error { return prefixed("setup: ", hook.Check(s.Setup)) },
		func() error { return prefixed("teardown: ", hook.Check(s.Teardown)) },
		s.checkRequest,
	}
	for _, look := range theirs {
		if err := look(); err != nil {
			return at.about(where, "target "+s.Name, err)
		}
	}
	return nil
}

func prefixed(prefix string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s%w", prefix, err)
}

// checkRequest tries every template. Certificates are read when they are used: the
// file may come later, and lies beside this one.
func (s Service) checkRequest() error {
	if (s.TLS.Cert == "") != (s.TLS.Key == "") {
		return errors.New("tls: cert and key come together")
	}
	t, err := httptarget.New(httptarget.Config{Request: s.Request, Answer: s.Answer, Tenants: s.Tenants, Vars: s.captured()})
	if err == nil {
		t.Close()
	}
	return err
}

func (s Service) checkWorkers(at places, where string) error {
	w, where := s.Workers, where+".workers"
	switch {
	case len(w.URLs) > 0 && w.Command != "":
		return at.refuse(where, "workers: they run at urls, or a command starts them; not both")
	case len(w.URLs) == 0 && w.Control != (worker.Control{}):
		return at.refuse(where+".control", "workers.control is for workers at urls; give them, or take control out")
	case len(w.URLs) == 0 && w.Command == "":
		return at.refuse(where, "workers: give urls of running ones, or a command that starts one")
	case w.Count < 0 || w.Count > workersMost || w.Count == 0 && at.written(where+".count"):
		return at.refuse(where+".count", "workers.count: %d; it is from 1 to %d", w.Count, workersMost)
	case w.Count > 0 && len(w.URLs) > 0:
		return at.refuse(where+".count", "workers.count is for a command; each url is one worker")
	case len(w.URLs) > workersMost:
		return at.refuse(where+".urls", "workers.urls: %d of them; it is from 1 to %d", len(w.URLs), workersMost)
	}
	for i, text := range w.URLs {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return at.refuse(fmt.Sprintf("%s.urls[%d]", where, i), "workers.urls: %q is no URL; write e.g. http://127.0.0.1:8080", shown(text))
		}
	}
	return nil
}

// checkAddresses: an advertised one may be a host alone, the port is then ours.
func (s Service) checkAddresses(at places, where string) error {
	if k := s.Store.Kind; k != "" && k != Redis && k != None {
		return at.refuse(where+".store.kind", "store: %q is neither %s nor %s", shown(k), Redis, None)
	}
	for _, a := range []struct{ field, address string }{
		{"provider.listen", s.Provider.Listen}, {"store.listen", s.Store.Listen},
	} {
		if a.address != "" && !isAddress(a.address) {
			return at.refuse(where+"."+a.field, "%s: %q is no address to listen on; write e.g. 127.0.0.1:12111", a.field, shown(a.address))
		}
	}
	for _, a := range []struct{ field, address string }{
		{"provider.advertise", s.Provider.Advertise}, {"store.advertise", s.Store.Advertise},
	} {
		if strings.Contains(a.address, "/") {
			return at.refuse(where+"."+a.field, "%s: %q is no address; write e.g. host.docker.internal, or with a port", a.field, shown(a.address))
		}
	}
	return nil
}

func isAddress(text string) bool {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
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

func (a Accept) check(at places, where string, targets map[string]bool) error {
	var missing []string
	for _, f := range []struct {
		name  string
		there bool
	}{{"invariant", a.Invariant != ""}, {"scenario", a.Scenario != ""}, {"reason", strings.TrimSpace(a.Reason) != ""}, {"until", !a.Until.IsZero()}} {
		if !f.there {
			missing = append(missing, f.name)
		}
	}
	if len(missing) > 0 {
		return at.refuse(where, "%s has no %s; it needs invariant, scenario, reason and until (a day)", where, strings.Join(missing, ", "))
	}
	if a.Target != "" && !targets[a.Target] {
		return at.refuse(where+".target", "%s: there is no target %q", where, shown(a.Target))
	}
	if _, ok := check.Lookup(a.Invariant); ok {
		return nil
	}
	if near := strictyaml.Nearest(a.Invariant, invariants()); near != "" {
		return at.refuse(where+".invariant", "%s: unknown invariant %q; did you mean %s?", where, shown(a.Invariant), near)
	}
	return at.refuse(where+".invariant", "%s: unknown invariant %q; see: idemrace list invariants", where, shown(a.Invariant))
}

func invariants() []string {
	var ids []string
	for _, i := range check.All() {
		ids = append(ids, i.ID)
	}
	slices.Sort(ids)
	return ids
}
