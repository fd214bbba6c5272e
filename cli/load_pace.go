package cli

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/idemrace/idemrace/load"
)

// emptyThreshold: a variable of a script's that is not set, mostly.
const emptyThreshold = "--threshold is empty: write METRIC<VALUE, e.g. double_charges==0"

// given refuses what was given and would be without effect: of several paces one would
// be taken in silence, an empty threshold would guard nothing.
func (f loadFlags) given(fs *pflag.FlagSet) error {
	var paces []string
	for _, name := range []string{"rate", "ramp", "burst", "clients"} {
		if fs.Changed(name) {
			paces = append(paces, "--"+name)
		}
	}
	switch {
	case len(paces) > 1:
		return usage("%s are several paces; give one of them", strings.Join(paces, " and "))
	case fs.Changed("clients") && f.clients < 1:
		return usage("--clients %d: how many clients send, e.g. --clients 50", f.clients)
	case fs.Changed("burst") && f.burst < 1:
		return usage("--burst %d: how many at once, e.g. --burst 50 --every 1s", f.burst)
	case fs.Changed("every") && !fs.Changed("burst"):
		return usage("--every is the pause between bursts; add --burst, e.g. --burst 50")
	case f.every <= 0:
		return usage("--every %v: a pause between bursts, e.g. --every 1s", f.every)
	case fs.Changed("ramp") && f.ramp == "":
		return usage("--ramp is empty: write FROM:TO:OVER, e.g. 100:2000:30s")
	case fs.Changed("window") && f.plan.Window <= 0:
		return usage("--window %v: how soon a duplicate in flight comes, e.g. --window 20ms", f.plan.Window)
	case fs.Changed("fan-out") && f.plan.FanOut < 1:
		return usage("--fan-out %d: how often a key comes again, e.g. --fan-out 3; --duplicates 0 has none", f.plan.FanOut)
	case fs.Changed("hot") && f.plan.Hot == 0:
		return usage("--hot is the share of hot keys, and there are none; add --hot-keys, e.g. --hot-keys 5")
	case fs.Changed("threshold") && len(f.thresholds) == 0:
		return usage("%s", emptyThreshold)
	case fs.Changed("fault") && len(f.faults) == 0:
		return usage("--fault is empty: write KIND@AT+FOR, e.g. provider-slow@2s+1s")
	}
	return nil
}

// pace is the one that is asked for.
func (f loadFlags) pace() (load.Pacer, error) {
	switch {
	case f.clients > 0:
		return load.Clients(f.clients), nil
	case f.burst > 0 && f.every > 0:
		return load.Bursts{Size: int64(f.burst), Every: f.every}, nil
	case f.ramp != "":
		parts := strings.Split(f.ramp, ":")
		if len(parts) == 3 {
			from, err1 := strconv.ParseFloat(parts[0], 64)
			to, err2 := strconv.ParseFloat(parts[1], 64)
			over, err3 := time.ParseDuration(parts[2])
			if errors.Join(err1, err2, err3) == nil && from > 0 && to > 0 && over > 0 {
				return load.Ramp{From: from, To: to, Over: over}, nil
			}
		}
		return nil, usage("--ramp %s: write FROM:TO:OVER, e.g. 100:2000:30s", f.ramp)
	case f.rate > 0:
		return load.Constant(f.rate), nil
	}
	return nil, usage("--rate %g: how many requests a second, e.g. --rate 200", f.rate)
}
