package runner

import (
	"cmp"
	"slices"
	"time"

	"github.com/idemrace/idemrace/results"
	"github.com/idemrace/idemrace/scenarios"
)

// worthSure is how much more a violation counts that a scenario shows each time
// than one that it may show.
const worthSure = 3

// overhead is what a cell takes besides its own pauses, roughly.
const overhead = 300 * time.Millisecond

// worth is what a cell may find, for each second that it takes.
func worth(p pair) float64 {
	found := 1
	for _, e := range p.scenario.Exposes {
		if e.Surely {
			found += worthSure
		} else {
			found++
		}
	}
	takes := overhead + p.scenario.Setting.Takes
	if p.service != nil {
		for _, s := range p.scenario.Steps {
			if _, ends := s.(scenarios.EndLeases); ends {
				takes += p.service.profile.Lease
			}
		}
	}
	return float64(found) / takes.Seconds()
}

// byWorth puts first what finds most in a second.
func byWorth(phase []placed) []placed {
	slices.SortStableFunc(phase, func(a, b placed) int { return cmp.Compare(worth(b.pair), worth(a.pair)) })
	return phase
}

// leftOut takes the cells out that the budget had no time for, and names their
// scenarios, each once.
func leftOut(cells []results.Cell) (played []results.Cell, names []string) {
	for _, c := range cells {
		switch {
		case c.Scenario != "":
			played = append(played, c)
		case !slices.Contains(names, c.Title):
			names = append(names, c.Title)
		}
	}
	return played, names
}
