package load

import "fmt"

// sound refuses a report whose figures cannot all be true. Errors go on after "says of
// a target".
func (r Report) sound() error {
	v, sum := r.Verdicts, int64(0)
	for _, n := range v.Answers {
		sum += n
	}
	switch {
	case r.Sent < 0 || r.Dropped < 0 || r.Late < 0 || r.Late > r.Sent || r.Took < 0 || r.CPU < 0 || r.Commands < 0 || r.Workers < 0:
		return fmt.Errorf("a count or a time that is none")
	case r.Latency.TotalCount() != r.Sent || r.Lateness.TotalCount() != r.Sent || sum != r.Sent:
		return fmt.Errorf("%d requests were sent, and %d have a latency, %d an answer", r.Sent, r.Latency.TotalCount(), sum)
	case anyBelow(v.Answers) || anyBelow(v.Violated) || v.Succeeded < 0 || v.Unknown < 0 || v.Open < 0:
		return fmt.Errorf("a count that is below zero")
	}
	if err := v.Ledger.sound(); err != nil {
		return err
	}
	for i, s := range v.Shared {
		if i > 0 && s.Ref <= v.Shared[i-1].Ref {
			return fmt.Errorf("more than one thing of ref %d", s.Ref)
		}
	}
	return r.Timeline.sound(r.Sent)
}

func anyBelow(counts map[string]int64) bool {
	for _, n := range counts {
		if n < 0 {
			return true
		}
	}
	return false
}

// sound: each ref has a first charge, and what is over that is excess.
func (t Totals) sound() error {
	if t.Doubles < 0 || t.Refs < t.Doubles || t.Excess < t.Doubles || t.Charges != t.Refs+t.Excess {
		return fmt.Errorf("a ledger of %d charges of %d refs, %d of them twice", t.Charges, t.Refs, t.Doubles)
	}
	return nil
}

// sound: each request was sent and answered in a slot. nil is.
func (t *Timeline) sound(sent int64) error {
	if t == nil {
		return nil
	}
	var left, answered int64
	for _, s := range t.slots {
		recorded := int64(0)
		if s.latency != nil {
			recorded = s.latency.TotalCount()
		}
		if s.sent < 0 || s.errors < 0 || s.errors > s.answers || s.doubles < 0 || s.answers != recorded {
			return fmt.Errorf("a moment that cannot be")
		}
		left, answered = left+s.sent, answered+s.answers
	}
	if left != sent || answered != sent {
		return fmt.Errorf("%d requests were sent, and %d in its time line", sent, left)
	}
	return nil
}

// tidy has lists and tables where nothing was found: in a document they are never null.
func (v Verdicts) tidy() Verdicts {
	v.Findings = append([]Finding{}, v.Findings...)
	if v.Violated == nil {
		v.Violated = map[string]int64{}
	}
	if v.Answers == nil {
		v.Answers = map[string]int64{}
	}
	return v
}
