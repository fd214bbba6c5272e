package cli

import (
	"testing"
	"time"

	"github.com/idemrace/idemrace/load"
	"github.com/idemrace/idemrace/runner"
)

func TestLoadLine(t *testing.T) {
	l := &loadLine{name: "shop", span: 10 * time.Second, faults: []runner.LoadFault{{Kind: runner.WorkerKillFault, At: 2 * time.Second, For: time.Second}}}
	for _, row := range []struct {
		why  string
		s    load.Snapshot
		want string
	}{
		{"the first second", load.Snapshot{At: time.Second, Answered: 100, InFlight: 3, P50: 5123 * time.Microsecond, P99: 45123 * time.Microsecond},
			"shop: 100/s, p50 5.12ms, p99 45.1ms, 3 in flight, 0 double charges, 9s left"},
		{"the rate is that of the last second; a fault acts", load.Snapshot{At: 2 * time.Second, Answered: 150, InFlight: 40, Doubles: 1, P99: 1234 * time.Millisecond},
			"shop: 50/s, p50 0s, p99 1.23s, 40 in flight, 1 double charge, worker-kill, 8s left"},
		{"the fault is over", load.Snapshot{At: 4 * time.Second, Answered: 350, Doubles: 2}, "shop: 100/s, p50 0s, p99 0s, 0 in flight, 2 double charges, 6s left"},
		{"all is sent", load.Snapshot{At: 11 * time.Second, Answered: 350, InFlight: 2}, "shop: 0/s, p50 0s, p99 0s, 2 in flight, 0 double charges, waiting for the last answers"},
	} {
		if got := l.say(row.s); got != row.want {
			t.Errorf("%s:\n got %s\nwant %s", row.why, got, row.want)
		}
	}
	counted := &loadLine{name: "wait", most: 500}
	if got, want := counted.say(load.Snapshot{At: time.Second, Answered: 200}), "wait: 200/s, p50 0s, p99 0s, 0 in flight, 0 double charges, 200 of 500"; got != want {
		t.Errorf("without an end in time:\n got %s\nwant %s", got, want)
	}
}
