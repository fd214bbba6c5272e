package reservation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/impl/reservation"
	"github.com/idemrace/idemrace/store"
)

var errCard = errors.New("card network timed out")

// afterwards runs the action when the gate opens.
func afterwards(gate <-chan struct{}, act idempotency.Action) idempotency.Action {
	return func(ctx context.Context) ([]byte, error) {
		<-gate
		return act(ctx)
	}
}

func TestSemantic5_WhatAnErrorDoesToTheRecord(t *testing.T) {
	noEffect := fmt.Errorf("declined: %w: %w", errCard, idempotency.ErrNoEffect)
	unknown := fmt.Errorf("lost: %w: %w", errCard, idempotency.ErrUnknownOutcome)
	cases := []struct {
		why        string
		onError    reservation.OnError
		err        error
		state      store.State
		generation int64
		also       error // what the caller's error is too
	}{
		{"no effect frees, and raises the generation", "", noEffect, store.Free, 2, idempotency.ErrNoEffect},
		{"no effect frees under the cautious policy too", reservation.MarkUnknown, noEffect, store.Free, 2, idempotency.ErrNoEffect},
		{"unknown stays", "", unknown, store.Unknown, 1, idempotency.ErrUnknownOutcome},
		{"both said: unknown wins", "", errors.Join(noEffect, unknown), store.Unknown, 1, idempotency.ErrUnknownOutcome},
		{"the article's rule frees any other error", "", errCard, store.Free, 1, errCard},
		{"the cautious rule keeps it", reservation.MarkUnknown, errCard, store.Unknown, 1, idempotency.ErrUnknownOutcome},
	}
	for _, tc := range cases {
		t.Run(tc.why, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *setting) {
				c := s.coordinator(reservation.Config{OnError: tc.onError})
				do(t.Context(), c, request(t, 100), failing(tc.err)).fails(t, errCard, tc.also)
				if r := s.record(); r.State != tc.state || r.Generation != tc.generation || r.Failure == "" {
					t.Errorf("%+v", r)
				}
			})
		})
	}
}

func TestSemantic5_AfterAReleaseARetryRuns(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c, p := s.coordinator(reservation.Config{}), &till{}
		do(t.Context(), c, request(t, 100), failing(errCard)).fails(t, errCard)
		do(t.Context(), c, request(t, 100), p.charge).wants(t, "ch_1", idempotency.Executed, true)
	})
}

func TestSemantic5_AnUnknownOutcomeHoldsUntilItsLeaseEnds(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c, p := s.coordinator(reservation.Config{}), &till{}
		do(t.Context(), c, request(t, 100), failing(idempotency.ErrUnknownOutcome)).fails(t, idempotency.ErrUnknownOutcome)
		began := time.Now()
		do(t.Context(), c, request(t, 100), never(t)).fails(t, idempotency.ErrInProgress)
		if !time.Now().Equal(began) {
			t.Error("the retry waited for an outcome that nobody will tell")
		}
		time.Sleep(reservation.DefaultLease)
		do(t.Context(), c, request(t, 100), p.charge).wants(t, "ch_1", idempotency.Executed, true)
	})
}

// Twenty waiters must not call a failing provider in turn.
func TestSemantic5_WaitersShareTheFailure(t *testing.T) {
	onWait(t, func(t *testing.T, s *setting) {
		c, gate := s.coordinator(reservation.Config{}), make(chan struct{})
		owner := start(t.Context(), c, request(t, 100), afterwards(gate, failing(errCard)))
		var waiters []<-chan answer
		for range 20 {
			waiters = append(waiters, start(t.Context(), c, request(t, 100), never(t)))
		}
		close(gate)
		(<-owner).fails(t, errCard)
		for _, w := range waiters {
			a := <-w
			a.fails(t, idempotency.ErrOwnerFailed)
			if failed := (*idempotency.OwnerFailedError)(nil); !errors.As(a.err, &failed) || failed.Failure != errCard.Error() {
				t.Errorf("told %v", a.err)
			}
		}
	})
}

func TestSemantic5_WaitersOfAnUnknownOutcomeAreToldAtOnce(t *testing.T) {
	onWait(t, func(t *testing.T, s *setting) {
		c, gate := s.coordinator(reservation.Config{}), make(chan struct{})
		owner := start(t.Context(), c, request(t, 100), afterwards(gate, failing(idempotency.ErrUnknownOutcome)))
		waiter := start(t.Context(), c, request(t, 100), never(t))
		began := time.Now()
		close(gate)
		(<-waiter).fails(t, idempotency.ErrInProgress)
		if !time.Now().Equal(began) {
			t.Error("the waiter waited on")
		}
		<-owner
	})
}

func TestSemantic5_AReleaseIsTriedAgainToo(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c, p := s.coordinator(reservation.Config{}), &till{}
		s.store.settlesFail(true)
		time.AfterFunc(100*time.Millisecond, func() { s.store.settlesFail(false) })
		do(t.Context(), c, request(t, 100), failing(errCard)).fails(t, errCard)
		do(t.Context(), c, request(t, 100), p.charge).wants(t, "ch_1", idempotency.Executed, true)
	})
}

// A record stays small, and its words stay valid UTF-8 where they are cut.
func TestSemantic5_TheWordsOfAFailureAreBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, s *setting) {
		c := s.coordinator(reservation.Config{})
		long := errors.New("x" + strings.Repeat("é", 10_000))
		do(t.Context(), c, request(t, 100), failing(long)).fails(t, long)
		if f := s.record().Failure; len(f) == 0 || len(f) > 512 || !utf8.ValidString(f) {
			t.Errorf("%d bytes, valid %v", len(f), utf8.ValidString(f))
		}
	})
}
