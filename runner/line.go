package runner

import (
	"github.com/idemrace/idemrace/faultproxy"
)

// line is a worker's own way to the store, for a coordinator with a client of its
// own. Its ports cannot be taken from it when it dies or freezes; so its wire is.
type line struct {
	proxy  *faultproxy.Proxy
	thawed func() // ends the pause; nil while it runs
}

// line returns the URL that a worker's own client is given, "" if the store is no
// Redis. Where no proxy can stand, it is the store's.
func (st *stage) line(worker string) (url string, err error) {
	if st.proxy == nil {
		return st.direct.RedisURL, nil
	}
	if !st.entry.Unseen {
		return st.backend.ClientURL(st.proxy.Addr()), nil
	}
	p, err := faultproxy.Listen(st.proxy.Addr())
	if err != nil {
		return "", err
	}
	st.wire(p.Close)
	st.lines[worker] = &line{proxy: p}
	return st.backend.ClientURL(p.Addr()), nil
}

// pause holds every data command, as a frozen process sends none.
func (l *line) pause() {
	if l.thawed == nil {
		l.thawed = l.proxy.Disturb(&faultproxy.Hold{})
	}
}

func (l *line) resume() {
	if l.thawed != nil {
		l.thawed()
		l.thawed = nil
	}
}
