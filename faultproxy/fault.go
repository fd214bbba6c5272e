package faultproxy

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

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

// Command is one command of a client's, as far as the proxy keeps it.
type Command = resp.Command

// Chunk is some bytes on their way, as the proxy happened to read them: they may
// be half a command or a dozen.
type Chunk struct {
	Link      int // number of the client's connection, from 1
	Direction Direction
	Bytes     []byte // not to be changed, nor kept after Pass
	// Commands are those that these bytes complete, handshakes among them (see
	// Data). End counts from the first of Bytes. Only on the way to the store.
	Commands []Command
	// Replies are those that begin in these bytes. Only on the way to the client.
	Replies []Reply
	// Arrived is when the proxy read the bytes. What the store sends is read as it
	// comes, although earlier bytes may still be held by a fault.
	Arrived time.Time
}

// Reply is where the reply to a command begins. Pushes, a subscription's messages
// and its confirmations are no replies.
type Reply struct {
	Command Command
	Start   int // counted from the first of Bytes
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

// Ender is a Fault that wants to be told when it acts no more, to let go of what
// it holds.
type Ender interface {
	End()
}

// Sender is a Fault that wants to be told when a chunk that it was asked about has
// been sent, as far as the faults let it, or could not be.
type Sender interface {
	Sent(c Chunk)
}

// Disturb makes a fault act on all links, on those that are open too, until end
// is called; end tells an Ender. Several faults act one after the other, each on what the one before
// has left of the bytes, and of the commands.
func (p *Proxy) Disturb(f Fault) (end func()) {
	return p.faults.add(f)
}

// faults are those that act now.
type faults struct {
	mu     sync.RWMutex
	acting acting // by pointer: faults need not be comparable
}

func (fs *faults) add(f Fault) (end func()) {
	entry := &f
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.acting = append(slices.Clone(fs.acting), entry)
	return func() {
		fs.remove(entry)
		if e, ok := f.(Ender); ok {
			e.End()
		}
	}
}

func (fs *faults) remove(entry *Fault) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.acting = slices.DeleteFunc(slices.Clone(fs.acting), func(e *Fault) bool { return e == entry })
}

// now is a list that stays as it is: add and remove copy.
func (fs *faults) now() acting {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	return fs.acting
}

// acting are the faults that one chunk has to do with.
type acting []*Fault

// pass sends a chunk through the faults. It holds no lock while they block.
func (a acting) pass(ctx context.Context, c Chunk) ([]byte, error) {
	for _, f := range a {
		b, err := (*f).Pass(ctx, c)
		if err != nil {
			return b, err
		}
		c.Bytes, c.Commands, c.Replies = b, within(c.Commands, len(b)), beginningWithin(c.Replies, len(b))
	}
	return c.Bytes, nil
}

// sent tells those that want to know that a chunk is through.
func (a acting) sent(c Chunk) {
	for _, f := range a {
		if s, ok := (*f).(Sender); ok {
			s.Sent(c)
		}
	}
}

// within is the commands that end in the first n bytes. A fault may use End as an
// index, whatever acted before it.
func within(commands []Command, n int) []Command {
	for i, c := range commands {
		if c.End > int64(n) {
			return commands[:i]
		}
	}
	return commands
}

func beginningWithin(replies []Reply, n int) []Reply {
	for i, r := range replies {
		if r.Start >= n {
			return replies[:i]
		}
	}
	return replies
}
