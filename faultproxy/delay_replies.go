package faultproxy

import (
	"context"
	"time"
)

// DelayReplies delivers everything that the store sends later by By: replies and
// a subscription's messages. Each chunk is late as counted from its own arrival,
// so connections are delayed side by side and the replies of a pipeline do not add
// up (until readAhead chunks wait on one connection).
//
// In the world: a store in another zone, a slow disk under "appendfsync always", a
// busy network. It is also the amplifier: the window between a check and what is
// done about it is microseconds wide on one machine, and with a store By away it
// is By wide, so that a race becomes certain.
type DelayReplies struct {
	By time.Duration
	firing
}

// Pass implements Fault. Fired counts chunks: for clients that wait for each reply
// before they send more, one for each reply of less than 32 KiB.
func (f *DelayReplies) Pass(ctx context.Context, c Chunk) ([]byte, error) {
	if c.Direction == ToStore {
		return c.Bytes, nil
	}
	f.fire(0)
	late := time.NewTimer(time.Until(c.Arrived.Add(f.By)))
	defer late.Stop()
	select {
	case <-late.C:
		return c.Bytes, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
