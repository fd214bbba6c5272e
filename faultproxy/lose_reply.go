package faultproxy

import "context"

// LoseReply lets a command through, and loses its reply: the store has applied
// the command, and the client, whose connection is cut instead, cannot know. Not a
// byte of the reply is delivered; replies before it on the connection are, unless
// the cut overtakes them.
//
// In the world: the store fails over, or a load balancer drops the connection,
// between a command's effect and the client's read of the answer.
//
// The reply of a command inside MULTI is "QUEUED", and is lost as well; to lose a
// transaction's, match EXEC. A subscription's confirmation is no reply.
type LoseReply struct {
	Match Match // nil: every data command
	Times int   // how often at most; 0: every time, until ended
	firing
}

// Pass implements Fault.
func (f *LoseReply) Pass(_ context.Context, c Chunk) ([]byte, error) {
	for _, r := range c.Replies {
		if about(f.Match, r.Command) && f.fire(f.Times) {
			return c.Bytes[:r.Start], ErrCut
		}
	}
	return c.Bytes, nil
}
