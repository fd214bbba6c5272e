package providerhttp

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/idemrace/idemrace/fakeprovider"
)

// stripe is Stripe's API as far as charging goes: docs.stripe.com/api, version-less
// fields only.
type stripe struct{ desk Desk }

func stripeRoutes(mux *http.ServeMux, s stripe) {
	intents := &intents{made: map[string]Sighting{}}
	mux.HandleFunc("POST /v1/charges", s.guarded(func(w http.ResponseWriter, r *http.Request, form url.Values) {
		s.charge(w, r, form, "charge")
	}))
	mux.HandleFunc("POST /v1/payment_intents", s.guarded(func(w http.ResponseWriter, r *http.Request, form url.Values) {
		if form.Get("confirm") == "true" {
			s.charge(w, r, form, "payment_intent")
			return
		}
		s.intend(w, r, form, intents)
	}))
	mux.HandleFunc("POST /v1/payment_intents/{id}/confirm", s.guarded(func(w http.ResponseWriter, r *http.Request, _ url.Values) {
		s.confirm(w, r, intents)
	}))
	mux.HandleFunc("POST /v1/refunds", s.guarded(s.refund))
	mux.HandleFunc("GET /v1/charges/{id}", s.show)
	mux.HandleFunc("GET /v1/payment_intents/{id}", s.show)
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, http.StatusNotFound, "invalid_request_error", "", "Unrecognized request URL ("+r.Method+": "+r.URL.Path+"): the fake provider has charges, payment intents and refunds")
	})
}

// guarded reads the form, and refuses keys that look live.
func (s stripe) guarded(do func(http.ResponseWriter, *http.Request, url.Values)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Request-Id", "req_fake")
		if live(r) {
			s.refuse(w, http.StatusUnauthorized, "invalid_request_error", "live_key", liveKey)
			return
		}
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyMax))
		var form url.Values
		if err == nil {
			form, err = url.ParseQuery(string(text))
		}
		var big *http.MaxBytesError
		switch {
		case errors.As(err, &big):
			s.refuse(w, http.StatusRequestEntityTooLarge, "invalid_request_error", "", "the body is larger than 1 MiB")
		case err != nil:
			s.refuse(w, http.StatusBadRequest, "invalid_request_error", "", "the body is no form: "+err.Error())
		default:
			do(w, r, form)
		}
	}
}

// sighted reads a charge's form.
func (s stripe) sighted(r *http.Request, form url.Values, effect string) (Sighting, error) {
	amount, err := strconv.ParseInt(form.Get("amount"), 10, 64)
	if err != nil || amount <= 0 {
		return Sighting{}, errors.New("amount must be a positive whole number of minor units")
	}
	got := Sighting{Effect: effect, Amount: amount, Currency: form.Get("currency"), Description: form.Get("description"),
		Metadata: map[string]string{}, Key: r.Header.Get("Idempotency-Key"), Header: r.Header}
	for name, values := range form {
		if inner, ok := bracketed(name, "metadata"); ok && len(values) > 0 {
			got.Metadata[inner] = values[0]
		}
	}
	got.Body, err = json.Marshal(Nested(form))
	return got, err
}

// bracketed is what stands in the brackets behind name.
func bracketed(field, name string) (inner string, ok bool) {
	rest, ok := strings.CutPrefix(field, name+"[")
	if !ok || !strings.HasSuffix(rest, "]") {
		return "", false
	}
	return strings.TrimSuffix(rest, "]"), true
}

// deepest is how many brackets a form's name may have; the rest is left as text.
const deepest = 8

// Nested is a form whose names have brackets, as objects: metadata[ref]=1 is
// {"metadata":{"ref":"1"}}. A name that meets another of a different shape is left as
// it stands.
func Nested(form url.Values) map[string]any {
	root := map[string]any{}
	for name, values := range form {
		if len(values) == 0 {
			continue
		}
		path := split(name)
		at := root
		for i, part := range path {
			if i == len(path)-1 {
				if _, taken := at[part]; taken {
					root[name] = values[0]
				} else {
					at[part] = values[0]
				}
				break
			}
			next, ok := at[part].(map[string]any)
			if !ok {
				if _, taken := at[part]; taken {
					root[name] = values[0]
					break
				}
				next = map[string]any{}
				at[part] = next
			}
			at = next
		}
	}
	return root
}

// split is a name's parts; a name with odd brackets has one.
func split(name string) []string {
	head, rest, ok := strings.Cut(name, "[")
	if !ok || head == "" || !strings.HasSuffix(rest, "]") {
		return []string{name}
	}
	parts := append([]string{head}, strings.Split(strings.TrimSuffix(rest, "]"), "][")...)
	if len(parts) > deepest || strings.ContainsAny(strings.Join(parts, ""), "[]") {
		return []string{name}
	}
	return parts
}

func (s stripe) charge(w http.ResponseWriter, r *http.Request, form url.Values, effect string) {
	got, err := s.sighted(r, form, effect)
	if err != nil {
		s.refuse(w, http.StatusBadRequest, "invalid_request_error", "parameter_invalid_integer", err.Error())
		return
	}
	s.make(w, r, got)
}

// make makes the effect and answers in Stripe's shape.
func (s stripe) make(w http.ResponseWriter, r *http.Request, got Sighting) {
	before := len(s.desk.Ledger())
	seat, ch, err := charge(r.Context(), s.desk, got)
	if err != nil {
		s.fail(w, err)
		return
	}
	if len(s.desk.Ledger()) == before && got.Key != "" {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	answer(w, http.StatusOK, object(seat.ID(ch), got))
}

// object is a charge or a payment intent.
func object(id string, s Sighting) map[string]any {
	o := map[string]any{"id": id, "object": s.Effect, "amount": s.Amount, "currency": s.Currency, "status": "succeeded",
		"description": s.Description, "metadata": s.Metadata, "livemode": false, "created": time.Now().Unix()}
	if s.Effect == "payment_intent" {
		o["amount_received"], o["latest_charge"] = s.Amount, strings.Replace(id, "pi_", "ch_", 1)
	} else {
		o["captured"], o["paid"], o["refunded"] = true, true, false
	}
	return o
}

// intents are payment intents that were made and not confirmed yet: no effect.
type intents struct {
	mu   sync.Mutex
	made map[string]Sighting
	n    int
}

func (s stripe) intend(w http.ResponseWriter, r *http.Request, form url.Values, all *intents) {
	got, err := s.sighted(r, form, "payment_intent")
	if err != nil {
		s.refuse(w, http.StatusBadRequest, "invalid_request_error", "parameter_invalid_integer", err.Error())
		return
	}
	all.mu.Lock()
	all.n++
	id := "pi_new_" + strconv.Itoa(all.n)
	all.made[id] = got
	all.mu.Unlock()
	o := object(id, got)
	o["status"], o["amount_received"] = "requires_confirmation", 0
	delete(o, "latest_charge")
	answer(w, http.StatusOK, o)
}

func (s stripe) confirm(w http.ResponseWriter, r *http.Request, all *intents) {
	all.mu.Lock()
	got, ok := all.made[r.PathValue("id")]
	all.mu.Unlock()
	if !ok {
		s.refuse(w, http.StatusNotFound, "invalid_request_error", "resource_missing", "No such payment_intent: '"+r.PathValue("id")+"'")
		return
	}
	got.Key, got.Header = r.Header.Get("Idempotency-Key"), r.Header
	s.make(w, r, got)
}

func (s stripe) refund(w http.ResponseWriter, _ *http.Request, form url.Values) {
	id := form.Get("charge")
	if id == "" {
		id = strings.Replace(form.Get("payment_intent"), "pi_", "ch_", 1)
	}
	if err := void(s.desk, id); err != nil {
		s.refuse(w, http.StatusNotFound, "invalid_request_error", "resource_missing", "No such charge: '"+id+"'")
		return
	}
	answer(w, http.StatusOK, map[string]any{"id": strings.Replace(id, "ch_", "re_", 1), "object": "refund", "charge": id, "status": "succeeded"})
}

func (s stripe) show(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	for _, l := range s.desk.Ledger() {
		if l.ID == strings.Replace(id, "pi_", "ch_", 1) {
			o := object(id, Sighting{Effect: map[bool]string{true: "payment_intent", false: "charge"}[strings.HasPrefix(id, "pi_")], Amount: l.Amount})
			o["refunded"] = l.Voided
			answer(w, http.StatusOK, o)
			return
		}
	}
	s.refuse(w, http.StatusNotFound, "invalid_request_error", "resource_missing", "No such charge: '"+id+"'")
}

// fail answers in the shape of Stripe's errors.
func (s stripe) fail(w http.ResponseWriter, err error) {
	status, code := failure(err)
	kind := map[int]string{http.StatusPaymentRequired: "card_error", http.StatusBadRequest: "idempotency_error"}[status]
	if kind == "" {
		kind = "api_error"
	}
	var stray *strayError
	switch {
	case errors.As(err, &stray):
		kind = "invalid_request_error"
	case errors.Is(err, fakeprovider.ErrKeyInUse):
		kind = "idempotency_error"
	}
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	s.refuse(w, status, kind, code, err.Error())
}

func (s stripe) refuse(w http.ResponseWriter, status int, kind, code, message string) {
	e := map[string]string{"type": kind, "message": message}
	if code != "" {
		e["code"] = code
	}
	answer(w, status, map[string]any{"error": e})
}
