package faultproxy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"

	"github.com/idemrace/idemrace/faultproxy"
)

// N are applied and answered, the next is not applied; another connection that
// does nothing is cut as well; then all is well again.
func TestCutAfter(t *testing.T) {
	onServers(t, func() *faultproxy.CutAfter { return &faultproxy.CutAfter{N: 2} },
		func(t *testing.T, b bench, f *faultproxy.CutAfter) {
			ctx, c, idle := context.Background(), b.client(t), dial(t, b.proxy)
			_, err := io.WriteString(idle, wire("PING")) // connected before the cut
			must(t, err)
			_, err = io.ReadFull(idle, make([]byte, len("+PONG\r\n")))
			must(t, err)
			for i := range 2 {
				if n, err := c.Incr(ctx, "k").Result(); err != nil || n != int64(i+1) {
					t.Errorf("command %d: %d, %v", i, n, err)
				}
			}
			must(t, c.Ping(ctx).Err()) // no data command
			mustFire(t, f, 0)
			if err := c.Incr(ctx, "k").Err(); err == nil {
				t.Error("the third command was answered")
			}
			mustBeCut(t, idle)
			mustHold(t, b, "k", 2)
			for range 5 {
				must(t, c.Incr(ctx, "k").Err())
			}
			mustFire(t, f, 1)
		})
}

// Whoever notices the cut finds nobody listening, until Up.
func TestCutAfterDown(t *testing.T) {
	onServers(t, func() *faultproxy.CutAfter {
		return &faultproxy.CutAfter{N: 0, Match: faultproxy.Name("INCR"), Down: true}
	},
		func(t *testing.T, b bench, f *faultproxy.CutAfter) {
			ctx, c := context.Background(), b.client(t)
			must(t, c.Set(ctx, "other", 1, 0).Err())
			if err := c.Incr(ctx, "k").Err(); err == nil {
				t.Error("the command was answered")
			}
			mustBeRefused(t, b.proxy)
			mustHold(t, b, "k", 0)
			must(t, b.proxy.Up())
			must(t, c.Incr(ctx, "k").Err())
			mustFire(t, f, 1)
		})
}

// However many send at once, exactly N commands reach the store. The store tells
// when it has read all: a server may still have some to do when clients know of
// the cut.
func TestCutAfterAmongMany(t *testing.T) {
	const n, clients = 40, 8
	for _, down := range []bool{false, true} {
		t.Run(fmt.Sprint("down ", down), func(t *testing.T) {
			read := make(chan int, clients)
			f := &faultproxy.CutAfter{N: n, Down: down}
			p := listen(t, upstream(t, func(c *net.TCPConn) { read <- answer(c) }), faultproxy.WithFault(f))
			var conns []net.Conn
			for range clients {
				c := dial(t, p)
				say(t, c, "PING\r\n") // connected before the cut
				conns = append(conns, c)
			}
			for _, c := range conns {
				go func() {
					lines := bufio.NewReader(c)
					for err := error(nil); err == nil; _, err = lines.ReadString('\n') {
						io.WriteString(c, "INCR k\r\n")
					}
				}()
			}
			sum := 0
			for range clients {
				sum += <-read
			}
			if sum != n {
				t.Errorf("the store has read %d commands, want %d", sum, n)
			}
			mustFire(t, f, 1)
		})
	}
}

// answer echoes lines until the end, and counts those that are data commands.
func answer(c net.Conn) (commands int) {
	lines := bufio.NewReader(c)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return commands
		}
		if line != "PING\r\n" {
			commands++
		}
		io.WriteString(c, line)
	}
}

// A pipeline is cut in its midst, and what is before the cut passes.
func TestCutAfterInAPipeline(t *testing.T) {
	for _, down := range []bool{false, true} {
		store := make(chan string, 1)
		f := &faultproxy.CutAfter{N: 2, Down: down}
		p := listen(t, upstream(t, recordTo(store)), faultproxy.WithFault(f))
		c := dial(t, p)
		_, err := io.WriteString(c, "INCR k\r\nPING\r\nINCR k\r\nDEL k\r\nINCR k\r\n")
		must(t, err)
		mustBeCut(t, c)
		if got := <-store; got != "INCR k\r\nPING\r\nINCR k\r\n" {
			t.Errorf("down %v: the store read %q", down, got)
		}
		mustFire(t, f, 1)
	}
}

// A fault that takes the proxy down does not hold up Close, Down or Up.
func TestCutAfterWhileOthersSwitch(t *testing.T) {
	for range 30 {
		p, err := faultproxy.Listen(upstream(t, echo), faultproxy.WithFault(&faultproxy.CutAfter{Down: true}))
		must(t, err)
		c := dial(t, p)
		_, err = io.WriteString(c, "INCR k\r\n")
		must(t, err)
		p.Down()
		_ = p.Up()
		must(t, p.Close())
		mustBeCut(t, c)
	}
}

// The cut waits for what was counted and is not sent yet.
func TestCutAfterWaitsForWhatIsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faultproxy.CutAfter{N: 1}
		chunk := func(link int) faultproxy.Chunk {
			return faultproxy.Chunk{Link: link, Commands: []faultproxy.Command{{Name: "INCR"}}}
		}
		if _, err := f.Pass(t.Context(), chunk(1)); err != nil {
			t.Fatal(err)
		}
		cut := make(chan error, 1)
		go func() {
			_, err := f.Pass(t.Context(), chunk(2))
			cut <- err
		}()
		synctest.Wait()
		if len(cut) != 0 {
			t.Error("cut before the first command was sent")
		}
		f.Sent(chunk(1))
		if err := <-cut; !errors.Is(err, faultproxy.ErrCut) {
			t.Errorf("the second command: %v, want a cut", err)
		}
	})
}
