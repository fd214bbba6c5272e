package cli

import (
	"slices"

	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/scenarios"
)

// entries are all coordinators: ours, and those that were handed in.
func (a *app) entries() []impl.Entry { return slices.Concat(impl.All(), a.extra) }

// checkExtra refuses coordinators that could not be told apart. It is the
// embedding program's mistake, but its user is who sees it.
func (a *app) checkExtra() error {
	taken := impl.Groups()
	for _, e := range impl.All() {
		taken = append(append(taken, e.Name), e.Also...)
	}
	for _, e := range a.extra {
		if e.Name == "" || e.New == nil {
			return usage("an extra coordinator has no name or no constructor (cli.Config.Extra)")
		}
		if slices.Contains(taken, e.Name) {
			return usage("the extra coordinator %q has a name that is taken (cli.Config.Extra)", e.Name)
		}
		taken = append(taken, e.Name)
	}
	return nil
}

// group returns the coordinators of a group, and whether there is such a group.
func (a *app) group(name string) ([]impl.Entry, bool) {
	known := slices.Contains(a.groups(), name)
	var members []impl.Entry
	for _, e := range a.entries() {
		if name == impl.Everyone || slices.Contains(e.Groups, name) {
			members = append(members, e)
		}
	}
	return members, known
}

// groups are ours, and those that extra coordinators name.
func (a *app) groups() []string {
	names := impl.Groups()
	for _, e := range a.extra {
		for _, g := range e.Groups {
			if !slices.Contains(names, g) {
				names = append(names, g)
			}
		}
	}
	return names
}

// implNames is what --impl accepts.
func (a *app) implNames() []string {
	var names []string
	for _, e := range a.entries() {
		names = append(names, e.Name)
	}
	for _, g := range a.groups() {
		if members, _ := a.group(g); len(members) > 0 {
			names = append(names, g)
		}
	}
	return names
}

// pickTargets resolves names and groups, each coordinator once, in the order in
// which it was first asked for.
func (a *app) pickTargets(names []string) ([]impl.Entry, error) {
	var picked []impl.Entry
	for _, name := range names {
		members, known := a.group(name)
		for _, e := range a.entries() {
			if e.Called(name) {
				members = []impl.Entry{e}
			}
		}
		switch {
		case len(members) == 0 && known:
			return nil, about("impl", usage("the group %q has no coordinators yet; see: idemrace list impls", name))
		case len(members) == 0:
			return nil, about("impl", unknown("coordinator", name, a.implNames(), "idemrace list impls"))
		}
		for _, e := range members {
			if !slices.ContainsFunc(picked, func(p impl.Entry) bool { return p.Name == e.Name }) {
				picked = append(picked, e)
			}
		}
	}
	if len(picked) == 0 {
		return nil, usage("--impl names no coordinator; see: idemrace list impls")
	}
	return picked, nil
}

func scenarioNames() []string {
	var names []string
	for _, s := range scenarios.All() {
		names = append(names, s.Name)
	}
	return names
}

// pickScenarios resolves names, each once; none means all.
func pickScenarios(names []string) ([]scenarios.Scenario, error) {
	if len(names) == 0 {
		return scenarios.All(), nil
	}
	var picked []scenarios.Scenario
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		s, ok := scenarios.Lookup(name)
		if !ok {
			return nil, about("scenario", unknown("scenario", name, scenarioNames(), "idemrace list scenarios"))
		}
		picked = append(picked, s)
	}
	return picked, nil
}
