package faultproxy

import (
	"maps"
	"sync"

	"github.com/idemrace/idemrace/faultproxy/resp"
)

// Data reports whether a command counts in the budget: whether a client sent it
// to have something done with data. What sets up a connection, keeps it alive,
// loads a script or listens to a channel does not; a script call is one, whatever
// runs inside it; so are MULTI, EXEC and PUBLISH. The name is in upper case.
func Data(name string) bool {
	switch name {
	case "HELLO", "AUTH", "SELECT", "CLIENT", "RESET", "QUIT", // a connection
		"COMMAND", "CLUSTER", "INFO", "READONLY", "READWRITE", "ASKING", // finding one's way
		"SCRIPT", "PING", "ECHO",
		"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE":
		return false
	}
	return true
}

// Commands is how many data commands (see Data) clients have sent. A command
// counts when its last byte has come from the client, before any byte of that
// chunk goes on; so whoever has the answer finds it counted. What the store did
// with it, and whether a fault let it pass, makes no difference.
func (p *Proxy) Commands() int {
	n := 0
	for _, c := range p.CommandCounts() {
		n += c
	}
	return n
}

// CommandCounts is the same by name, in upper case. Take one before and one
// after, and compare.
func (p *Proxy) CommandCounts() map[string]int {
	p.count.mu.Lock()
	defer p.count.mu.Unlock()
	return maps.Clone(p.count.byName)
}

// counter counts by name.
type counter struct {
	mu     sync.Mutex
	byName map[string]int
}

func (c *counter) add(commands []resp.Command) {
	if len(commands) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cmd := range commands {
		if Data(cmd.Name) {
			c.byName[cmd.Name]++
		}
	}
}
