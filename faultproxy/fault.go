package faultproxy

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/idemrace/idemrace/faultproxy/resp"
)

// ErrCut is what a Fault returns to cut the link. Any other error does the same.
var ErrCut = errors.New("faultproxy: cut by a fault")

// Direction is where bytes are going.
type Direction int

// The directions.
const (
	ToStore Direction = iota
	ToClient
)

// Chunk is some bytes on their way, as the proxy happened to read them: they may
// be half a command or a dozen.
type Chunk struct {
	Link      int // number of the client's connection, from 1
	Direction Direction
	Bytes     []byte // not to be changed, nor kept after Pass
	// Commands are those that these bytes complete, handshakes among them (see
	// Data). End counts from the first of Bytes. Only on the way to the store.
	Commands []resp.Command
}

// Fault disturbs what passes. A new kind of fault is one file with one type.
//
// Pass is called with every chunk before it is sent, in order for one link and
// direction, and concurrently for different ones. It returns what to send in the
// chunk's place: all of it, less (a reply lost), or nothing. To delay or hold it
// blocks, until ctx ends at the latest: then the link is cut anyway. With an
// error the link is cut after the returned bytes were sent.
type Fault interface {
	Pass(ctx context.Context, c Chunk) ([]byte, error)
}

// Disturb makes a fault act on all links, on those that are open too, until end
// is called. Several faults act one after the other, each on what the one before
// has left of the bytes, and of the commands.
func (p *Proxy) Disturb(f Fault) (end func()) {
	return p.faults.add(f)
}

// faults are those that act now.
type faults struct {
	mu     sync.RWMutex
	acting []*Fault // by pointer: faults need not be comparable
}

func (fs *faults) add(f Fault) (end func()) {
	entry := &f
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.acting = append(slices.Clone(fs.acting), entry)
	return func() {
		fs.mu.Lock()
		defer fs.mu.Unlock()
		fs.acting = slices.DeleteFunc(slices.Clone(fs.acting), func(e *Fault) bool { return e == entry })
	}
}

// pass sends a chunk through the faults. It holds no lock while they block, which
// is why add copies.
func (fs *faults) pass(ctx context.Context, c Chunk) ([]byte, error) {
	fs.mu.RLock()
	acting := fs.acting
	fs.mu.RUnlock()
	for _, f := range acting {
		b, err := (*f).Pass(ctx, c)
		if err != nil {
			return b, err
		}
		c.Bytes, c.Commands = b, within(c.Commands, len(b))
	}
	return c.Bytes, nil
}

// within is the commands that end in the first n bytes. A fault may use End as an
// index, whatever acted before it.
func within(commands []resp.Command, n int) []resp.Command {
	for i, c := range commands {
		if c.End > int64(n) {
			return commands[:i]
		}
	}
	return commands
}
