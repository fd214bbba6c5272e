package explore

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// admitRuns is how many schedules a dry run makes: the first ones, in which each
// client's every step is met, as are most faults.
const admitRuns = 150

// glance is how often the watchdog looks at a worker: a wait of 50 ms is seen several
// times.
const glance = 5 * time.Millisecond

// examiner watches a dry run from inside the child.
type examiner struct {
	mu      sync.Mutex
	out     io.Writer
	verdict chan string // the first one counts
	workers sync.Map    // goroutines on which workers run
	calls   atomic.Int64
}

func newExaminer(out io.Writer) *examiner { return &examiner{out: out, verdict: make(chan string, 1)} }

// examine returns "ok", or what is wrong. A dry run that hangs is left behind.
func (x *examiner) examine(cfg Config) string {
	cfg.visitor = x.visit
	finished := make(chan string, 1)
	go func() { finished <- x.dryRun(cfg) }()
	tick := time.NewTicker(glance)
	defer tick.Stop()
	last, since := int64(-1), time.Now()
	for {
		select {
		case bad := <-x.verdict:
			return bad
		case text := <-finished:
			select {
			case bad := <-x.verdict:
				return bad
			default:
				return text
			}
		case <-tick.C:
			if n := x.calls.Load(); n != last {
				last, since = n, time.Now()
				x.say(".")
			}
			if bad := x.inspect(stacks()); bad != "" {
				return bad
			}
			if time.Since(since) > admitPatience*3/4 {
				return x.busy(stacks())
			}
		}
	}
}

// dryRun makes the schedules, and the first one again.
func (x *examiner) dryRun(cfg Config) string {
	r, err := Explore(context.Background(), cfg)
	if err != nil {
		return err.Error()
	}
	if bad := x.inspect(stacks()); bad != "" {
		return bad
	}
	for _, v := range r.Found[:min(len(r.Found), 3)] {
		if err := cfg.confirm(v.Schedule); err != nil {
			return "goes another way when a schedule is made again: " + err.Error()
		}
	}
	return "ok"
}

// visit is called at each port call: by the worker's own goroutine, or it is named.
func (x *examiner) visit(a *actor) {
	x.calls.Add(1)
	if !a.began && a.goroutine == "" {
		return // it is being made
	}
	x.workers.Store(a.goroutine, true)
	if goroutine() != a.goroutine {
		x.accuse("calls a port from a goroutine that it has started: " + place(ownStack()))
		select {} // the parent ends the process; a step must not be made
	}
	if x.calls.Load()%8 == 0 {
		if bad := x.inspect(stacks()); bad != "" {
			x.accuse(bad)
		}
	}
}

func (x *examiner) accuse(text string) {
	select {
	case x.verdict <- text:
	default:
	}
}

func (x *examiner) say(text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	fmt.Fprintf(x.out, "%s%s\n", mark, text)
}

// blocked are the states of a goroutine that waits for somebody: a worker waits only
// in its coroutine. A plain semacquire is the runtime's own: somebody stops the world.
var blocked = []string{"sleep", "chan receive", "chan send", "select", "sync.", "IO wait", "finalizer wait"}

// firstLine is a goroutine's first line; born is the last of what it has started.
var (
	firstLine = regexp.MustCompile(`^goroutine (\d+)[^\[]*\[([^\],]+)`)
	born      = regexp.MustCompile(`created by (\S+) in goroutine (\d+)\n\s+(\S+:\d+)`)
)

// inspect reads a dump of all goroutines: a worker that waits outside its ports, or
// one that has started another.
func (x *examiner) inspect(dump string) string {
	for _, one := range strings.Split(dump, "\n\n") {
		h := firstLine.FindStringSubmatch(one)
		if h == nil {
			continue
		}
		if _, worker := x.workers.Load(h[1]); worker {
			for _, state := range blocked {
				if strings.HasPrefix(h[2], state) && !strings.Contains(one, "explore.(*examiner)") {
					return fmt.Sprintf("waits outside its ports (%s): %s", waitWords(h[2], one), place(one))
				}
			}
		}
		if b := born.FindStringSubmatch(one); b != nil {
			if _, worker := x.workers.Load(b[2]); worker && !strings.HasPrefix(b[1], "iter.Pull") {
				return fmt.Sprintf("starts a goroutine: %s (%s)", b[1], short(b[3]))
			}
		}
	}
	return ""
}

// busy is what is said of a worker that runs on and on.
func (x *examiner) busy(dump string) string {
	for _, one := range strings.Split(dump, "\n\n") {
		if h := firstLine.FindStringSubmatch(one); h != nil && strings.HasPrefix(h[2], "run") {
			if _, worker := x.workers.Load(h[1]); worker {
				return "computes on and on without calling a port: " + place(one)
			}
		}
	}
	return "goes on without calling a port"
}

func waitWords(state, stack string) string {
	if strings.Contains(stack, "time.Sleep(") {
		return "time.Sleep"
	}
	return state
}

// place is the coordinator's own frame nearest the top: what is neither Go's nor the
// explorer's.
func place(stack string) string {
	lines := strings.Split(stack, "\n")
	for i := 1; i+1 < len(lines); i += 2 {
		f := strings.TrimSpace(lines[i])
		first, _, _ := strings.Cut(f, "/")
		ours := strings.Contains(f, "idemrace/explore.") && !strings.Contains(lines[i+1], "_test.go")
		if strings.HasPrefix(f, "created by") || ours || strings.Contains(f, "idemrace/history.") || (!strings.Contains(first, ".") && !strings.HasPrefix(f, "main.")) || plainPackage(f) {
			continue
		}
		return fmt.Sprintf("%s (%s)", f[:max(strings.LastIndex(f, "("), 0)], short(strings.TrimSpace(lines[i+1])))
	}
	return "at a place that could not be found"
}

// plainPackage: a function of the standard library, whose packages have no dot before
// their first slash.
func plainPackage(f string) bool {
	path, _, _ := strings.Cut(f, "(")
	if strings.HasPrefix(f, "main.") {
		return false
	}
	slash := strings.LastIndex(path, "/")
	if slash < 0 {
		return true // time.Sleep, sync.(*Mutex).Lock
	}
	host, _, _ := strings.Cut(path, "/")
	return !strings.Contains(host, ".")
}

// short is a place in a file without the path's beginning and the offset.
func short(at string) string {
	at, _, _ = strings.Cut(at, " +0x")
	parts := strings.Split(at, "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}

// goroutine is the number of the one that calls.
func goroutine() string {
	var buf [64]byte
	text := buf[:runtime.Stack(buf[:], false)]
	text = bytes.TrimPrefix(text, []byte("goroutine "))
	n, _, _ := bytes.Cut(text, []byte(" "))
	return string(n)
}

func ownStack() string {
	buf := make([]byte, 64<<10)
	return string(buf[:runtime.Stack(buf, false)])
}

func stacks() string {
	buf := make([]byte, 256<<10)
	return string(buf[:runtime.Stack(buf, true)])
}
