package httptarget

import (
	"fmt"
	"slices"
	"strings"

	"github.com/idemrace/idemrace/history"
)

// named are the profiles that have a name.
func named() []Profile {
	return []Profile{
		{Name: "any"},
		// draft-ietf-httpapi-idempotency-key-header-07, section 2.7
		{Name: "ietf", MissingKey: []int{400}, InFlight: []int{409}, Reuse: []int{422}},
		// docs.stripe.com/api/idempotent_requests, and the type idempotency_error (400) and
		// the code idempotency_key_in_use (409) of docs.stripe.com/error-handling
		{Name: "stripe", InFlight: []int{409}, Reuse: []int{400}, Errors: ErrorsCached, ReplayMarker: "header:Idempotent-Replayed"},
	}
}

// ProfileNames lists them.
func ProfileNames() []string {
	var names []string
	for _, p := range named() {
		names = append(names, p.Name)
	}
	return names
}

// Named is a profile by its name, or an error that lists those that there are.
func Named(name string) (Profile, error) {
	if name == "" {
		name = "any"
	}
	i := slices.IndexFunc(named(), func(p Profile) bool { return p.Name == name })
	if i < 0 {
		return Profile{}, fmt.Errorf("profile %q is not known; it is one of %s, or fields of its own", name, strings.Join(ProfileNames(), ", "))
	}
	return named()[i], nil
}

// Resolve is the named profile with what p says besides.
func Resolve(p Profile) (Profile, error) {
	base, err := Named(p.Name)
	if err != nil {
		return p, err
	}
	if p.InFlight == nil && !p.Waits {
		p.InFlight = base.InFlight
	}
	if p.Reuse == nil {
		p.Reuse = base.Reuse
	}
	if p.MissingKey == nil {
		p.MissingKey = base.MissingKey
	}
	if p.Errors == "" {
		p.Errors = base.Errors
	}
	if p.ReplayMarker == "" {
		p.ReplayMarker = base.ReplayMarker
	}
	p.Name = base.Name
	return p, p.check()
}

func (p Profile) check() error {
	for _, list := range [][]int{p.InFlight, p.Reuse, p.MissingKey} {
		for _, s := range list {
			if s < 100 || s > 599 {
				return fmt.Errorf("profile: %d is no HTTP status", s)
			}
		}
	}
	for _, mark := range p.Unknown {
		if i := strings.LastIndex(mark, "="); i <= 0 {
			return fmt.Errorf("profile.unknown: %q; write PLACE=VALUE, e.g. code=outcome_unknown", mark)
		}
	}
	switch {
	case p.StoreDown != "" && p.StoreDown != StoreOpen && p.StoreDown != StoreClosed:
		return fmt.Errorf("profile.store-down: %q is neither open nor closed", p.StoreDown)
	case p.Errors != "" && p.Errors != ErrorsCached && p.Errors != ErrorsReleased:
		return fmt.Errorf("profile.errors: %q is neither cached nor released", p.Errors)
	case p.Lease < 0, p.Retention < 0, p.WaitLimit < 0:
		return fmt.Errorf("profile: a time is negative")
	}
	return nil
}

// situation is what the classification knows besides the status.
type situation struct {
	rival bool // the key has come with several payloads
	key   string
	retry bool // the answer says when to try again
}

// longKey is from where on a service may call a key too long: what most columns hold.
const longKey = 255

// word is an answer's in the words of package history. Statuses that a profile lists
// bind: one that it does not list for its situation is a definitive refusal, so that
// the judge can say so.
func (p Profile) word(status int, s situation) string {
	switch {
	case status >= 200 && status < 300:
		return history.OK
	case status < 200 || status < 400:
		return history.Error
	case status == 503 && (p.StoreDown == StoreClosed || s.retry):
		return history.StoreUnavailable
	case status >= 500 || status == 408:
		return history.Error
	case s.key == "":
		return refusedKey(p.MissingKey, status)
	case s.rival && (len(p.Reuse) == 0 || slices.Contains(p.Reuse, status)):
		return history.KeyReused
	case p.inProgress(status):
		return history.InProgress
	case s.rival:
		return history.Declined
	case len(s.key) > longKey || !plain(s.key):
		return history.InvalidKey
	case slices.Contains(p.Reuse, status):
		return history.KeyReused // whoever says so of an honest retry is to be told by the judge
	}
	return history.Declined
}

// inProgress: the status of a duplicate while the first runs.
func (p Profile) inProgress(status int) bool {
	switch {
	case len(p.InFlight) > 0:
		return slices.Contains(p.InFlight, status)
	}
	return slices.Contains([]int{409, 423, 425, 429}, status)
}

// refusedKey: without a key any refusal is one, unless the profile says which.
func refusedKey(listed []int, status int) string {
	if len(listed) == 0 || slices.Contains(listed, status) {
		return history.InvalidKey
	}
	return history.Declined
}

// plain keys have nothing that a service may refuse: letters, digits and the usual
// separators.
func plain(key string) bool {
	return !strings.ContainsFunc(key, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.:", r)
	})
}
