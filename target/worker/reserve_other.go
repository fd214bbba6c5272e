//go:build unix && !linux

package worker

// reserve keeps nothing: other systems do not let a listener beside a bound socket.
func reserve() (port, error) { return anyPort() }
