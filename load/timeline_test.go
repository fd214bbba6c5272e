package load

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// eleven slots of 100 ms with ten answers each, of which some are errors, all of
// which take so long.
func lived(errors func(slot int) int, takes func(slot int) time.Duration) *Timeline {
	t := NewTimeline(100 * time.Millisecond)
	for i := range 11 {
		for n := range 10 {
			at := time.Duration(i)*100*time.Millisecond + time.Duration(n)*time.Millisecond
			t.answered(at, at, takes(i), n < errors(i))
		}
	}
	return t
}

func TestRecovery(t *testing.T) {
	none, soon := func(int) int { return 0 }, func(int) time.Duration { return 5 * time.Millisecond }
	during := func(from, to int) func(int) int {
		return func(i int) int {
			if i >= from && i < to {
				return 5
			}
			return 0
		}
	}
	slow := func(i int) time.Duration {
		if i >= 3 {
			return time.Second
		}
		return 5 * time.Millisecond
	}
	const began, ended = 300 * time.Millisecond, 500 * time.Millisecond
	for _, row := range []struct {
		why    string
		t      *Timeline
		first  time.Duration
		last   time.Duration
		well   bool
		after  float64
		reason string
	}{
		{"errors during the fault only", lived(during(3, 5), soon), began, ended, true, 0, ""},
		{"the fault ended within a slot", lived(during(3, 5), soon), began, 450 * time.Millisecond, true, 50, ""},
		{"errors for 200 ms more", lived(during(3, 7), soon), began, ended, true, 200, ""},
		{"errors to the end", lived(during(3, 11), soon), began, ended, false, 0, "5 of 10 answers were errors"},
		{"slow to the end", lived(none, slow), began, ended, false, 0, "the p99 was"},
		{"nothing after the fault", lived(during(3, 11), soon), began, 1200 * time.Millisecond, false, 0, "ended with its last fault"},
		{"errors as before are no news", lived(during(0, 11), soon), began, ended, true, 0, ""},
		{"well again, then not", lived(func(i int) int { return during(3, 5)(i) + during(9, 11)(i) }, soon), began, ended, false, 0, "errors"},
		{"no before: no errors will do", lived(during(0, 5), soon), 0, ended, true, 0, ""},
		{"no before, and errors", lived(during(0, 11), soon), 0, ended, false, 0, "errors"},
	} {
		r := row.t.Recovery(row.first, row.last)
		if r.Recovered != row.well || r.After != row.after || !strings.Contains(r.Why, row.reason) {
			t.Errorf("%s: %+v", row.why, r)
		}
	}
}

// However long a load lasts, its time line has few slots, and loses nothing.
func TestTimelineStaysFlat(t *testing.T) {
	line := NewTimeline(time.Second)
	const minutes = 100
	for i := range minutes * 60 {
		at := time.Duration(i) * time.Second
		line.answered(at, at+10*time.Second, time.Millisecond, i%10 == 0)
	}
	sums := Moment{}
	all := line.Moments()
	for _, m := range all {
		sums.Sent, sums.Answered, sums.Errors = sums.Sent+m.Sent, sums.Answered+m.Answered, sums.Errors+m.Errors
	}
	if len(all) > maxSlots || sums.Sent != minutes*60 || sums.Answered != minutes*60 || sums.Errors != minutes*6 {
		t.Errorf("%d slots: %+v", len(all), sums)
	}
	if got := line.Step(); got <= time.Second || int(got/time.Second)&(int(got/time.Second)-1) != 0 {
		t.Errorf("a slot is %v: slots are doubled", got)
	}
}

func TestFailedIsWhatWasNotToBeExpected(t *testing.T) {
	for _, row := range []struct {
		r    Request
		a    string
		want bool
	}{
		{Request{}, "ok", false}, {Request{}, "in-progress", false}, {Request{}, "unknown", true}, {Request{}, "store-unavailable", true},
		{Request{Rival: true}, "key-reused", false}, {Request{}, "key-reused", true},
		{Request{Leave: 1}, "hung-up", false}, {Request{}, "hung-up", true}, {Request{}, "declined", true},
	} {
		if got := failed(row.r, Reply{Answer: row.a}); got != row.want {
			t.Errorf("%+v, %s: %v", row.r, row.a, got)
		}
	}
}

// The double charges of the time line are the ledger's, in the slot in which each was
// made; and the judge has each, also one that was made when its key had been judged.
func TestDoublesAreTheLedgers(t *testing.T) {
	line := NewTimeline(minStep)
	l := NewLedger(line.Charged)
	j := NewJudge(l, DefaultKept, time.Now())
	line.begin(time.Now().Add(-250 * time.Millisecond))
	r := Request{Ref: 7, First: true, Last: true}
	j.Sent(r)
	l.Charge(r.Entry())
	j.Answered(r, Reply{Answer: "ok", Charge: "ch_1"}, 0, 0)
	l.Charge(r.Entry())
	l.Charge(r.Entry())
	all := line.Moments()
	if last := all[len(all)-1]; last.At < 200 || last.Doubles != 1 {
		t.Errorf("the time line: %+v", all)
	}
	if v := j.End(); v.Violated[atMostOnce] != 1 || len(v.Findings) != 1 {
		t.Errorf("a charge after the last answer: %+v", v)
	}
}

// Of a key's requests the one that comes last is marked so: the judge forgets the key
// then.
func TestLastComesLast(t *testing.T) {
	p := plan(Constant(2000), 4000)
	p.FanOut, p.Hot, p.HotShare, p.Later = 4, 0, 0, 0.2
	p.LaterBy = 100 * time.Millisecond
	over, rival, copies := map[int64]bool{}, map[int64]bool{}, map[string]bool{}
	for _, r := range requests(p) {
		if over[r.Ref] {
			t.Fatalf("request %d of key %d comes after the last", r.N, r.Ref)
		}
		if r.First {
			rival[r.Ref] = r.Rival
		}
		if r.Rival != rival[r.Ref] || r.Other && !r.Rival {
			t.Errorf("request %d of key %d: rival %v", r.N, r.Ref, r.Rival)
		}
		id := fmt.Sprint(r.Ref, "/", r.Copy)
		if copies[id] {
			t.Errorf("request %s comes twice", id)
		}
		over[r.Ref], copies[id] = r.Last, true
	}
}

func TestNoTimelineKeepsNothing(t *testing.T) {
	var none *Timeline
	none.Charged(1, 2) // a panic would fail the test
}
