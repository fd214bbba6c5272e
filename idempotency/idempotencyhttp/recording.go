package idempotencyhttp

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/idemrace/idemrace/idempotency"
)

// recording is a handler's answer, held back. It is the handler's ResponseWriter.
// It does not unwrap: a http.ResponseController finds Flush here, and nothing else.
type recording struct {
	header http.Header // the handler's to change
	sent   http.Header // as it was when the status was written
	status int         // 0 until then
	body   bytes.Buffer

	// How it ended.
	err      error  // the action's; nil: the answer is to be kept
	result   []byte // as handed to the coordinator
	panicked bool
	panic    any
}

var _ http.Flusher = (*recording)(nil)

func (c *recording) Header() http.Header { return c.header }

// WriteHeader takes the first final status. Informational ones are dropped: nobody
// is there to hear them before the answer is kept.
func (c *recording) WriteHeader(status int) {
	switch {
	case status < 100 || status > 999:
		panic(fmt.Sprintf("idempotencyhttp: invalid status %d", status)) // as net/http does
	case c.status != 0:
		return
	case status == http.StatusSwitchingProtocols:
		status = http.StatusNotImplemented // the connection is not the handler's to take
	case status < 200:
		return
	}
	c.status, c.sent = status, c.header.Clone()
}

func (c *recording) Write(p []byte) (int, error) {
	if c.status == 0 {
		c.WriteHeader(http.StatusOK)
	}
	if !hasBody(c.status) {
		return 0, http.ErrBodyNotAllowed
	}
	return c.body.Write(p)
}

// Flush does nothing: an answer that is out cannot be taken back when another one
// turns out to stand.
func (c *recording) Flush() {}

// finish is called when the handler has returned.
func (c *recording) finish() {
	if c.status == 0 {
		c.WriteHeader(http.StatusOK)
	}
	// What the server would guess, so that a replay says the same.
	_, typed := c.sent["Content-Type"]
	if !typed && c.body.Len() > 0 && c.sent.Get("Content-Encoding") == "" {
		c.sent.Set("Content-Type", http.DetectContentType(c.body.Bytes()))
	}
	c.sent.Del(ReplayedHeader)
	c.sent.Del(OmittedHeader)
}

// tells reports whether the client is to get this answer: it is that of an
// execution which has failed, or it is what the coordinator gives back. A success
// that the coordinator says nothing of, or another answer than this one, has been
// overtaken.
func (c *recording) tells(out idempotency.Outcome, err error) bool {
	if c.err != nil {
		return err != nil
	}
	return err == nil && bytes.Equal(out.Result, c.result)
}

// send gives the client all of it.
func (c *recording) send(w http.ResponseWriter) {
	h := w.Header()
	clear(h)
	maps.Copy(h, c.sent)
	w.WriteHeader(c.status)
	if hasBody(c.status) {
		_, _ = w.Write(c.body.Bytes()) // a client that has left can come again
	}
	for name, values := range c.trailers() {
		h[name] = values
	}
}

// trailers are the header fields that the handler has set after its status, of
// those which it had announced.
func (c *recording) trailers() http.Header {
	late := http.Header{}
	for name, values := range c.header {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			late[name] = values
		}
	}
	for _, line := range c.sent["Trailer"] {
		for name := range strings.SplitSeq(line, ",") {
			name = http.CanonicalHeaderKey(strings.TrimSpace(name))
			if values, ok := c.header[name]; ok {
				late[name] = values
			}
		}
	}
	return late
}

// hasBody: see RFC 9110, sections 15.3.5 and 15.4.5.
func hasBody(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}
