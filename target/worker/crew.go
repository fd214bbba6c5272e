package worker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Why something could not be done with a worker. The errors that wrap them name
// the worker and say what was seen.
var (
	// ErrEnded: it ended before it was ready.
	ErrEnded = errors.New("ended at once")
	// ErrNotReady: it runs, but did not get ready in time.
	ErrNotReady = errors.New("is not ready")
	// ErrNotRunning: it has to run for that.
	ErrNotRunning = errors.New("is not running")
	// ErrUnable: the spec says no way to do that.
	ErrUnable = errors.New("workers.control says no way to do that")
	// ErrClosed: the crew has been closed.
	ErrClosed = errors.New("the workers have been closed")
	// ErrNotUnix: workers by command need process groups and signals.
	ErrNotUnix = errors.New("workers by command need a Unix; start the service yourself, and say workers.urls")
)

// errOther is why the others are not waited for when one cannot be mended.
var errOther = errors.New("another worker has failed")

// Config of a Crew.
type Config struct {
	Spec    Spec
	Dir     string                       // the configuration's folder
	Environ []string                     // of the processes that are started; nil is an empty one
	Env     func(worker string) []string // NAME=value besides, for each worker
	TLS     *tls.Config                  // of the question whether a worker at an https URL is ready; nil: any certificate will do
}

// environ is what the processes of a worker see. Later ones win.
func (c Config) environ(worker string, besides ...string) []string {
	env := slices.Clone(c.Environ)
	for _, name := range slices.Sorted(maps.Keys(c.Spec.Env)) {
		env = append(env, name+"="+c.Spec.Env[name])
	}
	env = append(env, "WORKER="+worker)
	env = append(env, besides...)
	if c.Env != nil {
		env = append(env, c.Env(worker)...)
	}
	return env
}

// dir is where the processes start.
func (c Config) dir() string {
	if filepath.IsAbs(c.Spec.Dir) {
		return c.Spec.Dir
	}
	return filepath.Join(c.Dir, c.Spec.Dir)
}

// shell is where POSIX systems have it.
const shell = "/bin/sh"

// member is one worker. kill, pause and resume may be called at any time, also
// while up waits; close ends all of it for good, at once or politely.
type member interface {
	url() string
	// up makes it run, and returns when it is ready.
	up(ctx context.Context) error
	kill() error
	pause() error
	resume() error
	// died is why it has ended by itself, "" if it has not.
	died() string
	close(atOnce bool) error
}

// Crew is a service's workers. All methods are safe for concurrent use.
type Crew struct {
	names            []string
	members          map[string]member
	output           map[string]*ring
	canKill, canStop bool

	running context.Context // ends on Close
	stop    context.CancelCauseFunc
	once    sync.Once
	ended   error // of Close
}

// Start starts the workers and returns when all are ready. What was started is
// stopped again if one is not; the error then holds its last words. The end of ctx
// breaks a start off, and kills what runs; later it means nothing.
func Start(ctx context.Context, cfg Config) (*Crew, error) {
	if err := cfg.Spec.check(); err != nil {
		return nil, err
	}
	c := &Crew{members: map[string]member{}, output: map[string]*ring{}}
	c.running, c.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	if err := c.engage(cfg); err != nil {
		return nil, errors.Join(err, c.close(true))
	}
	if err := c.Mend(ctx); err != nil {
		return nil, errors.Join(err, c.close(ctx.Err() != nil))
	}
	return c, nil
}

// engage makes the members; nothing runs yet.
func (c *Crew) engage(cfg Config) error {
	s := cfg.Spec
	n := s.count()
	c.canKill, c.canStop = true, true
	if len(s.URLs) > 0 {
		n = len(s.URLs)
		c.canKill = s.Control.Kill != "" && s.Control.Start != ""
		c.canStop = s.Control.Pause != "" && s.Control.Resume != ""
	}
	for i := range n {
		name, out := fmt.Sprintf("w%d", i+1), &ring{}
		var m member
		var err error
		if len(s.URLs) > 0 {
			m = newRemote(c.running, cfg, name, strings.TrimSuffix(s.URLs[i], "/"), out)
		} else if m, err = newProcess(cfg, name, out); err != nil {
			return err
		}
		c.names, c.members[name], c.output[name] = append(c.names, name), m, out
	}
	return nil
}

// Names are w1, w2, … in order.
func (c *Crew) Names() []string { return slices.Clone(c.names) }

// URL is a worker's base URL, without a slash at its end. It may be another one
// after Mend.
func (c *Crew) URL(worker string) (url string, err error) {
	err = c.with(worker, func(m member) error { url = m.url(); return nil })
	return url, err
}

// CanKill and CanPause say what is possible with these workers, and can be undone.
func (c *Crew) CanKill() bool  { return c.canKill }
func (c *Crew) CanPause() bool { return c.canStop }

// Kill ends a worker at once, as kill -9 does, and returns when it is gone and its
// port is free. One that is gone already is no error.
func (c *Crew) Kill(worker string) error { return c.do(worker, member.kill) }

// Pause freezes a worker, and returns when it stands still (on other systems than
// Linux: when it has been told). Resume lets it go on.
func (c *Crew) Pause(worker string) error  { return c.do(worker, member.pause) }
func (c *Crew) Resume(worker string) error { return c.do(worker, member.resume) }

// do does something to a worker of a crew that is not closed.
func (c *Crew) do(worker string, what func(member) error) error {
	if c.running.Err() != nil {
		return ErrClosed
	}
	return c.with(worker, what)
}

func (c *Crew) with(worker string, what func(member) error) error {
	m, ok := c.members[worker]
	if !ok {
		return fmt.Errorf("there is no worker %s; there are: %s", worker, strings.Join(c.names, ", "))
	}
	return what(m)
}

// Mend resumes what is frozen and starts again what is dead, and returns when all
// are ready. The first that cannot be mended is the error.
func (c *Crew) Mend(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.running, func() { cancel(ErrClosed) })()
	if c.running.Err() != nil {
		return ErrClosed
	}
	var all sync.WaitGroup
	var once sync.Once
	var first error
	for _, m := range c.members {
		all.Go(func() {
			if err := m.up(ctx); err != nil {
				once.Do(func() { first = err })
				cancel(errOther)
			}
		})
	}
	all.Wait()
	return first
}

// Restart makes one worker run that is dead or frozen, and returns when it is ready.
func (c *Crew) Restart(ctx context.Context, worker string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.running, func() { cancel(ErrClosed) })()
	return c.do(worker, func(m member) error { return m.up(ctx) })
}

// Died lists the workers that have died by themselves since the last Mend, in
// order. Of a worker at a URL it is known that nobody listens there any more.
func (c *Crew) Died() (names []string) {
	for _, name := range c.names {
		if c.Why(name) != "" {
			names = append(names, name)
		}
	}
	return names
}

// Why is how a worker has died that has died by itself: "exit status 3". "" if it
// has not.
func (c *Crew) Why(worker string) (why string) {
	_ = c.with(worker, func(m member) error { why = m.died(); return nil })
	return why
}

// Output is the end of what a worker has printed, at most max bytes, over all its
// lives.
func (c *Crew) Output(worker string, max int) string {
	out, ok := c.output[worker]
	if !ok {
		return ""
	}
	return out.since(0, max)
}

// Close ends all that was started, and returns when it is gone: politely first, and
// what is frozen at once. It breaks off a Mend that is under way.
func (c *Crew) Close() error { return c.close(false) }

func (c *Crew) close(atOnce bool) error {
	c.stop(ErrClosed)
	c.once.Do(func() {
		errs := make([]error, len(c.names))
		var all sync.WaitGroup
		for i, name := range c.names {
			all.Go(func() { errs[i] = c.members[name].close(atOnce) })
		}
		all.Wait()
		c.ended = errors.Join(errs...)
	})
	return c.ended
}
