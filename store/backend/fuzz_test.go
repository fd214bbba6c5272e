package backend

import (
	"errors"
	"strings"
	"testing"
)

// FuzzParse: a password reaches neither an error nor an address, however odd the
// URL around it is.
func FuzzParse(f *testing.F) {
	const secret = "hunter2"
	f.Add("redis://u:", "@127.0.0.1:1/0")
	f.Add("redis://:", "%zz@127.0.0.1")
	f.Add("rediss://u:a/", "@[::1]:1?addr=127.0.0.1:2")
	f.Add("redis://127.0.0.1?addr=u:", "@127.0.0.1:1")
	f.Fuzz(func(t *testing.T, before, after string) {
		raw := before + secret + after
		at, err := parse(raw)
		if err != nil {
			if !errors.Is(err, ErrUnknown) || strings.Contains(err.Error(), secret) {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		if strings.Contains(at.login.password, secret) && strings.Contains(at.String(), secret) && strings.Count(raw, secret) == 1 {
			t.Fatalf("%q: address %q", raw, at)
		}
	})
}
