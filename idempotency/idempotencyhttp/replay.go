package idempotencyhttp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/idemrace/idemrace/idempotency"
)

// magic is how a kept answer begins: then comes its head, a line of JSON, and then
// its body as it is.
const magic = "idempotencyhttp/1 "

// head is what is kept of an answer besides its body.
type head struct {
	Status  int         `json:"status"`
	Header  http.Header `json:"header,omitempty"`
	Omitted bool        `json:"body_omitted,omitempty"`
}

// encode is an answer as it is kept: without its body, if with it it would be over
// the limit.
func encode(c *recording, keep []string, limit int) []byte {
	h := head{Status: c.status, Header: http.Header{}}
	for _, name := range keep {
		if values, ok := c.sent[name]; ok {
			h.Header[name] = values
		}
	}
	whole := append(h.line(), c.body.Bytes()...)
	if len(whole) <= limit || c.body.Len() == 0 {
		return whole
	}
	h.Omitted = true
	return h.line()
}

func (h head) line() []byte {
	line, _ := json.Marshal(h) // numbers, strings and a bool always marshal
	return append(append([]byte(magic), line...), '\n')
}

// decode reads a kept answer. What does not begin as one was kept by somebody else
// who used the same coordinator for the same request. It is a success, since only
// those are kept, and it is the body.
func decode(result []byte) (h head, body []byte, err error) {
	rest, ours := bytes.CutPrefix(result, []byte(magic))
	if !ours {
		h := head{Status: http.StatusOK, Header: http.Header{}}
		if json.Valid(result) {
			h.Header.Set("Content-Type", "application/json")
		}
		return h, result, nil
	}
	line, body, _ := bytes.Cut(rest, []byte("\n"))
	if err := json.Unmarshal(line, &h); err != nil {
		return head{}, nil, fmt.Errorf("%w: %w", idempotency.ErrResultUnreadable, err)
	}
	if h.Status < 200 || h.Status > 999 {
		return head{}, nil, fmt.Errorf("%w: status %d", idempotency.ErrResultUnreadable, h.Status)
	}
	return h, body, nil
}

// replay gives the client an answer that is kept, as the coordinator gives it back.
func (m Middleware) replay(w http.ResponseWriter, r *http.Request, out idempotency.Outcome) {
	kept, body, err := decode(out.Result)
	if err != nil {
		m.refuse(w, r, err)
		return
	}
	for name, values := range kept.Header {
		w.Header()[name] = values
	}
	if out.Source != idempotency.Executed && out.Source != idempotency.Unprotected {
		w.Header().Set(ReplayedHeader, "true")
	}
	if kept.Omitted {
		w.Header().Set(OmittedHeader, "true")
	}
	w.WriteHeader(kept.Status)
	if hasBody(kept.Status) {
		_, _ = w.Write(body) // a client that has left can come again
	}
	m.Logger.Log(r.Context(), slog.LevelDebug, "idempotency: replayed", "operation", m.Operation(r), "source", out.Source, "status", kept.Status)
}
