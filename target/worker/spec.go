// Package worker runs the processes of a service: starts them, waits until they
// are ready, kills, freezes and restarts them, keeps what they print, and leaves
// none behind.
//
// It refuses to send requests beyond the question whether a worker is ready, and
// to touch a process that it has not started (but by the commands it was given).
// A worker is its process group: a process that leaves that (setsid) is lost to us.
package worker

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Spec says which workers there are. One of URLs, Command and Control's Start.
type Spec struct {
	URLs []string `yaml:"urls,omitempty"` // of workers that run already; they cannot be killed
	// Command starts a worker: run by sh -c, in a process group of its own. Its
	// environment has PORT, WORKER (w1, w2, …), PROVIDER_URL and REDIS_URL besides.
	Command string            `yaml:"command,omitempty"`
	Count   int               `yaml:"count,omitempty"` // how many of Command; default: 1
	Dir     string            `yaml:"dir,omitempty"`   // default: the configuration's folder
	Env     map[string]string `yaml:"env,omitempty"`
	// Ready is a path that answers with 2xx once the worker is ready; "": it accepts
	// connections.
	Ready       string        `yaml:"ready,omitempty"`
	ReadyWithin time.Duration `yaml:"ready-within,omitempty"` // default: DefaultReadyWithin
	StopWithin  time.Duration `yaml:"stop-within,omitempty"`  // after SIGTERM, before SIGKILL; default: DefaultStopWithin
	// Restart: a worker that has died by itself is started again before the next cell.
	Restart bool    `yaml:"restart,omitempty"`
	Control Control `yaml:"control,omitempty"` // for workers at URLs: compose and the like
}

// Control are commands that do to a worker what signals do to a process. Each is
// run by sh -c with WORKER and URL in its environment besides, has ControlWithin,
// and must not stay: start puts the worker in the background. An empty one: that
// cannot be done.
type Control struct {
	Start  string `yaml:"start,omitempty"`
	Kill   string `yaml:"kill,omitempty"`
	Pause  string `yaml:"pause,omitempty"`
	Resume string `yaml:"resume,omitempty"`
}

// Defaults of a Spec.
const (
	DefaultReadyWithin = 15 * time.Second // a JVM on a loaded CI machine takes ten
	DefaultStopWithin  = 2 * time.Second
)

// ControlWithin is how long a command of Control may take: compose gives a
// container ten seconds to end.
const ControlWithin = 30 * time.Second

// count is how many processes there are to start.
func (s Spec) count() int { return max(s.Count, 1) }

func (s Spec) readyWithin() time.Duration {
	if s.ReadyWithin > 0 {
		return s.ReadyWithin
	}
	return DefaultReadyWithin
}

func (s Spec) stopWithin() time.Duration {
	if s.StopWithin > 0 {
		return s.StopWithin
	}
	return DefaultStopWithin
}

// check says what of a spec cannot be meant.
func (s Spec) check() error {
	switch {
	case len(s.URLs) > 0 && s.Command != "":
		return errors.New("workers: urls and command: the workers run already, or are started; say one of them")
	case len(s.URLs) == 0 && s.Control != (Control{}):
		return errors.New("workers: control needs urls: where do the workers answer?")
	case len(s.URLs) == 0 && s.Command == "":
		return errors.New("workers: say urls of workers that run, or a command that starts one")
	case s.Count < 0:
		return fmt.Errorf("workers: count: %d", s.Count)
	case len(s.URLs) > 0 && s.Count > 0 && s.Count != len(s.URLs):
		return fmt.Errorf("workers: count is %d, and there are %d urls; leave count out", s.Count, len(s.URLs))
	}
	for _, text := range s.URLs {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("workers: urls: %q: want http://HOST:PORT", text)
		}
	}
	return nil
}

// path is Ready as the path of a URL; "" if there is none.
func (s Spec) path() string {
	if s.Ready == "" {
		return ""
	}
	return "/" + strings.TrimPrefix(s.Ready, "/")
}
