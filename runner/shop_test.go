package runner_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tidwall/gjson"
)

// badShop is the service that this test binary is when SHOP_MODE is set.
func badShop(mode string) {
	var one sync.Mutex
	var known sync.Map
	var served atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /charges", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		key := r.Header.Get("Idempotency-Key")
		if served.Add(1); mode == "dies" && served.Load() > 20 {
			fmt.Fprintln(os.Stderr, "out of memory")
			os.Exit(3)
		}
		if mode == "serialises" {
			one.Lock()
			defer one.Unlock()
		}
		if id, ok := known.Load(key); ok && mode != "never-replays" {
			fmt.Fprintf(w, `{"id": %q}`, id)
			return
		} else if ok {
			http.Error(w, "done already", http.StatusConflict)
			return
		}
		id, err := pay(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		known.Store(key, id)
		fmt.Fprintf(w, `{"id": %q}`, id)
	})
	_ = http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), mux)
}

func pay(body []byte) (string, error) {
	resp, err := http.Post(os.Getenv("PROVIDER_URL")+"/charges", "application/json", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode/100 != 2 {
		return "", fmt.Errorf("provider: %d %s", resp.StatusCode, strings.TrimSpace(string(text)))
	}
	return gjson.GetBytes(text, "id").String(), nil
}
