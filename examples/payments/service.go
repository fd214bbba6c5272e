package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/idempotency/idempotencyhttp"
	"github.com/idemrace/idemrace/impl"
)

// order is what a client sends.
type order struct {
	Amount   int64  `json:"amount"` // minor units
	Currency string `json:"currency"`
	Ref      string `json:"ref"` // the client's own name for it
}

// receipt is what it gets.
type receipt struct {
	ID     string `json:"id"`
	Amount int64  `json:"amount"`
	Ref    string `json:"ref"`
	Worker string `json:"worker"`
}

// fields define a charge. The ref is a note: two orders of one amount under one key
// are one order.
func fields() []string { return []string{"amount", "currency"} }

// readOrder refuses what cannot be charged.
func readOrder(body []byte) (order, error) {
	var o order
	if err := json.Unmarshal(body, &o); err != nil {
		return o, fmt.Errorf("%w: the order cannot be read: %v", idempotency.ErrInvalidFingerprint, err)
	}
	if o.Amount <= 0 || o.Currency == "" {
		return o, fmt.Errorf("%w: an order has an amount above 0 and a currency", idempotency.ErrInvalidFingerprint)
	}
	return o, nil
}

// service charges cards.
type service struct {
	worker string
	bank   *bank
	log    *slog.Logger
}

// handler is the service behind a coordinator.
func (s *service) handler(entry impl.Entry, c idempotency.Coordinator) http.Handler {
	once := idempotencyhttp.Middleware{
		Coordinator: c,
		// In a real service this is from authentication.
		Scope: func(r *http.Request) (string, error) { return r.Header.Get("X-Tenant"), nil },
		// In a real service this is the default: method and pattern.
		Operation:   func(r *http.Request) string { return cmp.Or(r.Header.Get("X-Operation"), r.Pattern) },
		Fingerprint: fingerprint(entry),
		Required:    true,
		// In a real service this is the default too. Here the coordinator is the one who
		// is examined, and some of the catalogue do not look.
		CheckKey: func(string) error { return nil },
		Logger:   s.log,
	}
	mux := http.NewServeMux()
	mux.Handle("POST /charges", once.Wrap(http.HandlerFunc(s.charge)))
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	return mux
}

// fingerprint validates the order, since one that is refused must not take a key,
// and says what defines it, as the coordinator wants it said.
func fingerprint(entry impl.Entry) func(*http.Request, []byte) (idempotency.Fingerprint, error) {
	return func(_ *http.Request, body []byte) (idempotency.Fingerprint, error) {
		if _, err := readOrder(body); err != nil {
			return idempotency.Fingerprint{}, err
		}
		if entry.Prepare != nil {
			return entry.Prepare(body, fields())
		}
		return idempotency.FingerprintJSON(body, fields()...)
	}
}

// charge is the effect. What it knows of a failure it tells the coordinator, and no
// more.
func (s *service) charge(w http.ResponseWriter, r *http.Request) {
	var o order
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		idempotencyhttp.NoEffect(r)
		answer(w, http.StatusBadRequest, failure{err.Error()})
		return
	}
	charge, err := s.bank.charge(r.Context(), o, idempotency.ProviderKey(r.Context()))
	switch {
	case errors.Is(err, errDeclined):
		idempotencyhttp.NoEffect(r)
		answer(w, http.StatusPaymentRequired, failure{err.Error()})
	case errors.Is(err, errUnknown):
		idempotencyhttp.Unknown(r)
		s.log.WarnContext(r.Context(), "charged or not: not known", "error", err)
		answer(w, http.StatusGatewayTimeout, failure{err.Error()})
	case err != nil:
		answer(w, http.StatusInternalServerError, failure{err.Error()})
	default:
		w.Header().Set("Location", "/charges/"+charge.ID)
		answer(w, http.StatusCreated, receipt{charge.ID, charge.Amount, o.Ref, s.worker})
	}
}

type failure struct {
	Error string `json:"error"`
}

func answer(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // cannot happen: strings and numbers always marshal
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}
