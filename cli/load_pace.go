package cli

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/idemrace/idemrace/load"
)

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
