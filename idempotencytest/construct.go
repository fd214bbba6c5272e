package idempotencytest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl"
)

var errNil = errors.New("the constructor returned nil")

// construct calls the user's constructor in a goroutine of its own, since Fatal ends
// the goroutine that it is called in, and that must not be the runner's.
func construct(t *testing.T, new func(testing.TB, Env) idempotency.Coordinator, e impl.Env) (idempotency.Coordinator, error) {
	tb := &workerTB{TB: t}
	e.Cleanup(tb.end)
	var c idempotency.Coordinator
	done := make(chan struct{})
	go func() {
		defer close(done)
		c = new(tb, env(e))
	}()
	<-done
	if err := tb.failure(); err != nil {
		return nil, err
	}
	if c == nil {
		return nil, errNil
	}
	return c, nil
}

// workerTB is the test as one worker's constructor sees it: what it cleans up ends
// with its scenario and not with the test, and what is fatal for it makes the
// scenario one that could not run.
type workerTB struct {
	testing.TB
	mu       sync.Mutex
	cleanups []func()
	err      error
}

// Cleanup has f called when the scenario is over, last added first called.
func (w *workerTB) Cleanup(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cleanups = append(w.cleanups, f)
}

// FailNow ends the constructor.
func (w *workerTB) FailNow() { w.fatal("the constructor called FailNow") }

// Fatal ends the constructor, and says why.
func (w *workerTB) Fatal(args ...any) { w.fatal(fmt.Sprint(args...)) }

// Fatalf ends the constructor, and says why.
func (w *workerTB) Fatalf(format string, args ...any) { w.fatal(fmt.Sprintf(format, args...)) }

// SkipNow is no way out: what was not examined has not passed.
func (w *workerTB) SkipNow() { w.fatal("the constructor called SkipNow") }

// Skip is no way out either.
func (w *workerTB) Skip(args ...any) { w.fatal("skipped: " + fmt.Sprint(args...)) }

// Skipf is no way out either.
func (w *workerTB) Skipf(format string, args ...any) {
	w.fatal("skipped: " + fmt.Sprintf(format, args...))
}

func (w *workerTB) fatal(why string) {
	w.mu.Lock()
	w.err = errors.New(why)
	w.mu.Unlock()
	runtime.Goexit()
}

func (w *workerTB) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// end calls the cleanups. One that fails the test does so as any other.
func (w *workerTB) end() {
	w.mu.Lock()
	all := w.cleanups
	w.cleanups = nil
	w.mu.Unlock()
	for _, f := range slices.Backward(all) {
		f()
	}
}
