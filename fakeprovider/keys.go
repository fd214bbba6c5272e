package fakeprovider

// A provider that honours keys does as Stripe's API v1 does, by its reference
// (docs.stripe.com/api/idempotent_requests): it keeps the outcome of the first
// call that began to execute, success or failure, and gives it to every later
// call with the key.
//
//   - Kept: a charge, a decline, and an internal error too, before or after the
//     charge: retries "return the saved response, including 500 errors". A call whose answer was lost or never came has
//     executed, so its charge is kept: that is what makes the key worth handing on.
//   - Not kept: what never began to execute. Here that is TimeoutBefore (the
//     request did not get through) and the refusals ErrKeyReused and ErrKeyInUse.
//
// Replays and refusals are attempts, not charges. Nothing is executed for them,
// so of their behaviour only the connection's part counts: After, HoldAfter,
// LoseAnswer and HangAfter. Calls without a key are never taken for one another.

// saved is what the provider knows of a key.
type saved struct {
	request  Call // of the first call
	finished bool
	charge   Charge
	err      error
}

// lookUp finds a call's key. A first call owns the entry; any other goes on to
// its answer without executing.
func (p *Provider) lookUp(c *call) {
	key := c.request.Key
	if !p.honours || key == "" {
		return
	}
	s, found := p.keys[key]
	if !found {
		c.entry = &saved{request: c.request}
		p.keys[key] = c.entry
		return
	}
	c.next = delayAfter
	switch {
	case !samePayload(s.request, c.request):
		c.err = ErrKeyReused
	case !s.finished:
		c.err = ErrKeyInUse
	default:
		c.charge, c.err = s.charge, s.err
	}
}

// save keeps what a call that owns its key has come to.
func (p *Provider) save(c *call) {
	switch {
	case c.entry == nil:
	case c.err == ErrTimeout:
		delete(p.keys, c.request.Key)
	default:
		c.entry.finished, c.entry.charge, c.entry.err = true, c.charge, c.err
	}
}

// samePayload compares what a provider is sent. The attempt's number is a note
// for histories, not part of it.
func samePayload(a, b Call) bool {
	return a.Ref == b.Ref && a.Effect == b.Effect && a.Amount == b.Amount
}
