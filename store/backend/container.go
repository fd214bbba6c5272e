package backend

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

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
	if err := pulled(ctx, image); err != nil {
		return nil, fmt.Errorf("container %s: %w", image, err)
	}
	ctr, err := started(ctx, image)
	stop := func() error { return removed(ctr) }
	if err == nil {
		err = ctx.Err()
	}
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

// startWithin bounds what a signal cannot end: creating and starting a container.
const startWithin = time.Minute

// started runs the image to the end of its start, whatever becomes of ctx: a
// daemon that is left in the middle of creating a container creates it all the
// same, and nobody has its name. The caller looks at ctx, and removes it.
func started(ctx context.Context, image string) (*tcredis.RedisContainer, error) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), startWithin)
	defer cancel()
	return tcredis.Run(bounded, image)
}

// pulled makes sure of the image, so that the long part of a start can be
// interrupted.
func pulled(ctx context.Context, image string) error {
	p, err := testcontainers.NewDockerProvider()
	if err != nil {
		return err
	}
	defer p.Close()
	_, err = p.Client().ImageInspect(ctx, image)
	if err != nil && absent(err) {
		return p.PullImage(ctx, image)
	}
	return ctx.Err() // what else is wrong shows when it is run
}

// absent reads the daemon's words, for want of a type that is ours to name. What has
// no proper name is said not to be there either, and would be pulled for ever.
func absent(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "no such image") && !strings.Contains(text, "invalid reference")
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
	if err := probe(ctx, c); err != nil {
		return nil, err
	}
	return &Backend{kind: Container, version: about.version, address: u.Host, dialAddr: u.Host}, nil
}

// removed terminates a container, however far it came.
func removed(ctr *tcredis.RedisContainer) error {
	if ctr == nil || ctr.Container == nil {
		return nil
	}
	return testcontainers.TerminateContainer(ctr.Container, testcontainers.StopTimeout(0)) // there is nothing to save
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
