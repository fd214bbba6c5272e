package fakeprovider

import "slices"

// hold keeps a call until Release. Held calls lie in order of their numbers, so
// that "the oldest" does not depend on whose delay ended first.
func (p *Provider) hold(c *call) (waits bool) {
	i, _ := slices.BinarySearchFunc(p.held, c, older)
	p.held = slices.Insert(p.held, i, c)
	p.change()
	return true
}

// Release lets the n oldest held calls go on, all of them for n <= 0, and
// returns how many there were. They go on in order of arrival, and where no
// delay follows they have committed and answered when Release returns. A call
// that is held again, after its commit, is not released twice by one Release.
func (p *Provider) Release(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n <= 0 || n > len(p.held) {
		n = len(p.held)
	}
	free := slices.Clone(p.held[:n])
	p.held = slices.Delete(p.held, 0, n)
	for _, c := range free {
		p.advance(c)
	}
	return n
}

// ReleaseCall lets the call with that number go on, and reports whether it was
// held.
func (p *Provider) ReleaseCall(number int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.held, func(c *call) bool { return c.number == number })
	if i < 0 {
		return false
	}
	c := p.held[i]
	p.held = slices.Delete(p.held, i, i+1)
	p.advance(c)
	return true
}
