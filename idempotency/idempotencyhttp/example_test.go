package idempotencyhttp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/idemrace/idemrace/clock"
	"github.com/idemrace/idemrace/idempotency"
	"github.com/idemrace/idemrace/idempotency/idempotencyhttp"
	"github.com/idemrace/idemrace/impl/fenced"
	"github.com/idemrace/idemrace/store/memstore"
)

// A charge that is sent twice with one key. In a service the store is redisstore,
// and the tenant comes from what authentication has put into the request.
func Example() {
	coordinator, err := fenced.New(memstore.New(clock.Real{}), clock.Real{}, fenced.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	once := idempotencyhttp.Middleware{
		Coordinator: coordinator,
		Scope:       func(*http.Request) (string, error) { return "shop-1", nil },
		Fields:      []string{"amount", "currency"},
		Required:    true,
	}
	mux := http.NewServeMux()
	mux.Handle("POST /charges", once.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("charging with a key of", len(idempotency.ProviderKey(r.Context())), "characters")
		w.Header().Set("Location", "/charges/ch_1")
		w.WriteHeader(http.StatusCreated)
	})))

	for range 2 {
		r := httptest.NewRequest(http.MethodPost, "/charges", strings.NewReader(`{"amount":100,"currency":"EUR"}`))
		r.Header.Set("Idempotency-Key", `"8e03978e-40d5-43e8-bc93-6894a57f9324"`)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Printf("%d %s, replayed: %q\n", w.Code, w.Header().Get("Location"), w.Header().Get(idempotencyhttp.ReplayedHeader))
	}
	// Output:
	// charging with a key of 36 characters
	// 201 /charges/ch_1, replayed: ""
	// 201 /charges/ch_1, replayed: "true"
}
