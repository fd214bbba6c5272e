package faultproxy

import "context"

// CutBefore cuts the connection instead of letting a command through: the store
// never gets it whole, so it has no effect. Commands before it on the connection
// pass, though the cut may overtake their replies.
//
// In the world: an idle connection in the client's pool that a firewall or the
// store's own time-out has closed, found out by the next command.
type CutBefore struct {
	Match Match // nil: every data command
	Times int   // how often at most; 0: every time, until ended
	firing
}

// Pass implements Fault.
func (f *CutBefore) Pass(_ context.Context, c Chunk) ([]byte, error) {
	for i, cmd := range c.Commands {
		if about(f.Match, cmd) && f.fire(f.Times) {
			return c.Bytes[:beginning(c.Commands, i)], ErrCut
		}
	}
	return c.Bytes, nil
}

// beginning is where the i-th command of a chunk begins: behind the one before it.
func beginning(commands []Command, i int) int64 {
	if i == 0 {
		return 0
	}
	return commands[i-1].End
}
