package providerhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/idemrace/idemrace/fakeprovider"
)

// bodyMax is far beyond any honest charge.
const bodyMax = 1 << 20

// Handler serves both APIs over the desk: plain at /charges and other effects'
// names, Stripe's below /v1.
func Handler(d Desk) http.Handler {
	mux := http.NewServeMux()
	p := plain{d}
	mux.HandleFunc("GET /ledger", p.ledger)
	mux.HandleFunc("POST /refunds", p.refund)
	mux.HandleFunc("POST /{effects}", p.create)
	mux.HandleFunc("GET /charges/{id}", p.show)
	stripeRoutes(mux, stripe{d})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "not_found", fmt.Sprintf("the fake provider has no %s %s", r.Method, r.URL.Path))
	})
	return mux
}

// plain is the plain JSON API.
type plain struct{ desk Desk }

// thing is a charge as the plain API shows it.
type thing struct {
	ID       string            `json:"id"`
	Object   string            `json:"object"`
	Amount   int64             `json:"amount"`
	Currency string            `json:"currency,omitempty"`
	Status   string            `json:"status"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// create makes an effect: the body is a JSON object with an amount.
func (p plain) create(w http.ResponseWriter, r *http.Request) {
	if live(r) {
		refuse(w, http.StatusUnauthorized, "live_key", liveKey)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyMax))
	var big *http.MaxBytesError
	if errors.As(err, &big) {
		refuse(w, http.StatusRequestEntityTooLarge, "too_large", "the body is larger than 1 MiB")
		return
	}
	s, err := sighted(r, body)
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request", err.Error())
		return
	}
	s.Effect = strings.TrimSuffix(r.PathValue("effects"), "s")
	seat, ch, err := charge(r.Context(), p.desk, s)
	if err != nil {
		p.fail(w, err)
		return
	}
	answer(w, http.StatusCreated, thing{ID: seat.ID(ch), Object: s.Effect, Amount: s.Amount, Currency: s.Currency, Status: "succeeded", Metadata: s.Metadata})
}

// sighted reads a JSON body.
func sighted(r *http.Request, body []byte) (Sighting, error) {
	root := gjson.ParseBytes(body)
	if !gjson.ValidBytes(body) || !root.IsObject() {
		return Sighting{}, errors.New("the body must be a JSON object, e.g. {\"amount\": 100, \"currency\": \"EUR\"}")
	}
	amount := root.Get("amount")
	if amount.Type != gjson.Number || amount.Num != float64(amount.Int()) || amount.Int() <= 0 {
		return Sighting{}, errors.New("amount must be a whole number of minor units above 0")
	}
	s := Sighting{Amount: amount.Int(), Currency: root.Get("currency").String(), Description: root.Get("description").String(),
		Key: r.Header.Get("Idempotency-Key"), Header: r.Header, Body: body, Metadata: map[string]string{}}
	root.Get("metadata").ForEach(func(k, v gjson.Result) bool { s.Metadata[k.String()] = v.String(); return true })
	return s, nil
}

// charge asks the desk whose the call is, and makes it.
func charge(ctx context.Context, d Desk, s Sighting) (Seat, fakeprovider.Charge, error) {
	seat, err := d.Take(s)
	if err != nil {
		return seat, fakeprovider.Charge{}, &strayError{err}
	}
	ch, err := seat.Provider.Charge(ctx, seat.Call)
	return seat, ch, err
}

// strayError: nobody has asked for the call.
type strayError struct{ error }

func (e *strayError) Unwrap() error { return e.error }

// fail answers a provider's error. An answer that was lost is none: the connection
// breaks.
func (p plain) fail(w http.ResponseWriter, err error) {
	status, code := failure(err)
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	if errors.Is(err, fakeprovider.ErrKeyReused) {
		status = http.StatusUnprocessableEntity
	}
	refuse(w, status, code, err.Error())
}

// failure is an error's status and code; status 0: there is no answer.
func failure(err error) (status int, code string) {
	var stray *strayError
	switch {
	case errors.As(err, &stray):
		return http.StatusBadRequest, "unknown_reference"
	case errors.Is(err, fakeprovider.ErrDeclined):
		return http.StatusPaymentRequired, "card_declined"
	case errors.Is(err, fakeprovider.ErrFailed):
		return http.StatusInternalServerError, "api_error"
	case errors.Is(err, fakeprovider.ErrTimeout):
		return http.StatusGatewayTimeout, "timeout"
	case errors.Is(err, fakeprovider.ErrKeyReused):
		return http.StatusBadRequest, "idempotency_error"
	case errors.Is(err, fakeprovider.ErrKeyInUse):
		return http.StatusConflict, "idempotency_key_in_use"
	}
	return 0, "" // lost, closed, or the caller has left
}

func (p plain) ledger(w http.ResponseWriter, _ *http.Request) {
	lines := p.desk.Ledger()
	if lines == nil {
		lines = []Line{}
	}
	answer(w, http.StatusOK, lines)
}

func (p plain) show(w http.ResponseWriter, r *http.Request) {
	for _, l := range p.desk.Ledger() {
		if l.ID == r.PathValue("id") {
			answer(w, http.StatusOK, thing{ID: l.ID, Object: l.Effect, Amount: l.Amount, Status: status(l)})
			return
		}
	}
	refuse(w, http.StatusNotFound, "not_found", "there is no "+r.PathValue("id"))
}

func status(l Line) string {
	if l.Voided {
		return "voided"
	}
	return "succeeded"
}

// refund voids a charge.
func (p plain) refund(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyMax))
	id := gjson.GetBytes(body, "charge").String()
	if err != nil || !gjson.ValidBytes(body) || id == "" {
		refuse(w, http.StatusBadRequest, "invalid_request", `the body must name the charge: {"charge": "ch_1"}`)
		return
	}
	if err := void(p.desk, id); err != nil {
		refuse(w, http.StatusNotFound, "not_found", err.Error())
		return
	}
	answer(w, http.StatusCreated, thing{ID: strings.Replace(id, "ch_", "re_", 1), Object: "refund", Status: "succeeded"})
}

func void(d Desk, id string) error {
	p, charge, ok := d.Find(id)
	if !ok {
		return fmt.Errorf("there is no charge %s", id)
	}
	_, err := p.Void(charge)
	return err
}

// liveKey is the refusal of a key that looks as if it could move money.
const liveKey = "this looks like a live key; the fake provider is no place for one"

func live(r *http.Request) bool {
	user, _, _ := r.BasicAuth()
	for _, key := range []string{user, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")} {
		if strings.HasPrefix(key, "sk_live_") || strings.HasPrefix(key, "rk_live_") {
			return true
		}
	}
	return false
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a caller that has gone gets nothing
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	answer(w, status, map[string]any{"error": map[string]string{"code": code, "message": message}})
}
