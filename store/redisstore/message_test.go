package redisstore

import (
	"fmt"
	"testing"

	"github.com/idemrace/idemrace/store"
)

func TestParseMessage(t *testing.T) {
	const record = "4:done,1:f,1:t,1:3,1:2,0:,5:\x00:,\r\n,0:,2:-5,"
	for _, row := range []struct {
		message string
		ok      bool
		settled bool
		why     string
	}{
		{"3:p:k,", true, false, "a key alone is a nudge"},
		{"3:p:k," + record, true, true, "a record, whose result holds signs of the form itself"},
		{"2:p:," + record, true, true, "the empty name"},
		{"", false, false, "not even a key"},
		{"3:q:k,", false, false, "a key of somebody else"},
		{"3:p:k", false, false, "no end"},
		{"9:p:k,", false, false, "longer than it is"},
		{"-1:p:k,", false, false, "a negative length"},
		{"p:k", false, false, "no length"},
		{"3:p:k,4:done,", false, false, "too few fields"},
		{"3:p:k,4:done,1:f,1:t,1:x,1:2,0:,0:,0:,1:0,", false, false, "a fence that is no number"},
	} {
		name, n, err := parseMessage("p:", row.message)
		if (err == nil) != row.ok || n.Settled != row.settled {
			t.Errorf("%q: %q %+v %v: %s", row.message, name, n, err, row.why)
		}
	}
	_, n, _ := parseMessage("p:", "3:p:k,"+record)
	if n.Record.State != store.Done || n.Record.Fence != 3 || n.Record.Generation != 2 || string(n.Record.Result) != "\x00:,\r\n" {
		t.Errorf("record: %+v", n.Record)
	}
}

// Anybody with the right may publish to an inbox: no message may do harm, and
// what is accepted is exactly what the parts say.
func FuzzNetstrings(f *testing.F) {
	for _, seed := range []string{"", "0:,", "3:abc,0:,", "3:abc", "99999999999999999999:,", ":,", "00:,", "+0:,"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		parts, err := netstrings(s)
		if err != nil {
			return
		}
		again := ""
		for _, part := range parts {
			again += fmt.Sprintf("%d:%s,", len(part), part)
		}
		if back, err := netstrings(again); err != nil || fmt.Sprint(back) != fmt.Sprint(parts) {
			t.Errorf("%q became %q became %q, %v", s, parts, back, err)
		}
	})
}
