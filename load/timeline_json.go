package load

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A timeline as it is written: each moment for people, with its histogram behind it.
type (
	timelineDoc struct {
		StepMS float64   `json:"step_ms"`
		Slots  []slotDoc `json:"slots"`
	}
	slotDoc struct {
		Moment
		Latency string `json:"latency_hdr,omitempty"`
	}
)

// MarshalJSON writes the slots so far.
func (t *Timeline) MarshalJSON() ([]byte, error) {
	moments := t.Moments()
	t.mu.Lock()
	defer t.mu.Unlock()
	doc := timelineDoc{StepMS: ms(t.step), Slots: make([]slotDoc, len(moments))}
	for i, m := range moments {
		doc.Slots[i].Moment = m
		if h := t.slots[i].latency; h != nil {
			text, err := encoded(h)
			if err != nil {
				return nil, err
			}
			doc.Slots[i].Latency = text
		}
	}
	return json.Marshal(doc)
}

// maxStep in milliseconds is that of a load of decades.
const maxStep = 1e10

// UnmarshalJSON reads what MarshalJSON writes. Errors: of package json, or a step or a
// histogram that cannot be.
func (t *Timeline) UnmarshalJSON(text []byte) error {
	var doc timelineDoc
	if err := json.Unmarshal(text, &doc); err != nil {
		return err
	}
	if doc.StepMS < 1 || doc.StepMS > maxStep || len(doc.Slots) > maxSlots {
		return errors.New("a time line has no step, or too many slots")
	}
	t.step, t.slots = span(doc.StepMS), nil
	for _, d := range doc.Slots {
		s := &slot{sent: d.Sent, answers: d.Answered, errors: d.Errors, doubles: d.Doubles, resident: d.Resident}
		if d.Latency != "" {
			var err error
			if s.latency, err = decoded(d.Latency, slotDigits); err != nil {
				return err
			}
		}
		t.slots = append(t.slots, s)
	}
	return nil
}

func (t *Timeline) clone() *Timeline {
	if t == nil {
		return nil
	}
	c := &Timeline{step: t.step, start: t.start, joined: true}
	c.join(t)
	return c
}

// join adds another's slots; that with the shorter ones folds them first. Steps are
// doublings of one.
func (t *Timeline) join(o *Timeline) {
	if o == nil {
		return
	}
	for t.step < o.step {
		t.fold()
	}
	for i, s := range o.slots {
		t.at(time.Duration(i) * o.step).add(s.copy())
	}
}

// copy shares nothing with the slot: add may keep what it is given.
func (s *slot) copy() *slot {
	c := *s
	if s.latency != nil {
		c.latency = hdrhistogram.New(lowest, highest, slotDigits)
		c.latency.Merge(s.latency)
	}
	return &c
}
