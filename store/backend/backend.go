// Package backend starts or finds the store that a run uses, by name or URL:
// a Redis in this process, a private redis-server, a container, somebody's
// Redis, or plain memory. Start at [Open].
//
// It says which one served and with which version, since a verdict is worth
// little without. It refuses to touch a store that is not on this machine unless
// told to, to let a password reach an address or an error, and to leave a
// process, a container or a directory behind.
package backend

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// DefaultImage is what Spec.Name "container" runs: the Redis of the experiment
// that started idemrace.
const DefaultImage = "redis:7-alpine"

// Spec names a store.
type Spec struct {
	// Name is auto (or ""), embedded, redis-server, container, memory, or a
	// redis:// or rediss:// URL.
	Name string
	// URL is used by auto, before anything else; cli hands in $REDIS_URL.
	URL string
	// Image is what container runs; "" means DefaultImage.
	Image string
	// Server is the program that redis-server runs; "" means redis-server from PATH.
	Server string
	// AllowRemote permits stores that are not on this machine.
	AllowRemote bool
}

// The errors of Open. ErrUnknown and ErrRemote are mistakes of the caller;
// ErrMissing and all others mean that the surroundings could not serve.
var (
	// ErrUnknown: no store has that name, or the URL cannot be one.
	ErrUnknown = errors.New("unknown store")
	// ErrRemote: the store is not on this machine, and AllowRemote was not given.
	ErrRemote = errors.New("the store is not on this machine")
	// ErrMissing: what the named store needs is not here (redis-server, Docker).
	ErrMissing = errors.New("not available here")
	// ErrReaper: the container that removes ours, if we are killed, did not start.
	// The library does without it where TESTCONTAINERS_RYUK_DISABLED is true.
	ErrReaper = errors.New("the reaper (Ryuk), which removes containers of dead processes, did not start")
)

// Backend is a store that serves.
type Backend struct {
	kind     string
	version  string
	address  string // redacted
	dialAddr string
	login    login
	nodes    []string // a cluster's addresses; nil for anything else
	died     <-chan struct{}

	closing sync.Once
	stop    func() error
	stopErr error
}

// Open starts or finds the store and returns when it answers. The context
// bounds the opening only. The caller closes the backend.
func Open(ctx context.Context, spec Spec) (*Backend, error) {
	if isURL(spec.Name) {
		return openURL(ctx, spec.Name, spec.AllowRemote)
	}
	switch spec.Name {
	case "", Auto:
		return openAuto(ctx, spec)
	case Embedded:
		return openEmbedded()
	case RedisServer:
		return openServer(ctx, spec.Server)
	case Container:
		return openContainer(ctx, spec.Image)
	case Memory:
		return &Backend{kind: Memory, version: "in this process"}, nil
	}
	return nil, unknownName(spec.Name)
}

// openAuto takes the first that is there. A store that is there but does not
// work is an error, never a reason to take the next: nobody would notice.
func openAuto(ctx context.Context, spec Spec) (*Backend, error) {
	if spec.URL != "" {
		return openURL(ctx, spec.URL, spec.AllowRemote)
	}
	b, err := openServer(ctx, spec.Server)
	if errors.Is(err, ErrMissing) {
		return openEmbedded()
	}
	if err != nil {
		return nil, fmt.Errorf("%w; --store embedded needs no server", err)
	}
	return b, nil
}

// Kind is embedded, redis-server, container, url or memory.
func (b *Backend) Kind() string { return b.kind }

// Version is the server's own word, or the library's for an embedded one.
func (b *Backend) Version() string { return b.version }

// Address says where the store is, "" for memory, which is nowhere else; it never
// holds a user name or a password.
func (b *Backend) Address() string { return b.address }

// DialAddr is the host:port that a fault proxy stands in front of; "" for
// memory. For a cluster it is the first node's.
func (b *Backend) DialAddr() string { return b.dialAddr }

// Proxyable reports whether a fault proxy can stand in front: not of memory,
// which has no wire; not of a cluster, whose nodes tell clients their own
// addresses; not of TLS, which a proxy cannot read.
func (b *Backend) Proxyable() bool {
	return b.dialAddr != "" && b.nodes == nil && b.login.tls == nil
}

// Client is a new client with the harness's settings (redisstore.Options)
// and the URL's credentials, aimed at addr: a proxy's, or "" for the store's own. A cluster
// client takes no other address than the cluster's. The caller closes it. It is
// nil for memory.
func (b *Backend) Client(addr string) redis.UniversalClient {
	switch {
	case b.dialAddr == "":
		return nil
	case b.nodes != nil:
		return b.login.clusterClient(b.nodes)
	case addr == "":
		addr = b.dialAddr
	}
	return b.login.client(addr)
}

// Died closes when a private server's process ends before Close. For a store
// that is not ours to watch it is nil, so that receiving blocks for ever.
func (b *Backend) Died() <-chan struct{} { return b.died }

// Close ends what Open started and leaves nothing behind. It may be called
// again, and then returns the same.
func (b *Backend) Close() error {
	b.closing.Do(func() {
		if b.stop != nil {
			b.stopErr = b.stop()
		}
	})
	return b.stopErr
}

func isURL(name string) bool { return strings.Contains(name, "://") }
