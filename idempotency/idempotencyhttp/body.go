package idempotencyhttp

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/idemrace/idemrace/idempotency"
)

var (
	errBodyTooLarge = errors.New("the body is too large")
	errBodySlow     = errors.New("the body did not come in time")
	errBodyBroken   = errors.New("the body did not come whole")
)

// readBody reads all of it: the fingerprint needs it, and the server only notices
// that a client has left when there is nothing more to be read.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		return body, nil
	case errors.As(err, &tooLarge):
		return nil, errBodyTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, errBodySlow
	}
	return nil, errBodyBroken
}

// fieldsAndPath makes fingerprints of named members and of the path, since a
// pattern may stand for the captures of all charges.
func fieldsAndPath(fields []string) func(*http.Request, []byte) (idempotency.Fingerprint, error) {
	names := []string{"path"}
	for _, f := range fields {
		names = append(names, "body."+f)
	}
	return func(r *http.Request, body []byte) (idempotency.Fingerprint, error) {
		if _, err := idempotency.FingerprintJSON(body, fields...); err != nil {
			return idempotency.Fingerprint{}, err // in the words of the payload, and not of what is made of it here
		}
		path, err := json.Marshal(r.URL.EscapedPath())
		if err != nil {
			return idempotency.Fingerprint{}, err
		}
		whole := append([]byte(`{"path":`), path...)
		whole = append(append(append(whole, `,"body":`...), body...), '}')
		return idempotency.FingerprintJSON(whole, names...)
	}
}
