package resp_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/idemrace/idemrace/faultproxy/resp"
)

// scanReplies hands the stream over in the given pieces.
func scanReplies(pieces ...[]byte) ([]resp.Reply, *resp.ReplyScanner) {
	var got []resp.Reply
	s := resp.NewReplyScanner(func(r resp.Reply) { got = append(got, r) })
	for _, p := range pieces {
		if n, err := s.Write(p); n != len(p) || err != nil {
			panic(fmt.Sprintf("Write returned %d, %v for %d bytes", n, err, len(p)))
		}
	}
	return got, s
}

func TestReplies(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, row := range []struct {
		stream string
		types  string   // of the replies that are complete
		first  []string // elements of the first
		why    string
	}{
		{"", "", nil, "nothing has come"},
		{"+OK\r\n", "+", []string{"OK"}, "a simple string"},
		{"+" + long + "\r\n", "+", []string{long[:64]}, "of which the head is kept, however long it is"},
		{"-ERR no\r\n:42\r\n", "-:", []string{"ERR no"}, "an error and a number"},
		{"$5\r\na\r\nbc\r\n", "$", []string{"a\r\nbc"}, "a string may hold line ends"},
		{"$0\r\n\r\n$-1\r\n", "$$", []string{""}, "an empty string, and the null of RESP2"},
		{"*-1\r\n*0\r\n", "**", nil, "the other null of RESP2, and an empty array"},
		{"*4\r\n:1\r\n$1\r\na\r\n*-1\r\n+x\r\n", "*", []string{"1", "a", ""}, "the first three elements are kept"},
		{"*2\r\n*2\r\n:1\r\n:2\r\n:3\r\n+OK\r\n", "*+", []string{"", "3"}, "nested arrays; inner elements are not kept"},
		{"_\r\n#t\r\n,1.5\r\n,inf\r\n(3492890328409238509324850943850943825024385\r\n", "_#,,(", []string{""}, "null, boolean, doubles, a big number"},
		{"!8\r\nERR a\r\nb\r\n=7\r\ntxt:abc\r\n", "!=", []string{"ERR a\r\nb"}, "a long error and a verbatim string"},
		{"%1\r\n+name\r\n*1\r\n:1\r\n~2\r\n:1\r\n:2\r\n", "%~", []string{"name", ""}, "a map has names and values; a set"},
		{"%0\r\n~0\r\n", "%~", nil, "empty ones"},
		{">3\r\n+message\r\n+c\r\n$1\r\nm\r\n:1\r\n", ">:", []string{"message", "c", "m"}, "a push before a reply"},
		{"|1\r\n+ttl\r\n:1\r\n*1\r\n+a\r\n:1\r\n", "*:", []string{"a"}, "attributes belong to the reply behind them"},
		{"|1\r\n+ttl\r\n:1\r\n>1\r\n+invalidate\r\n", ">", []string{"invalidate"}, "or to the push"},
		{"*2\r\n|1\r\n+ttl\r\n%1\r\n:1\r\n:2\r\n:7\r\n|0\r\n:8\r\n", "*", []string{"7", "8"}, "attributes in front of an element are no element"},
		{"*2\r\n+a\r\n", "", nil, "half a reply"},
	} {
		got, s := scanReplies([]byte(row.stream))
		var types []byte
		for _, r := range got {
			types = append(types, r.Type)
		}
		if string(types) != row.types || s.Err() != nil {
			t.Errorf("%.40q: types %q, error %v, want %q: %s", row.stream, types, s.Err(), row.types, row.why)
			continue
		}
		if len(got) > 0 && !cmp.Equal(got[0].Elements, row.first, cmpopts.EquateEmpty()) {
			t.Errorf("%.40q: elements %q, want %q: %s", row.stream, got[0].Elements, row.first, row.why)
		}
	}
}

func TestNoReplies(t *testing.T) {
	for stream, why := range map[string]string{
		"\x15\x03\x01":                       "TLS",
		"HTTP/1.1 400 Bad Request\r\n":       "another protocol",
		"+a\n":                               "a line ends with both bytes",
		"+a\rb\r\n":                          "and has neither inside",
		"$1\r\nabc":                          "a string ends where its size says",
		"$1\r\na\rb":                         "and with both bytes",
		"$?\r\n;1\r\na\r\n;0\r\n":            "streamed strings are refused",
		"*?\r\n:1\r\n.\r\n":                  "streamed arrays are refused",
		"$-2\r\n":                            "no such size",
		"%-1\r\n":                            "RESP3 has one null, and this is not it",
		"!-1\r\n":                            "nor this",
		"*+1\r\n":                            "no sign",
		"*\r\n":                              "no number",
		"$99999999999999\r\n":                "longer than any string of Redis",
		"$" + strings.Repeat("1", 100):       "a header that does not end is not kept",
		"*1\r\n>1\r\n+a\r\n":                 "a push is no element",
		strings.Repeat("*1\r\n", 1025) + ":": "deeper than anybody nests",
	} {
		got, s := scanReplies([]byte(stream), []byte("+OK\r\n"))
		if len(got) != 0 || !errors.Is(s.Err(), resp.ErrNotReplies) {
			t.Errorf("%.40q: replies %v, error %v; want none and ErrNotReplies: %s", stream, got, s.Err(), why)
		}
		if r, open := s.Open(); open {
			t.Errorf("%.40q: %v is open after the scanner has stopped", stream, r)
		}
	}
}

// Open tells of a reply from its first byte on, before it is complete.
func TestOpen(t *testing.T) {
	for _, row := range []struct {
		stream string
		want   resp.Reply
		open   bool
		why    string
	}{
		{"", resp.Reply{}, false, "nothing has come"},
		{"+OK\r\n", resp.Reply{}, false, "complete"},
		{"+OK\r\n$", resp.Reply{Type: '$', Start: 5}, true, "the first byte tells the type"},
		{"*1\r\n*2\r\n:1\r\n", resp.Reply{Type: '*'}, true, "between two elements"},
		{"|1\r\n+a\r\n+b\r\n", resp.Reply{}, true, "after the attributes only"},
		{"|1\r\n+a\r\n+b\r\n>", resp.Reply{Type: '>'}, true, "it begins with its attributes"},
	} {
		_, s := scanReplies([]byte(row.stream))
		if got, open := s.Open(); open != row.open || !cmp.Equal(got, row.want) {
			t.Errorf("%q: %+v, %v; want %+v, %v: %s", row.stream, got, open, row.want, row.open, row.why)
		}
	}
}

// However much comes, next to nothing is kept. The bound is on memory that is
// allocated, in bytes.
func TestHugeReplyIsNotKept(t *testing.T) {
	for _, row := range []struct{ head, piece, tail string }{
		{"$536870912\r\n", strings.Repeat("x", 1<<20), "\r\n"},
		{"-", strings.Repeat("x", 1<<20), "\r\n"},
		{fmt.Sprintf("*%d\r\n", 512<<10), strings.Repeat(":1234\r\n", 1<<10), ""},
	} {
		n, piece := 0, []byte(row.piece)
		s := resp.NewReplyScanner(func(resp.Reply) { n++ })
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		fmt.Fprint(s, row.head)
		for range 512 {
			s.Write(piece)
		}
		fmt.Fprint(s, row.tail)
		runtime.ReadMemStats(&after)
		if n != 1 || s.Err() != nil {
			t.Errorf("%q: %d replies, error %v", row.head, n, s.Err())
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
			t.Errorf("%q: %d bytes allocated, want next to nothing", row.head, n)
		}
	}
}

// FuzzReplyScanner: however the stream is cut, the same replies are found; they
// are those that a plain recursive reader finds; and none needs a byte beyond its
// end.
func FuzzReplyScanner(f *testing.F) {
	for _, seed := range []string{
		"+OK\r\n-ERR\r\n:1\r\n", "$3\r\nabc\r\n$-1\r\n*-1\r\n", "*2\r\n*1\r\n:1\r\n%1\r\n+a\r\n~1\r\n_\r\n",
		"|1\r\n+a\r\n+b\r\n>2\r\n+message\r\n+x\r\n", "=5\r\ntxt:a\r\n!1\r\ne\r\n(12\r\n,1.5\r\n#t\r\n",
		"$?\r\n", "*1\r\n>1\r\n:1\r\n", "\x15\x03", "$1\r\nab", "%-1\r\n", "*3\r\n|1\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n",
	} {
		f.Add([]byte(seed), uint64(1))
	}
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		whole, s := scanReplies(stream)
		for name, pieces := range map[string][][]byte{"random": cut(stream, seed), "single": slices.Collect(slices.Chunk(stream, 1))} {
			got, inPieces := scanReplies(pieces...)
			if diff := cmp.Diff(whole, got); diff != "" {
				t.Errorf("%s pieces (-whole +pieces):\n%s", name, diff)
			}
			if fmt.Sprint(inPieces.Err()) != fmt.Sprint(s.Err()) {
				t.Errorf("%s pieces: error %v, whole: %v", name, inPieces.Err(), s.Err())
			}
		}
		end := int64(0)
		for _, r := range whole {
			if r.Start != end || r.End <= r.Start || r.End > int64(len(stream)) || len(r.Elements) > resp.MaxElements {
				t.Errorf("reply %+v after %d, of %d bytes", r, end, len(stream))
			}
			if upTo, _ := scanReplies(stream[:r.End]); len(upTo) == 0 || !cmp.Equal(upTo[len(upTo)-1], r) {
				t.Errorf("%+v is not found in the bytes up to its end", r)
			}
			if got := readReply(stream[r.Start:], true); got != r.End-r.Start {
				t.Errorf("%+v: a plain reader finds %d bytes", r, got)
			}
			end = r.End
		}
		// A nesting beyond MaxDepth is the only thing that a plain reader takes as well.
		if got := readReply(stream[end:], true); got > 0 && !strings.Contains(fmt.Sprint(s.Err()), "nested") {
			t.Errorf("a plain reader finds another reply of %d bytes at %d; error %v", got, end, s.Err())
		}
	})
}

// readReply is how long the value at the beginning of b is, or 0 if it is not
// whole or makes no sense. It has all bytes, and so needs no states.
func readReply(b []byte, top bool) int64 {
	line, rest, ok := bytes.Cut(b, []byte("\r\n"))
	if !ok || len(line) == 0 || bytes.ContainsAny(line, "\r\n") {
		return 0
	}
	used := int64(len(line) + 2)
	if strings.IndexByte("+-:_#,(", line[0]) >= 0 {
		return used
	}
	n, err := strconv.ParseInt(string(line[1:]), 10, 64)
	if err != nil || len(line) > 14 || line[1] == '+' || n > 1<<40 || n < -1 || n == -1 && line[0] != '$' && line[0] != '*' {
		return 0
	}
	switch line[0] {
	case '$', '!', '=':
		if n < 0 {
			return used
		}
		if n+2 > int64(len(rest)) || string(rest[n:n+2]) != "\r\n" {
			return 0
		}
		return used + n + 2
	case '*', '~':
		return readElements(b, used, n)
	case '>':
		if !top {
			return 0
		}
		return readElements(b, used, n)
	case '%':
		return readElements(b, used, 2*n)
	case '|':
		used = readElements(b, used, 2*n)
		if used == 0 {
			return 0
		}
		if value := readReply(b[used:], top); value > 0 {
			return used + value
		}
	}
	return 0
}

func readElements(b []byte, used, n int64) int64 {
	for range max(n, 0) {
		value := readReply(b[used:], false)
		if value == 0 {
			return 0
		}
		used += value
	}
	return used
}
