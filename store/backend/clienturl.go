package backend

import (
	"net/url"
	"strconv"
)

// ClientURL is a redis:// or rediss:// URL for a client of somebody's own, aimed at
// addr, or "" for the store's own address. It holds the password that the store's
// URL held: hand it to a client and to nobody else. It is "" for memory.
//
// A cluster's is that of its first node.
func (b *Backend) ClientURL(addr string) string {
	if b.dialAddr == "" {
		return ""
	}
	if addr == "" {
		addr = b.dialAddr
	}
	u := url.URL{Scheme: "redis", Host: addr, Path: "/" + strconv.Itoa(b.login.db)}
	if b.login.tls != nil {
		u.Scheme = "rediss"
	}
	if b.login.user != "" || b.login.password != "" {
		u.User = url.UserPassword(b.login.user, b.login.password)
	}
	return u.String()
}
