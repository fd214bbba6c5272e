package faultproxy

import "sync"

// Match says which commands a fault is about. It is called concurrently.
type Match = func(Command) bool

// Name matches commands of these names, in upper case.
func Name(names ...string) Match {
	return func(c Command) bool {
		for _, n := range names {
			if c.Name == n {
				return true
			}
		}
		return false
	}
}

// about is m, or every data command if there is none.
func about(m Match, c Command) bool {
	if m == nil {
		return Data(c.Name)
	}
	return m(c)
}

// firing counts how often a fault has fired. Its zero value is ready.
type firing struct {
	mu sync.Mutex
	n  int
}

// fire counts once more, unless it has been times already (0: no bound).
func (f *firing) fire(times int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if times > 0 && f.n >= times {
		return false
	}
	f.n++
	return true
}

// Fired is how often the fault has fired so far, for a scenario's control that it
// did at all. It is counted before a client can notice.
func (f *firing) Fired() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}
