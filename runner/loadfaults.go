package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/load"
)

// LoadFault is a disturbance at a moment of the load, for a time.
type LoadFault struct {
	Kind   string
	Worker string        // of worker-kill and worker-pause; "": the first
	At     time.Duration // since the load's start
	For    time.Duration
}

// Kinds of LoadFault.
const (
	StoreDownFault    = "store-down"      // connections to the store break, and no new one is made
	ProviderSlowFault = "provider-slow"   // each charge takes a second longer
	ProviderErrors    = "provider-errors" // the provider declines, and charges nothing
	WorkerKillFault   = "worker-kill"     // kill -9; the worker is started again at the fault's end
	WorkerPauseFault  = "worker-pause"    // SIGSTOP; SIGCONT at the fault's end
)

// LoadFaults lists the kinds.
func LoadFaults() []string {
	return []string{StoreDownFault, ProviderSlowFault, ProviderErrors, WorkerKillFault, WorkerPauseFault}
}

// ofWorkers: the fault needs processes.
func (f LoadFault) ofWorkers() bool { return f.Kind == WorkerKillFault || f.Kind == WorkerPauseFault }

// Clashes reports whether the end of one would undo the other: both disturb the same,
// and one begins before the other is over, or as it is.
func (f LoadFault) Clashes(other LoadFault) bool {
	same := f.Kind == other.Kind
	if f.ofWorkers() && other.ofWorkers() {
		same = cmp.Or(f.Worker, firstWorker) == cmp.Or(other.Worker, firstWorker)
	}
	return same && f.At <= other.At+other.For && other.At <= f.At+f.For
}

// firstWorker is what a crew calls it.
const firstWorker = "w1"

// String is the fault as it is written.
func (f LoadFault) String() string {
	kind := f.Kind
	if f.Worker != "" {
		kind += ":" + f.Worker
	}
	return fmt.Sprintf("%s@%v+%v", kind, f.At, f.For)
}

// ErrFault is wrapped when a target cannot have a fault that was asked for.
var ErrFault = errors.New("a fault that cannot be made")

// ParseLoadFault reads KIND@AT+FOR, e.g. store-down@10s+2s, or KIND:WORKER@AT+FOR.
func ParseLoadFault(text string) (LoadFault, error) {
	wrong := fmt.Errorf("%q: write KIND@AT+FOR, e.g. store-down@10s+2s or worker-kill:w2@10s+2s; kinds: %v", text, LoadFaults())
	what, when, ok := strings.Cut(text, "@")
	at, long, both := strings.Cut(when, "+")
	var f LoadFault
	f.Kind, f.Worker, _ = strings.Cut(what, ":")
	if f.Kind == "redis-down" { // the article's word, and a scenario's
		f.Kind = StoreDownFault
	}
	var err1, err2 error
	f.At, err1 = time.ParseDuration(at)
	f.For, err2 = time.ParseDuration(long)
	switch {
	case !ok, !both, err1 != nil, err2 != nil, f.At < 0, f.For <= 0, !slices.Contains(LoadFaults(), f.Kind):
		return f, wrong
	case f.Worker != "" && !f.ofWorkers():
		return f, fmt.Errorf("%q: %s is not a worker's fault; write %s@%s+%s", text, f.Kind, f.Kind, at, long)
	}
	return f, nil
}

// faultable is what faults are made in.
type faultable interface {
	// begin makes a fault, and returns what undoes it.
	begin(f LoadFault) (end func(ctx context.Context) error, err error)
}

// faulting makes the faults of a load, each at its time. Those that do not clash may
// overlap.
type faulting struct {
	stop  context.CancelFunc
	going sync.WaitGroup

	mu   sync.Mutex
	seen []load.FaultSeen
}

func disturb(ctx context.Context, start time.Time, faults []LoadFault, in faultable) *faulting {
	ctx, cancel := context.WithCancel(ctx)
	d := &faulting{stop: cancel}
	for _, f := range faults {
		d.going.Go(func() { d.make(ctx, start, f, in) })
	}
	return d
}

func (d *faulting) make(ctx context.Context, start time.Time, f LoadFault, in faultable) {
	real := clock.Real{}
	if real.Sleep(ctx, time.Until(start.Add(f.At))) != nil {
		return
	}
	seen := load.FaultSeen{Fault: f.String(), Began: ms(time.Since(start))}
	end, err := in.begin(f)
	if err == nil {
		_ = real.Sleep(ctx, time.Until(start.Add(f.At+f.For)))
		mending, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeService)
		err = end(mending)
		cancel()
	}
	seen.Ended = ms(time.Since(start))
	if err != nil {
		seen.Error = err.Error()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = append(d.seen, seen)
}

// end undoes what still acts, and lists what there was, in order.
func (d *faulting) end() []load.FaultSeen {
	d.stop()
	d.going.Wait()
	slices.SortFunc(d.seen, func(a, b load.FaultSeen) int { return cmp.Compare(a.Began, b.Began) })
	return d.seen
}

// recovery is nil if there was no fault.
func recovery(t *load.Timeline, seen []load.FaultSeen) *load.Recovery {
	if len(seen) == 0 {
		return nil
	}
	last := 0.0
	for _, s := range seen {
		last = max(last, s.Ended)
	}
	span := func(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
	r := t.Recovery(span(seen[0].Began), span(last))
	return &r
}
