package worker

import (
	"strings"
	"testing"
)

func TestASpecThatCannotBeMeantIsRefused(t *testing.T) {
	cases := []struct {
		reason string
		spec   Spec
		want   string // of the error; "" if it is good
	}{
		{"running workers", Spec{URLs: []string{"http://127.0.0.1:1", "https://shop.test/api"}}, ""},
		{"a number that agrees", Spec{URLs: []string{"http://127.0.0.1:1"}, Count: 1}, ""},
		{"a command", Spec{Command: "x", Count: 3}, ""},
		{"nothing", Spec{}, "say urls of workers that run, or a command"},
		{"both", Spec{URLs: []string{"http://127.0.0.1:1"}, Command: "x"}, "say one of them"},
		{"control of nobody", Spec{Control: Control{Start: "x"}}, "control needs urls"},
		{"control beside a command", Spec{Command: "x", Control: Control{Kill: "x"}}, "control needs urls"},
		{"less than none", Spec{Command: "x", Count: -1}, "count: -1"},
		{"a number that differs", Spec{URLs: []string{"http://127.0.0.1:1"}, Count: 2}, "count is 2, and there are 1 urls"},
		{"an address alone", Spec{URLs: []string{"127.0.0.1:1"}}, `"127.0.0.1:1": want http://HOST:PORT`},
		{"another scheme", Spec{URLs: []string{"ftp://x"}}, "want http://"},
		{"no host", Spec{URLs: []string{"http:///x"}}, "want http://"},
	}
	for _, c := range cases {
		err := c.spec.check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.reason, err, c.want)
		}
	}
}
