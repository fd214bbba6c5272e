package storetest

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/idemrace/idemrace/store"
)

var settleLaws = []law{
	{"complete", "a result, of any form and any bytes, stands as it was given", settleComplete},
	{"complete-twice", "completing twice with one token is one completion, and the first result stands", settleTwice},
	{"complete-late", "after the lease's end a completion applies if nobody took over", settleLate},
	{"complete-overtaken", "nothing that an overtaken owner writes is applied, before and after its successor ends", settleOvertaken},
	{"complete-absent", "a result without a claim is kept, with its fingerprint", settleAbsent},
	{"complete-free", "a result over a released record is kept; its fingerprint and generation stay", settleOverFree},
	{"complete-free-mismatch", "a released record of another payload never gets this payload's result", settleFreeMismatch},
	{"complete-unknown", "who learns the outcome after all may complete its own unknown record", settleOwnUnknown},
	{"final-is-final", "nothing is ever applied over a final record", settleFinal},
	{"release", "a release keeps fingerprint and fence, and says why", settleRelease},
	{"release-twice", "releasing twice with one token is one release: the generation rises once", settleReleaseTwice},
	{"release-generation", "the generation rises with a release without effect if all before it were, and with nothing else", settleGeneration},
	{"only-the-owner", "release and unknown apply to the caller's own record only, and never to none", settleOnlyOwner},
	{"unknown", "an unknown record says why, and keeps its owner and its lease", settleUnknown},
	{"one-winner", "of concurrent completions with different tokens one is applied", settleOneWinner},
}

func settleComplete(l lab) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for i, row := range []struct {
		form   store.Form
		result []byte
	}{
		{store.Inline, []byte(`{"charge":"ch_1"}`)},
		{store.Inline, all},
		{store.Inline, nil},
		{store.Inline, bytes.Repeat([]byte("3:abc,\r\n"), 100_000)},
		{store.Reference, []byte("s3://bucket/1")},
		{store.TooLarge, nil},
	} {
		name := fmt.Sprint("k", i)
		l.own(name, "a")
		s := finalOf(name, "a", string(row.result))
		s.Form = row.form
		want := store.Record{
			Name: name, State: store.Done, Fingerprint: payload, Token: "a", Fence: 1, Generation: 1,
			Form: row.form, Result: row.result,
		}
		l.equal(l.applied(s), want)
		l.equal(l.twin().claim(claimOf(name, "b")).Record, want)
		l.equal(l.record(name), want)
	}
}

func settleTwice(l lab) {
	l.own("k", "a")
	first := l.applied(finalOf("k", "a", "ch_1"))
	l.equal(l.applied(finalOf("k", "a", "ch_2")), first)
	l.equal(l.record("k"), first)
}

func settleLate(l lab) {
	l.own("k", "a")
	l.endLeases()
	if r := l.applied(finalOf("k", "a", "ch_1")); r.Fence != 1 {
		l.Fatalf("nobody took over: %+v", r)
	}
}

func settleOvertaken(l lab) {
	l.own("k", "a")
	l.endLeases()
	l.own("k", "b")
	late := func() {
		l.refused(finalOf("k", "a", "ch_late"))
		l.refused(freeOf("k", "a", "late"))
		l.refused(unknownOf("k", "a", "late"))
	}
	late()
	l.applied(finalOf("k", "b", "ch_1"))
	late()
	got := l.settle(finalOf("k", "a", "ch_late"))
	if string(got.Record.Result) != "ch_1" {
		l.Fatalf("the overtaken owner is not shown what stands: %+v", got)
	}
}

func settleAbsent(l lab) {
	got := l.applied(finalOf("k", "a", "ch_1"))
	l.equal(got, store.Record{
		Name: "k", State: store.Done, Fingerprint: payload, Token: "a", Fence: 1, Generation: 1, Result: []byte("ch_1"),
	})
	l.refused(finalOf("k", "b", "ch_2"))
}

func settleOverFree(l lab) {
	l.own("k", "a")
	l.endLeases()
	l.own("k", "b")
	s := freeOf("k", "b", "declined")
	s.NoEffect = true
	l.applied(s)
	got := l.applied(finalOf("k", "a", "ch_1"))
	l.equal(got, store.Record{
		Name: "k", State: store.Done, Fingerprint: payload, Token: "a", Fence: 3, Generation: 1, Result: []byte("ch_1"),
	})
}

func settleFreeMismatch(l lab) {
	l.own("k", "a")
	l.applied(freeOf("k", "a", "declined"))
	s := finalOf("k", "b", "another's")
	s.Fingerprint = other
	l.refused(s)
}

func settleOwnUnknown(l lab) {
	l.own("k", "a")
	l.applied(unknownOf("k", "a", "reply lost"))
	if r := l.applied(finalOf("k", "a", "ch_1")); r.Failure != "" {
		l.Fatalf("a final record still says why it was unknown: %+v", r)
	}
}

func settleFinal(l lab) {
	l.own("k", "a")
	l.applied(finalOf("k", "a", "ch_1"))
	for _, token := range []string{"a", "b"} {
		l.refused(freeOf("k", token, "too late"))
		l.refused(unknownOf("k", token, "too late"))
	}
	l.refused(finalOf("k", "b", "ch_2"))
	l.endLeases()
	if got := l.claim(claimOf("k", "c")); got.Mine || string(got.Record.Result) != "ch_1" {
		l.Fatalf("a final has no lease to end: %+v", got)
	}
}

func settleRelease(l lab) {
	first := l.own("k", "a").Record
	got := l.applied(freeOf("k", "a", "declined"))
	if got.Fingerprint != first.Fingerprint || got.Fence != first.Fence || got.Failure != "declined" || got.LeaseLeft > 0 {
		l.Fatalf("released: %+v", got)
	}
}

func settleReleaseTwice(l lab) {
	l.own("k", "a")
	s := freeOf("k", "a", "declined")
	s.NoEffect = true
	first := l.applied(s)
	l.equal(l.applied(s), first)
	if first.Generation != 2 {
		l.Fatalf("generation %d", first.Generation)
	}
}

func settleGeneration(l lab) {
	generation := func(token string) int64 { return l.own("k", token).Record.Generation }
	if g := generation("a"); g != 1 {
		l.Fatalf("first: generation %d", g)
	}
	l.applied(freeOf("k", "a", "time-out"))
	if g := generation("b"); g != 1 {
		l.Fatalf("the failure may have had an effect, and the generation rose to %d", g)
	}
	l.endLeases()
	if g := generation("c"); g != 1 {
		l.Fatalf("a takeover raised the generation to %d", g)
	}
	l.applied(unknownOf("k", "c", "cut"))
	l.endLeases()
	if g := generation("d"); g != 1 {
		l.Fatalf("an unknown outcome raised the generation to %d", g)
	}
	declined := func(name, token string) {
		s := freeOf(name, token, "declined")
		s.NoEffect = true
		l.applied(s)
	}
	declined("k", "d")
	if g := generation("e"); g != 1 {
		l.Fatalf("one of three former owners may still charge, and the generation rose to %d", g)
	}
	for want := int64(1); want <= 3; want++ {
		token := fmt.Sprint("t", want)
		if g := l.own("sure", token).Record.Generation; g != want {
			l.Fatalf("after %d releases without effect: generation %d", want-1, g)
		}
		declined("sure", token)
	}
}

func settleOnlyOwner(l lab) {
	l.refused(freeOf("k", "a", "nothing there"))
	l.refused(unknownOf("k", "a", "nothing there"))
	l.own("k", "a")
	l.refused(freeOf("k", "b", "not mine"))
	l.refused(unknownOf("k", "b", "not mine"))
	l.applied(freeOf("k", "a", "declined"))
	l.refused(freeOf("k", "b", "not mine"))
	l.refused(unknownOf("k", "a", "no longer mine"))
}

func settleUnknown(l lab) {
	l.own("k", "a")
	got := l.applied(unknownOf("k", "a", "reply lost"))
	l.equal(got, store.Record{
		Name: "k", State: store.Unknown, Fingerprint: payload, Token: "a", Fence: 1, Generation: 1, Failure: "reply lost",
	})
	if got.LeaseLeft <= 0 {
		l.Fatal("the lease has ended with the outcome")
	}
	l.equal(l.applied(unknownOf("k", "a", "once more")), got)
}

func settleOneWinner(l lab) {
	workers := []lab{l, l.twin()}
	var applied atomic.Int64
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			s := finalOf("k", fmt.Sprint("t", i), fmt.Sprint("ch_", i))
			got, err := workers[i%2].Store.Settle(l.ctx, s)
			if err != nil {
				l.Errorf("settle: %v", err)
			}
			if got.Applied {
				applied.Add(1)
			}
		})
	}
	all.Wait()
	if n := applied.Load(); n != 1 {
		l.Fatalf("%d results applied", n)
	}
}
