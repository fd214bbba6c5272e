package worker

import (
	"fmt"
	"strings"
	"testing"
)

func TestRingKeepsTheEnd(t *testing.T) {
	var r ring
	var all strings.Builder
	for i := range 40_000 { // several times what is kept
		line := fmt.Sprintf("line %d\n", i)
		all.WriteString(line)
		if n, err := r.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
		if i%9999 != 0 {
			continue
		}
		whole := all.String()
		for _, n := range []int{0, 1, 100, ringSize, ringSize + 1, 1 << 30} {
			want := whole[len(whole)-min(n, len(whole), ringSize):]
			if got := r.since(0, n); got != want {
				t.Fatalf("after line %d, the last %d bytes are %.40q…, want %.40q…", i, n, got, want)
			}
		}
	}
	if len(r.kept) > 2*ringSize {
		t.Errorf("%d bytes are kept", len(r.kept))
	}
}

func TestRingTakesAnythingAtOnce(t *testing.T) {
	var r ring
	_, _ = r.Write([]byte(strings.Repeat("a", 3*ringSize) + "end"))
	if got := r.since(0, ringSize); len(got) != ringSize || !strings.HasSuffix(got, "aend") {
		t.Errorf("got %d bytes", len(got))
	}
}

func TestWhatCameSinceAMark(t *testing.T) {
	cases := []struct {
		reason, before, after string
		n                     int
		want, words           string
	}{
		{"nothing of before", "old ", "new", 100, "new", "it last said: new"},
		{"nothing", "old", "", 100, "", "it said nothing"},
		{"white space is nothing", "old", " \n\t ", 100, " \n\t ", "it said nothing"},
		{"one line", "", "a\n\tb\n", 100, "a\n\tb\n", "it last said: a b"},
		{"a cut does not split a character", "", "äöü", 3, "ü", "it last said: äöü"},
		{"nor is one lost where nothing is cut", "ä", "\xa4x", 100, "\xa4x", "it last said: \xa4x"},
	}
	for _, c := range cases {
		var r ring
		_, _ = r.Write([]byte(c.before))
		mark := r.mark()
		_, _ = r.Write([]byte(c.after))
		if got := r.since(mark, c.n); got != c.want {
			t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
		}
		if got := r.lastWords(mark); got != c.words {
			t.Errorf("%s: got %q, want %q", c.reason, got, c.words)
		}
	}
}
