package history

import (
	"context"

	"github.com/idemrace/idemrace/store"
)

// claims remembers the claims that do not say that they are: plain values that
// an attempt wrote with SET NX before its action ran, so that they cannot be
// results. People write "pending", "1" or a token.
type claims struct {
	ran  map[int]bool      // attempts whose action has run
	held map[string]string // name → the value that claims it
}

// Claims lists the names under which such a claim was last written.
func (r *Recorder) Claims() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for name := range r.claims.held {
		names = append(names, name)
	}
	return names
}

func (r *Recorder) hasRun(attempt int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return attempt == 0 || r.claims.ran[attempt]
}

// wrote notes what stands under a name from now on.
func (r *Recorder) wrote(name string, value []byte, claim bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !claim {
		delete(r.claims.held, name)
		return
	}
	r.claims.held[name] = string(value)
}

func (r *Recorder) isClaim(name string, value []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	claim, held := r.claims.held[name]
	return held && claim == string(value)
}

// silentClaim reports whether value, about to be set if nothing is there, claims
// without saying so.
func (k recordedKV) silentClaim(ctx context.Context, value []byte) bool {
	_, says := store.ValueSays(value)
	return !says && !k.rec.hasRun(AttemptOf(ctx))
}
