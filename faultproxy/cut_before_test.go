package faultproxy_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/idemrace/idemrace/faultproxy"
)

// Not applied, and the client has an error; then all is well again.
func TestCutBefore(t *testing.T) {
	onServers(t, func() *faultproxy.CutBefore { return &faultproxy.CutBefore{Times: 2} },
		func(t *testing.T, b bench, f *faultproxy.CutBefore) {
			ctx, c := context.Background(), b.client(t)
			for range 2 {
				if err := c.Incr(ctx, "k").Err(); err == nil {
					t.Error("a reply was delivered")
				}
				mustHold(t, b, "k", 0)
			}
			must(t, c.Incr(ctx, "k").Err())
			mustHold(t, b, "k", 1)
			mustFire(t, f, 2)
		})
}

// Commands before it in a pipeline reach the store, those behind it do not.
func TestCutBeforeInAPipeline(t *testing.T) {
	store := make(chan string, 1)
	f := &faultproxy.CutBefore{Match: faultproxy.Name("DEL")}
	p := listen(t, upstream(t, recordTo(store)), faultproxy.WithFault(f))
	c := dial(t, p)
	_, err := io.WriteString(c, "PING\r\nINCR k\r\nDEL k\r\nINCR k\r\n")
	must(t, err)
	mustBeCut(t, c)
	if got := <-store; got != "PING\r\nINCR k\r\n" {
		t.Errorf("the store read %q", got)
	}
	mustFire(t, f, 1)
}

// Half of the command may have passed before it is known what it is about: the
// store must not have it whole.
func TestCutBeforeTheLastByte(t *testing.T) {
	store := make(chan string, 1)
	f := &faultproxy.CutBefore{}
	p := listen(t, upstream(t, func(c *net.TCPConn) {
		var read strings.Builder
		io.Copy(c, io.TeeReader(c, &read))
		store <- read.String()
	}), faultproxy.WithFault(f))
	c := dial(t, p)
	say(t, c, "INCR ")
	_, err := io.WriteString(c, "k\r\n")
	must(t, err)
	mustBeCut(t, c)
	if got := <-store; got != "INCR " {
		t.Errorf("the store read %q", got)
	}
	mustFire(t, f, 1)
}
