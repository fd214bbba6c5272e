package backend

import (
	"fmt"
	"runtime/debug"

	"github.com/alicebob/miniredis/v2"
)

// openEmbedded runs miniredis in this process, over real TCP on 127.0.0.1. Its
// TTLs run by the real clock, and TIME inside scripts is real too, so a lease and
// a retention end there as they do in Redis.
func openEmbedded() (*Backend, error) {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	if err := m.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("embedded store: %w", err)
	}
	return &Backend{
		kind:     Embedded,
		version:  miniredisVersion(),
		address:  m.Addr(),
		dialAddr: m.Addr(),
		stop:     func() error { m.Close(); return nil },
	}, nil
}

// miniredisVersion is read from the build, so that it cannot go stale.
func miniredisVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "github.com/alicebob/miniredis/v2" {
				return "miniredis " + dep.Version
			}
		}
	}
	return "miniredis"
}
