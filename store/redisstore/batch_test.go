package redisstore

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/store/storetest"
)

// desk stands in for a server: what is sent to it waits until it is let go.
type desk struct {
	mu   sync.Mutex
	sent []sending
}

// sending is one pipeline, or a command by itself.
type sending struct {
	ctx      context.Context
	commands int
	answer   chan error
}

func (d *desk) DialHook(next redis.DialHook) redis.DialHook { return next }

func (d *desk) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return d.take(ctx, []redis.Cmder{cmd}) }
}

func (d *desk) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return d.take
}

func (d *desk) take(ctx context.Context, cmds []redis.Cmder) error {
	s := sending{ctx, len(cmds), make(chan error)}
	d.mu.Lock()
	d.sent = append(d.sent, s)
	d.mu.Unlock()
	err := <-s.answer
	for _, cmd := range cmds {
		cmd.SetErr(err)
	}
	return err
}

// sizes of what was sent, in order, once nobody can do any more.
func (d *desk) sizes() (sizes []int) {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.sent {
		sizes = append(sizes, s.commands)
	}
	return sizes
}

func (d *desk) letGo(i int, err error) {
	d.mu.Lock()
	s := d.sent[i]
	d.mu.Unlock()
	s.answer <- err
}

// atDesk runs do in a bubble, where every caller can be waited for.
func atDesk(t *testing.T, do func(t *testing.T, d *desk, b *batches)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		client := redis.NewClient(Options("127.0.0.1:1"))
		defer client.Close()
		client.AddHook(d)
		do(t, d, newBatches(client))
	})
}

// call is one caller's.
type call struct {
	cmd *redis.StringCmd
	err error // what send said
}

// ask has n callers ask, and returns when each has sent or queued.
func ask(ctx context.Context, b *batches, n int, calls *[]*call) {
	for range n {
		c := &call{cmd: redis.NewStringCmd(ctx, "get", "k")}
		*calls = append(*calls, c)
		go func() { c.err = b.send(ctx, "k", c.cmd) }()
		synctest.Wait()
	}
}

// The first few go out at once, by themselves; those who come meanwhile go together.
func TestWhatComesMeanwhileGoesTogether(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk, b *batches) {
		var calls []*call
		ask(t.Context(), b, atOnce+10, &calls)
		if got := d.sizes(); !slices.Equal(got, slices.Repeat([]int{1}, atOnce)) {
			t.Fatalf("sent before any answer: %v", got)
		}
		d.letGo(0, nil)
		if got := d.sizes(); len(got) != atOnce+1 || got[atOnce] != 10 {
			t.Fatalf("sent after the first answer: %v; want all ten who waited in one", got)
		}
		for i := range atOnce {
			d.letGo(i+1, nil)
		}
		synctest.Wait()
		for i, c := range calls {
			if c.err != nil || c.cmd.Err() != nil {
				t.Errorf("caller %d: %v, %v", i, c.err, c.cmd.Err())
			}
		}
		ask(t.Context(), b, 1, &calls)
		if got := d.sizes(); len(got) != atOnce+2 || got[atOnce+1] != 1 {
			t.Errorf("who comes alone afterwards: %v; want it sent at once", got)
		}
		d.letGo(atOnce+1, nil)
	})
}

// Who leaves before the batch does is not sent; who leaves later leaves alone.
func TestLeavingABatch(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk, b *batches) {
		var calls []*call
		ask(t.Context(), b, atOnce+2, &calls)
		early, leaveEarly := context.WithCancel(t.Context())
		late, leaveLate := context.WithCancel(t.Context())
		ask(early, b, 1, &calls)
		ask(late, b, 1, &calls)
		leaveEarly()
		synctest.Wait()
		if err := calls[atOnce+2].err; !errors.Is(err, context.Canceled) {
			t.Errorf("who left early: %v", err)
		}
		d.letGo(0, nil)
		if got := d.sizes(); got[len(got)-1] != 3 {
			t.Fatalf("sent: %v; want the two who stay, and the one who has not left yet", got)
		}
		leaveLate()
		synctest.Wait()
		if err := calls[atOnce+3].err; !errors.Is(err, context.Canceled) {
			t.Errorf("who left late: %v", err)
		}
		if err := d.sent[atOnce].ctx.Err(); err != nil {
			t.Errorf("the batch that one has left: %v", err)
		}
		for i := range atOnce {
			d.letGo(i+1, nil)
		}
		synctest.Wait()
		for i, c := range calls[:atOnce+2] {
			if c.err != nil || c.cmd.Err() != nil {
				t.Errorf("caller %d, who stayed: %v, %v", i, c.err, c.cmd.Err())
			}
		}
	})
}

// A batch has the time of its most patient caller, and the others theirs.
func TestDeadlinesInABatch(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk, b *batches) {
		var calls []*call
		patient, cancel := context.WithTimeout(t.Context(), stuckAfter*3/4)
		defer cancel()
		hasty, cancel := context.WithTimeout(t.Context(), stuckAfter/2)
		defer cancel()
		ask(t.Context(), b, atOnce, &calls)
		ask(hasty, b, 1, &calls)
		ask(patient, b, 1, &calls)
		d.letGo(0, nil)
		d.sizes()
		want, _ := patient.Deadline()
		if got, ok := d.sent[atOnce].ctx.Deadline(); !ok || !got.Equal(want) {
			t.Errorf("the batch ends at %v, want %v", got, want)
		}
		<-hasty.Done()
		synctest.Wait()
		if err := calls[atOnce].err; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the hasty one: %v", err)
		}
		for i := range atOnce {
			d.letGo(i+1, nil)
		}
		synctest.Wait()
		if c := calls[atOnce+1]; c.err != nil || c.cmd.Err() != nil {
			t.Errorf("the patient one: %v, %v", c.err, c.cmd.Err())
		}
		ask(t.Context(), b, atOnce, &calls)
		ask(t.Context(), b, 2, &calls)
		d.letGo(atOnce+1, nil)
		d.sizes()
		if end, ok := d.sent[2*atOnce+1].ctx.Deadline(); ok {
			t.Errorf("the batch of callers without a deadline ends at %v", end)
		}
		for i := range atOnce {
			d.letGo(atOnce+2+i, nil)
		}
	})
}

// Connections that say nothing hold up those who use them, and nobody else.
func TestStuckBatches(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk, b *batches) {
		var calls []*call
		ask(t.Context(), b, atOnce+3, &calls)
		<-time.After(stuckAfter - 1) // the bubble's time
		if got := d.sizes(); len(got) != atOnce {
			t.Fatalf("sent before the others are stuck: %v", got)
		}
		<-time.After(1)
		if got := d.sizes(); len(got) != atOnce+1 || got[atOnce] != 3 {
			t.Fatalf("sent when the others are stuck: %v; want the three who waited in one", got)
		}
		for i := range atOnce + 1 {
			d.letGo(i, nil)
		}
		ask(t.Context(), b, atOnce+1, &calls)
		if got := d.sizes(); len(got) != 2*atOnce+1 {
			t.Errorf("sent afterwards: %v; what was stuck still counts, or counts twice", got)
		}
		for i := range atOnce + 1 {
			d.letGo(atOnce+1+i, nil)
			synctest.Wait()
		}
		for i, c := range calls {
			if c.err != nil || c.cmd.Err() != nil {
				t.Errorf("caller %d: %v, %v", i, c.err, c.cmd.Err())
			}
		}
	})
}

func TestBoundsOfABatch(t *testing.T) {
	command := func(n int) *wanted {
		return &wanted{cmd: redis.NewStringCmd(t.Context(), "set", "k", strings.Repeat("x", n))}
	}
	for _, row := range []struct {
		what  string
		sizes []int
		want  int
	}{
		{"one", []int{10}, 1},
		{"as many as fit", slices.Repeat([]int{1}, maxCommands), maxCommands},
		{"one too many", slices.Repeat([]int{1}, maxCommands+1), maxCommands},
		{"a large one at the head goes by itself", []int{maxBytes, 1, 1}, 1},
		{"a large one behind waits for the next", []int{1, 1, maxBytes}, 2},
		{"together too large", []int{maxBytes / 2, maxBytes / 4, maxBytes / 2}, 2},
	} {
		var queue []*wanted
		for _, n := range row.sizes {
			queue = append(queue, command(n))
		}
		if got := fitting(queue); got != row.want {
			t.Errorf("%s: %d, want %d", row.what, got, row.want)
		}
	}
}

// batchOf makes a batch by hand.
func batchOf(ctx context.Context, cmds ...redis.Cmder) []*wanted {
	var batch []*wanted
	for _, cmd := range cmds {
		batch = append(batch, &wanted{ctx: ctx, cmd: cmd, done: make(chan struct{})})
	}
	return batch
}

// Each command of a batch has its own reply, or its own error.
func TestErrorsInABatch(t *testing.T) {
	client := redis.NewClient(Options(storetest.StartRedis(t)))
	defer client.Close()
	ctx := t.Context()
	set := redis.NewBoolCmd(ctx, "set", "k", "v", "nx")
	wrong := redis.NewStringCmd(ctx, "hget", "k", "field")
	gone := redis.NewCmd(ctx, "evalsha", strings.Repeat("0", 40), 1, "k")
	none := redis.NewStringCmd(ctx, "get", "none")
	get := redis.NewStringCmd(ctx, "get", "k")
	exec(client, batchOf(ctx, set, wrong, gone, none, get))
	if ok, err := set.Result(); !ok || err != nil {
		t.Errorf("set: %v, %v", ok, err)
	}
	if !redis.HasErrorPrefix(wrong.Err(), "WRONGTYPE") || !redis.HasErrorPrefix(gone.Err(), "NOSCRIPT") || !errors.Is(none.Err(), redis.Nil) {
		t.Errorf("errors: %v, %v, %v", wrong.Err(), gone.Err(), none.Err())
	}
	if v, err := get.Result(); v != "v" || err != nil {
		t.Errorf("get: %q, %v", v, err)
	}
}

// When the connection breaks, nobody is told that it was done.
func TestConnectionLostInABatch(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 1<<10))
			_, _ = c.Write([]byte("+OK\r\n")) // to the first, or to the handshake
			_ = c.Close()
		}
	}()
	client := redis.NewClient(Options(l.Addr().String()))
	defer client.Close()
	var cmds []redis.Cmder
	for range 5 {
		cmds = append(cmds, redis.NewStatusCmd(t.Context(), "set", "k", "v"))
	}
	exec(client, batchOf(t.Context(), cmds...))
	for i, cmd := range cmds {
		if cmd.Err() == nil || answered(cmd.Err()) {
			t.Errorf("command %d: %v", i, cmd.Err())
		}
	}
}

// A batch whose keys lie on several nodes, as after keys have moved, is answered
// all the same; and each master has a lane of its own.
func TestBatchesOnACluster(t *testing.T) {
	addrs := storetest.StartCluster(t)
	client := redis.NewClusterClient(ClusterOptions(addrs...))
	defer client.Close()
	b := newBatches(client)
	var cmds []redis.Cmder
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		cmds = append(cmds, redis.NewStatusCmd(t.Context(), "set", key, key))
		if err := b.send(t.Context(), key, redis.NewStringCmd(t.Context(), "get", key)); err != nil {
			t.Fatal(err)
		}
	}
	exec(client, batchOf(t.Context(), cmds...))
	for i, cmd := range cmds {
		if cmd.Err() != nil {
			t.Errorf("command %d: %v", i, cmd.Err())
		}
	}
	if len(b.lanes) < 2 {
		t.Errorf("keys on several masters have %d lanes", len(b.lanes))
	}
	if _, ok := b.lanes[""]; ok {
		t.Error("a cluster's keys share a lane")
	}
}
