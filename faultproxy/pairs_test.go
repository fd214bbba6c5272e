package faultproxy

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idemrace/idemrace/faultproxy/resp"
)

// commands reads "SET k v; GET k".
func commands(text string) (all []Command) {
	s := resp.NewScanner(func(c Command) { all = append(all, c) })
	_, _ = s.Write([]byte(strings.ReplaceAll(text, "; ", "\n") + "\n"))
	return all
}

// Which replies belong to which commands, however the stream is cut.
func TestPairs(t *testing.T) {
	const (
		confirm2 = "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"
		message2 = "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n"
		left2    = "*3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:0\r\n"
		confirm3 = ">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"
		message3 = ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n"
	)
	for _, row := range []struct {
		sent, replies string
		want          []string // the command's name, and its reply's first byte
		why           string
	}{
		{"SET k v; GET k", "+OK\r\n$1\r\nv\r\n", []string{"SET+", "GET$"}, "in order"},
		{"", "-ERR max number of clients reached\r\n", nil, "nobody asked"},
		{"GET k", message3 + "$-1\r\n", []string{"GET$"}, "a push comes in between"},
		{"LRANGE k", message2, []string{"LRANGE*"}, "without a subscription it is a reply, whatever it reads like"},
		{"SUBSCRIBE c; PING", confirm2 + message2 + "*2\r\n$4\r\npong\r\n$0\r\n\r\n" + message2, []string{"PING*"}, "RESP2: arrays that are told, and one that is asked for"},
		{"SUBSCRIBE c d; GET k", confirm3 + message3 + confirm3 + "$-1\r\n", []string{"GET$"}, "RESP3: one confirmation for each channel"},
		{"SUBSCRIBE c; GET k", "-NOPERM\r\n$-1\r\n", []string{"SUBSCRIBE-", "GET$"}, "a subscription that is refused is answered"},
		{"SUBSCRIBE c; UNSUBSCRIBE c; LRANGE k", confirm2 + left2 + message2, []string{"LRANGE*"}, "after the last channel an array is a reply again"},
		{"SUBSCRIBE c d; UNSUBSCRIBE; GET k", confirm2 + confirm2 + strings.Replace(left2, ":0", ":1", 1) + left2 + "$-1\r\n", []string{"GET$"}, "leaving all channels is confirmed as often as there are"},
		{"SUBSCRIBE c; UNSUBSCRIBE; SUBSCRIBE c; PING", confirm2 + left2 + confirm2 + message2 + "*2\r\n$4\r\npong\r\n$0\r\n\r\n", []string{"PING*"}, "left and entered again"},
		{"GET k; CLIENT REPLY OFF; GET k", "$-1\r\n", nil, "no reply to each command: none is matched"},
		{"MONITOR; GET k", "+OK\r\n+1.0 GET k\r\n", nil, "a stream of lines that are no replies"},
		{"GET k; GET k", "$-1\r\n\x00\r\n", []string{"GET$"}, "garbage from the store"},
		{"GET k; DEL k", "|1\r\n+ttl\r\n:1\r\n$-1\r\n:1\r\n", []string{"GET|", "DEL:"}, "a reply begins with its attributes"},
	} {
		for cut := range map[int]bool{len(row.replies): true, 1: true, 5: true, 13: true} {
			p, got := newPairs(), []string(nil)
			p.sent(commands(row.sent))
			for b := range slices.Chunk([]byte(row.replies), cut) {
				for _, r := range p.received(b) {
					name := r.Command.Name
					if cut == len(row.replies) { // in pieces it may be told from a message later
						name += string(b[r.Start])
					}
					got = append(got, name)
				}
			}
			want := row.want
			if cut != len(row.replies) {
				want = nil
				for _, w := range row.want {
					want = append(want, w[:len(w)-1])
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, in pieces of %d: %s (-want +got):\n%s", row.sent, cut, row.why, diff)
			}
		}
	}
}

// A reply is known from its first byte, except where it may be a message.
func TestPairsAtTheFirstByte(t *testing.T) {
	p := newPairs()
	p.sent(commands("GET k; GET l"))
	for i, want := range []int{1, 0, 0, 0, 0, 1} {
		if got := len(p.received([]byte("$-1\r\n$-1\r\n")[i : i+1])); got != want {
			t.Errorf("byte %d: %d replies begin, want %d", i, got, want)
		}
	}
}

// What waits for replies is bounded.
func TestPairsGiveUp(t *testing.T) {
	p := newPairs()
	for range maxOutstanding + 1 {
		p.sent([]Command{{Name: "GET"}})
	}
	if len(p.waiting) != 0 || len(p.received([]byte("$-1\r\n"))) != 0 {
		t.Error("it still matches, or keeps, more than its bound")
	}
}
