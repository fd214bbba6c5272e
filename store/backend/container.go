package backend

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
	tcredis "github.com/testcontainers/testcontainers-go/modules/redis"
)

// openContainer runs a Redis image. Its port is published on this machine; a
// reaper container removes it if we die without closing it.
func openContainer(ctx context.Context, image string) (*Backend, error) {
	if image == "" {
		image = DefaultImage
	}
	// The library tells stderr about every step through this one, whatever logger
	// it is handed.
	tclog.SetDefault(tclog.NewNoopLogger())
	if err := docker(ctx); err != nil {
		return nil, fmt.Errorf("needs Docker: %w (%v); start it, or use --store embedded", ErrMissing, err)
	}
	ctr, err := tcredis.Run(ctx, image)
	stop := func() error { return removed(ctr) }
	if err != nil {
		return nil, errors.Join(startError(image, err), stop())
	}
	b, err := containerBackend(ctx, ctr)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("container %s: %w", image, err), stop())
	}
	b.stop = stop
	return b, nil
}

// startError tells the image that was asked for from the reaper's, of which nobody
// has heard. The library has no type for it.
func startError(image string, err error) error {
	if text := strings.ToLower(err.Error()); strings.Contains(text, "ryuk") || strings.Contains(text, "reaper: ") || strings.Contains(text, "reaper connect: ") {
		return fmt.Errorf("container: %w: %w", ErrReaper, err)
	}
	return fmt.Errorf("container %s: %w", image, err)
}

func containerBackend(ctx context.Context, ctr *tcredis.RedisContainer) (*Backend, error) {
	raw, err := ctr.ConnectionString(ctx)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, err
	}
	// The daemon may be elsewhere (DOCKER_HOST); that is the user's own doing.
	c := login{}.client(u.Host)
	defer c.Close()
	about, err := ask(ctx, c)
	if err != nil {
		return nil, err
	}
	return &Backend{kind: Container, version: about.version, address: u.Host, dialAddr: u.Host}, nil
}

// removed terminates a container, however far it came.
func removed(ctr *tcredis.RedisContainer) error {
	if ctr == nil || ctr.Container == nil {
		return nil
	}
	return testcontainers.TerminateContainer(ctr.Container)
}

// docker says why no Docker can be used. The library panics where it finds no
// host to talk to.
func docker(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	p, err := testcontainers.NewDockerProvider()
	if err != nil {
		return err
	}
	return p.Health(ctx) // closes the provider too
}
