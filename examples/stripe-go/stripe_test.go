// Package stripego uses Stripe's own Go client against the fake provider: a service
// that uses it only changes its API base.
package stripego

import (
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/stripe/stripe-go/v82"
	"github.com/stripe/stripe-go/v82/client"

	"github.com/idemrace/idemrace/fakeprovider"
	"github.com/idemrace/idemrace/fakeprovider/providerhttp"
)

// dial is Stripe's client, aimed at a fake provider.
func dial(t *testing.T, honoursKeys bool) (*client.API, *fakeprovider.Provider) {
	t.Helper()
	p := fakeprovider.New(fakeprovider.Options{HonoursKeys: honoursKeys})
	t.Cleanup(p.Close)
	s := httptest.NewServer(providerhttp.Handler(providerhttp.NewSingle(p, func(s providerhttp.Sighting) string { return s.Metadata["ref"] })))
	t.Cleanup(s.Close)
	cfg := &stripe.BackendConfig{URL: stripe.String(s.URL), MaxNetworkRetries: stripe.Int64(2), LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull}}
	backend := stripe.GetBackendWithConfig(stripe.APIBackend, cfg)
	return client.New("sk_test_123", &stripe.Backends{API: backend, Connect: backend, Uploads: backend}), p
}

func charging(amount int64, key string) *stripe.ChargeParams {
	params := &stripe.ChargeParams{Amount: stripe.Int64(amount), Currency: stripe.String("eur"), Source: &stripe.PaymentSourceSourceParams{Token: stripe.String("tok_visa")}}
	params.AddMetadata("ref", "r1")
	if key != "" {
		params.SetIdempotencyKey(key)
	}
	return params
}

func TestRetryWithTheSameKey(t *testing.T) {
	for _, honours := range []bool{true, false} {
		api, p := dial(t, honours)
		first, err := api.Charges.New(charging(100, "k1"))
		if err != nil {
			t.Fatal(err)
		}
		again, err := api.Charges.New(charging(100, "k1"))
		if err != nil {
			t.Fatal(err)
		}
		if same := first.ID == again.ID; same != honours || first.Amount != 100 || first.Metadata["ref"] != "r1" {
			t.Errorf("keys honoured %v: %s, then %s", honours, first.ID, again.ID)
		}
		if replayed := again.LastResponse.Header.Get("Idempotent-Replayed") == "true"; replayed != honours {
			t.Errorf("keys honoured %v: Idempotent-Replayed is %v", honours, replayed)
		}
		if c := p.Counts(); c.Attempts != 2 || (c.Charges == 1) != honours {
			t.Errorf("keys honoured %v: %+v", honours, c)
		}
	}
}

func TestRetryWithAnotherAmount(t *testing.T) {
	api, p := dial(t, true)
	if _, err := api.Charges.New(charging(100, "k1")); err != nil {
		t.Fatal(err)
	}
	_, err := api.Charges.New(charging(5, "k1"))
	var refused *stripe.Error
	if !errors.As(err, &refused) || refused.Type != stripe.ErrorTypeIdempotency || refused.HTTPStatusCode != 400 {
		t.Errorf("got %v", err)
	}
	if c := p.Counts(); c.Charges != 1 {
		t.Errorf("%+v", c)
	}
}

func TestProviderErrors(t *testing.T) {
	for _, row := range []struct {
		fail   fakeprovider.Fail
		status int
		kind   stripe.ErrorType
		code   stripe.ErrorCode
	}{
		{fakeprovider.Decline, 402, stripe.ErrorTypeCard, stripe.ErrorCodeCardDeclined},
		{fakeprovider.ErrorBefore, 500, stripe.ErrorTypeAPI, ""},
	} {
		api, p := dial(t, false)
		p.SetDefault(fakeprovider.Behaviour{Fail: row.fail})
		_, err := api.Charges.New(charging(100, "k1"))
		var refused *stripe.Error
		if !errors.As(err, &refused) || refused.HTTPStatusCode != row.status || refused.Type != row.kind || row.code != "" && refused.Code != row.code {
			t.Errorf("%s: %v", row.fail, err)
		}
		if c := p.Counts(); c.Charges != 0 {
			t.Errorf("%s: %+v", row.fail, c)
		}
	}
}

// The client retries by itself when an answer is lost, with a key of its own making:
// a provider that honours it charges once, one that does not charges twice.
func TestLostAnswerIsRetriedByTheClient(t *testing.T) {
	for _, honours := range []bool{true, false} {
		api, p := dial(t, honours)
		p.Script(fakeprovider.Behaviour{Fail: fakeprovider.LoseAnswer})
		if _, err := api.Charges.New(charging(100, "")); err != nil {
			t.Fatal(err)
		}
		want := 2
		if honours {
			want = 1
		}
		if c := p.Counts(); c.Attempts != 2 || c.Charges != want {
			t.Errorf("keys honoured %v: %+v", honours, c)
		}
	}
}

func TestPaymentIntentAndRefund(t *testing.T) {
	api, p := dial(t, true)
	params := &stripe.PaymentIntentParams{Amount: stripe.Int64(700), Currency: stripe.String("eur")}
	params.AddMetadata("ref", "r1")
	intent, err := api.PaymentIntents.New(params)
	if err != nil {
		t.Fatal(err)
	}
	if c := p.Counts(); c.Charges != 0 || intent.Status != stripe.PaymentIntentStatusRequiresConfirmation {
		t.Errorf("an intent that is not confirmed has charged: %+v %s", c, intent.Status)
	}
	done, err := api.PaymentIntents.Confirm(intent.ID, nil)
	if err != nil || done.Status != stripe.PaymentIntentStatusSucceeded || done.AmountReceived != 700 {
		t.Fatalf("%+v %v", done, err)
	}
	if _, err := api.Refunds.New(&stripe.RefundParams{PaymentIntent: stripe.String(done.ID)}); err != nil {
		t.Fatal(err)
	}
	if c := p.Counts(); c.Charges != 1 || c.Voids != 1 {
		t.Errorf("%+v", c)
	}
}
