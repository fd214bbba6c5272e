package backend

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
)

// place is a parsed URL: where, and as whom.
type place struct {
	addrs []string
	login login
}

// openURL finds somebody's Redis, standalone or cluster.
func openURL(ctx context.Context, raw string, allowRemote bool) (*Backend, error) {
	at, err := parse(raw)
	if err != nil {
		return nil, err
	}
	if err := at.permitted(allowRemote, at.addrs); err != nil {
		return nil, err
	}
	about, err := at.first(ctx)
	if err != nil {
		return nil, at.failed(err)
	}
	b := &Backend{kind: URL, version: about.version, address: at.String(), dialAddr: at.addrs[0], login: at.login}
	if about.cluster {
		b.version += " cluster"
		b.nodes = at.addrs
		if err := at.clusterFit(ctx, allowRemote); err != nil {
			return nil, err
		}
	} else if len(at.addrs) > 1 {
		return nil, fmt.Errorf("store at %s: several addresses, but it is no cluster: give one", at)
	}
	c := b.Client("")
	defer c.Close()
	if err := probe(ctx, c); err != nil {
		return nil, at.failed(err)
	}
	return b, nil
}

// failed is the store's own error, fit to be shown.
func (p place) failed(err error) error {
	return fmt.Errorf("store at %s: %w", p, said{words(p.login.hide(err.Error())), err})
}

// parse reads a URL as go-redis does, with further addresses as ?addr=host:port.
// Its errors never quote the URL: what is wrong with one is often the password.
func parse(raw string) (place, error) {
	if !isURL(raw) {
		return place{}, fmt.Errorf("%w: a URL must begin with redis:// or rediss://", ErrUnknown)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return place{}, fmt.Errorf("%w: the URL cannot be read; odd characters in a password must be percent-encoded (@ is %%40)", ErrUnknown)
	}
	if u.Scheme != "redis" && u.Scheme != "rediss" {
		return place{}, fmt.Errorf("%w: a URL must begin with redis:// or rediss://, not %s://", ErrUnknown, u.Scheme)
	}
	query := u.Query()
	more := query["addr"]
	for _, addr := range more {
		if _, _, err := net.SplitHostPort(addr); err != nil || strings.Contains(addr, "@") {
			return place{}, fmt.Errorf("%w: each addr= in the URL's query must be host:port", ErrUnknown)
		}
	}
	query.Del("addr")
	u.RawQuery = query.Encode()
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return place{}, fmt.Errorf("%w: the URL's path is a database number and its query go-redis' options", ErrUnknown)
	}
	return place{
		addrs: append([]string{o.Addr}, more...),
		login: login{user: o.Username, password: o.Password, db: o.DB, tls: o.TLSConfig},
	}, nil
}

// String is the address without user and password.
func (p place) String() string {
	s := "redis://"
	if p.login.tls != nil {
		s = "rediss://"
	}
	s += strings.Join(p.addrs, ",")
	if p.login.db != 0 {
		s += fmt.Sprintf("/%d", p.login.db)
	}
	return s
}

// permitted refuses addresses that are not on this machine.
func (p place) permitted(allowRemote bool, addrs []string) error {
	if allowRemote {
		return nil
	}
	for _, addr := range addrs {
		if !loopback(addr) {
			return fmt.Errorf("%w: %s; add --allow-remote to write keys there all the same", ErrRemote, addr)
		}
	}
	return nil
}

// loopback knows only addresses that can mean nothing else. A name is resolved
// by somebody, who may change their mind; localhost is RFC 6761's exception.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// first asks the first address that answers; the others may be down.
func (p place) first(ctx context.Context) (about server, err error) {
	for _, addr := range p.addrs {
		c := p.login.client(addr)
		about, err = ask(ctx, c)
		_ = c.Close()
		if err == nil {
			return about, nil
		}
	}
	return server{}, err
}

// clusterFit refuses a cluster whose nodes lead off this machine, and a database
// number, which clusters do not have.
func (p place) clusterFit(ctx context.Context, allowRemote bool) error {
	if p.login.db != 0 {
		return fmt.Errorf("store at %s: a cluster has only database 0", p)
	}
	c := p.login.clusterClient(p.addrs)
	defer c.Close()
	//lint:ignore SA1019 CLUSTER SHARDS, which should replace it, is not in Redis 6.2.
	slots, err := c.ClusterSlots(ctx).Result()
	if err != nil {
		return p.failed(err)
	}
	for _, s := range slots {
		for _, n := range s.Nodes {
			if err := p.permitted(allowRemote || strings.HasPrefix(n.Addr, ":"), []string{n.Addr}); err != nil {
				return err // an address without a host means the one we asked
			}
		}
	}
	return nil
}
