package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/idemrace/idemrace/idempotency"
)

// A charge that is sent twice with one key, as a client does that lost the first
// answer. In a service, coordinator is one from impl, such as wait or fenced.
func ExampleDo() {
	type Charge struct {
		ID string `json:"id"`
	}
	var coordinator idempotency.Coordinator = &shelf{}
	payload := []byte(`{"amount":100,"currency":"EUR","sent_at":"12:00:01"}`)

	fingerprint, err := idempotency.FingerprintJSON(payload, "amount", "currency")
	if err != nil {
		fmt.Println("400 Bad Request:", err)
		return
	}
	request := idempotency.Request{
		Tenant:      "shop-1",
		Operation:   "charge.create",
		Key:         "8e03978e-40d5-43dd-bc93-6894a57f9324",
		Fingerprint: fingerprint,
	}
	for range 2 {
		charge, outcome, err := idempotency.Do(context.Background(), coordinator, request,
			func(ctx context.Context) (Charge, error) {
				fmt.Println("charging with a key of", len(idempotency.ProviderKey(ctx)), "characters")
				return Charge{ID: "ch_1"}, nil
			})
		fmt.Println(charge.ID, outcome.Source, err)
	}
	// Output:
	// charging with a key of 36 characters
	// ch_1 executed <nil>
	// ch_1 replayed <nil>
}

// busy is a coordinator of which another worker has the claim.
type busy struct{}

func (busy) Do(context.Context, idempotency.Request, idempotency.Action) (idempotency.Outcome, error) {
	return idempotency.Outcome{}, &idempotency.InProgressError{RetryAfter: 2500 * time.Millisecond}
}

// A service answers 409 and says when to ask again at the latest. It is no
// failure of the charge: the client keeps the key, and asks again.
func ExampleInProgressError() {
	fingerprint, err := idempotency.FingerprintFields(map[string]any{"amount": 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	request := idempotency.Request{Operation: "charge.create", Key: "k1", Fingerprint: fingerprint}

	_, _, err = idempotency.Do(context.Background(), busy{}, request,
		func(context.Context) (string, error) { return "ch_1", nil })

	if running, ok := errors.AsType[*idempotency.InProgressError](err); ok {
		seconds := (running.RetryAfter + time.Second - 1) / time.Second // never too early
		fmt.Printf("409 Conflict, Retry-After: %d\n", seconds)
	}
	fmt.Println(errors.Is(err, idempotency.ErrInProgress))
	// Output:
	// 409 Conflict, Retry-After: 3
	// true
}

// Only the named fields say whether a retry is the same request.
func ExampleFingerprintJSON() {
	names := []string{"amount", "card.last4"}
	first, _ := idempotency.FingerprintJSON([]byte(`{"amount":100,"card":{"last4":"4242"},"sent":1}`), names...)
	retry, _ := idempotency.FingerprintJSON([]byte(`{"sent":2, "card":{"last4":"4242"}, "amount":1e2}`), names...)
	other, _ := idempotency.FingerprintJSON([]byte(`{"amount":5,"card":{"last4":"4242"},"sent":1}`), names...)
	fmt.Println(first == retry, first == other)

	_, err := idempotency.FingerprintJSON([]byte(`{"amount":9007199254740993}`), names...)
	fmt.Println(errors.Is(err, idempotency.ErrInvalidFingerprint))
	// Output:
	// true false
	// true
}
