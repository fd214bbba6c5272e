package providerhttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/idemrace/idemrace/fakeprovider"
)

// Control is how a provider that stands alone is told what to do: below /control.
//
//	POST /control/script   [{"fail": "decline"}, {"before": "300ms"}]   the next calls
//	POST /control/default  {"after": "1s"}                              all others
//	POST /control/hold     {"calls": 2}                                 the next calls are held
//	POST /control/release  {"call": 1}, or {} for all
//	GET  /control/state
func Control(p *fakeprovider.Provider) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /control/script", command(func(list []behaviour) (any, error) {
		for _, b := range list {
			one, err := b.made()
			if err != nil {
				return nil, err
			}
			p.Script(one)
		}
		return map[string]int{"scripted": len(list)}, nil
	}))
	mux.HandleFunc("POST /control/default", command(func(b behaviour) (any, error) {
		one, err := b.made()
		if err == nil {
			p.SetDefault(one)
		}
		return map[string]bool{"set": true}, err
	}))
	mux.HandleFunc("POST /control/hold", command(func(h struct {
		Calls int `json:"calls"`
	}) (any, error) {
		if h.Calls < 1 {
			return nil, errors.New(`say how many: {"calls": 1}`)
		}
		p.HoldNext(h.Calls)
		return map[string]int{"hold": h.Calls}, nil
	}))
	mux.HandleFunc("POST /control/release", command(func(r struct {
		Call int `json:"call"`
	}) (any, error) {
		if r.Call == 0 {
			return map[string]int{"released": p.Release(0)}, nil
		}
		if !p.ReleaseCall(r.Call) {
			return nil, fmt.Errorf("call %d is not held", r.Call)
		}
		return map[string]int{"released": 1}, nil
	}))
	mux.HandleFunc("GET /control/state", func(w http.ResponseWriter, _ *http.Request) {
		c := p.Counts()
		answer(w, http.StatusOK, map[string]int{"attempts": c.Attempts, "failures": c.Failures, "charges": c.Charges, "voids": c.Voids, "open": p.Open()})
	})
	mux.HandleFunc("/control/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "not_found", "there is no "+r.Method+" "+r.URL.Path+"; there are script, default, hold, release (POST) and state (GET)")
	})
	return mux
}

// behaviour is a fakeprovider.Behaviour as a person writes it.
type behaviour struct {
	Before    string `json:"before"`
	After     string `json:"after"`
	Hold      bool   `json:"hold"`
	HoldAfter bool   `json:"hold-after"`
	Fail      string `json:"fail"`
}

func (b behaviour) made() (fakeprovider.Behaviour, error) {
	out := fakeprovider.Behaviour{Hold: b.Hold, HoldAfter: b.HoldAfter}
	var err error
	for _, d := range []struct {
		text string
		to   *time.Duration
	}{{b.Before, &out.Before}, {b.After, &out.After}} {
		if d.text == "" {
			continue
		}
		if *d.to, err = time.ParseDuration(d.text); err != nil {
			return out, fmt.Errorf("%q is no time; write e.g. 300ms", d.text)
		}
	}
	out.Fail, err = Failure(b.Fail)
	return out, err
}

// Failures are the words for Behaviour.Fail.
func Failures() []string {
	var words []string
	for _, f := range []fakeprovider.Fail{fakeprovider.Decline, fakeprovider.ErrorBefore, fakeprovider.TimeoutBefore, fakeprovider.ErrorAfter, fakeprovider.LoseAnswer, fakeprovider.HangAfter} {
		words = append(words, string(f))
	}
	return words
}

// Failure is a failure by its word; "" is none.
func Failure(word string) (fakeprovider.Fail, error) {
	for _, known := range append([]string{""}, Failures()...) {
		if word == known {
			return fakeprovider.Fail(word), nil
		}
	}
	return "", fmt.Errorf("the failure %q is not known; there are %s", word, strings.Join(Failures(), ", "))
}

// command decodes a body strictly, and answers what do says.
func command[T any](do func(T) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var v T
		dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyMax))
		dec.DisallowUnknownFields()
		err := dec.Decode(&v)
		if errors.Is(err, io.EOF) {
			err = nil // nothing is said of it
		}
		var out any
		if err == nil {
			out, err = do(v)
		}
		if err != nil {
			refuse(w, http.StatusBadRequest, "invalid_request", err.Error())
			return
		}
		answer(w, http.StatusOK, out)
	}
}
