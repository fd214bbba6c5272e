//go:build unix

package worker

import (
	"context"
	"fmt"
	"net"
)

// port is a loopback port that is a worker's.
type port struct {
	number  int
	release func()
}

// anyPort is a port that was free a moment ago.
func anyPort() (port, error) {
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return port{}, fmt.Errorf("find a port: %w", err)
	}
	defer ln.Close()
	return port{number: ln.Addr().(*net.TCPAddr).Port, release: func() {}}, nil
}
