package faultproxy

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// Each chunk is late as counted from its own arrival: what arrives a millisecond
// apart is delivered a millisecond apart.
func TestDelaysDoNotAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const by, apart, chunks = 20 * time.Millisecond, time.Millisecond, 30
		f := &DelayReplies{By: by}
		client, clientEnd := net.Pipe()
		store, storeEnd := net.Pipe()
		p := &Proxy{}
		p.faults.add(f)
		l := &link{proxy: p, client: clientEnd}
		l.running, l.end = context.WithCancel(t.Context())
		arrived := make(chan arrival, readAhead)
		go l.read(storeEnd, arrived)
		delivered := make(chan error, 1)
		go func() { delivered <- l.deliver(arrived, newPairs()) }()
		begin := time.Now()
		go func() {
			for range chunks {
				store.Write([]byte("x"))
				time.Sleep(apart)
			}
			store.Close()
		}()
		for i := range chunks {
			if _, err := io.ReadFull(client, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if got, want := time.Since(begin), time.Duration(i)*apart+by; got != want {
				t.Errorf("chunk %d came after %v, want %v", i, got, want)
			}
		}
		if err := <-delivered; err != io.EOF {
			t.Errorf("at the end: %v, want EOF", err)
		}
		if f.Fired() != chunks {
			t.Errorf("fired %d times, want %d", f.Fired(), chunks)
		}
		l.end()
	})
}
