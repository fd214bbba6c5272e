package backend

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"

	"github.com/idemrace/idemrace/clock"
)

// probeScript does what every run does: a script that writes and deletes a key.
const probeScript = `redis.call('SET', KEYS[1], '1', 'PX', ARGV[1]) return redis.call('DEL', KEYS[1])`

const (
	// probeTTL: a probe whose DEL was not allowed goes by itself.
	probeTTL = 10 * time.Second
	// clusterWithin is how long a cluster may say that it is down: one that was
	// just made or just failed over serves after 2 s.
	clusterWithin = 3 * time.Second
	clusterEvery  = 100 * time.Millisecond
)

// probe says why a store that answers does not serve: it is a replica, full,
// loading, or its user may not write. Found out later, that would look like a
// coordinator's failure.
func probe(ctx context.Context, c redis.UniversalClient) error {
	patience, cancel := context.WithTimeout(ctx, clusterWithin)
	defer cancel()
	for {
		err := c.Eval(ctx, probeScript, []string{"idemrace:probe:" + rand.Text()}, probeTTL.Milliseconds()).Err()
		switch {
		case err == nil:
			return nil
		case !redis.HasErrorPrefix(err, "CLUSTERDOWN") || clock.Real{}.Sleep(patience, clusterEvery) != nil:
			return fmt.Errorf("it answers, but does not take a write: %w", err)
		}
	}
}

// wordsMax is how many characters of a server's own words are shown.
const wordsMax = 120

// words are somebody else's, fit for one line.
func words(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, s)
	s = strings.TrimSpace(s)
	if r := []rune(s); len(r) > wordsMax {
		s = strings.TrimSpace(string(r[:wordsMax])) + "…"
	}
	return s
}

// said is an error from elsewhere as words; what it was can still be asked.
type said struct {
	words string
	err   error
}

func (s said) Error() string { return s.words }
func (s said) Unwrap() error { return s.err }
