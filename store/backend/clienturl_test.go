package backend

import (
	"crypto/tls"
	"testing"

	"github.com/redis/go-redis/v9"
)

// TestClientURL: what goes into a URL comes out of go-redis' parser again.
func TestClientURL(t *testing.T) {
	cases := []struct {
		reason string
		b      Backend
		addr   string
		want   string
	}{
		{"memory has none", Backend{}, "127.0.0.1:1", ""},
		{"the store's own address", Backend{dialAddr: "127.0.0.1:6379"}, "", "redis://127.0.0.1:6379/0"},
		{"a proxy's address", Backend{dialAddr: "127.0.0.1:6379"}, "127.0.0.1:7", "redis://127.0.0.1:7/0"},
		{"a database, and a password with odd characters",
			Backend{dialAddr: "h:1", login: login{user: "u", password: "p@:/%", db: 3}}, "", "redis://u:p%40%3A%2F%25@h:1/3"},
		{"TLS", Backend{dialAddr: "h:1", login: login{tls: &tls.Config{}}}, "", "rediss://h:1/0"},
	}
	for i := range cases {
		c := &cases[i] // a Backend is not to be copied
		got := c.b.ClientURL(c.addr)
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
			continue
		}
		if got == "" {
			continue
		}
		o, err := redis.ParseURL(got)
		if err != nil || o.Password != c.b.login.password || o.DB != c.b.login.db {
			t.Errorf("%s: parsed as %q, database %d (%v)", c.reason, o.Password, o.DB, err)
		}
	}
}
