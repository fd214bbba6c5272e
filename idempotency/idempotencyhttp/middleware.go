// Package idempotencyhttp is the contract as net/http middleware: it stands before
// a handler that has an effect, and lets any idempotency.Coordinator see to it that
// a request which is sent again is answered, and not executed, again.
//
// Start at [Middleware]. What a client sees follows
// draft-ietf-httpapi-idempotency-key-header-07:
//
//	no key where one is required, more than one, or an invalid one   400
//	the key is in use by a request that runs                         409, Retry-After
//	the key was used with another payload                            422
//	executed, and nobody knows with what outcome                     409
//	the request that this one waited for has failed                  503, Retry-After
//	the store is down and the coordinator does not run without it    503
//	done before                                                      the first answer, Idempotent-Replayed: true
//
// Errors are problems of RFC 9457; their types are the constants of this package.
//
// # Where it stands
//
// Behind authentication and validation: a request that is refused for either must
// not take a key. Before everything that has an effect. Only the answer's status,
// body and listed header fields are kept; what must be new in each answer (cookies,
// a request id, CORS) is set by middleware that stands before this one.
//
// # What the handler meets
//
// The request's body has been read, and is there to be read again. The request's
// context has the values of the client's (and [idempotency.ProviderKey]), but does
// not end when the client hangs up: it ends when the coordinator wants the action
// to end. The response is held back until the coordinator has kept it, so Flush
// does nothing, informational (1xx) answers are dropped, and a connection cannot
// be taken over (Hijack). All of the answer is held in memory: a handler that
// streams without end must not stand here.
//
// What an answer means is said by its status ([Classify]), or by the handler
// ([NoEffect], [Unknown], [Keep]). Whatever it means, the client whose request was
// executed gets the handler's own answer. A panic is an unknown outcome; it goes on
// to the server when the coordinator has been told.
//
// The package refuses to guess: whose a request is must be said (Scope), and so
// must what defines it (Fields or Fingerprint). It never shows what is stored of
// another request, nor repeats a key in an answer or a log.
package idempotencyhttp

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/idemrace/idemrace/idempotency"
)

// Defaults, each with its reason.
const (
	// DefaultHeader is the draft's.
	DefaultHeader = "Idempotency-Key"
	// DefaultMaxBody is far more than a request for a payment has, and little enough
	// for a few thousand to be held at once.
	DefaultMaxBody = 1 << 20
	// DefaultMaxResult is what the coordinators of this module keep. One that keeps
	// less must be told of here, else it remembers of a longer answer only that there
	// was one.
	DefaultMaxResult = 64 << 10
)

// Header fields of answers.
const (
	// ReplayedHeader is "true" on an answer that another execution has made.
	ReplayedHeader = "Idempotent-Replayed"
	// OmittedHeader is "true" on a replay whose body was too large to keep: status and
	// header are the first answer's, and the body is empty.
	OmittedHeader = "Idempotent-Body-Omitted"
)

// Middleware lets a coordinator handle requests once. Coordinator, Scope, and one
// of Fields and Fingerprint are needed.
type Middleware struct {
	Coordinator idempotency.Coordinator

	// Scope says whose request it is, from its authentication. A key is its tenant's
	// own: "" is for services that have one tenant. An error is answered with 403.
	Scope func(*http.Request) (tenant string, err error)

	// Operation is the key's scope within the tenant. Default: method and pattern, if
	// a ServeMux stands before the middleware; else method and path.
	Operation func(*http.Request) string

	// Fields names the members of the JSON body that define the request, as
	// idempotency.FingerprintJSON does. The path of the URL counts too; the query does
	// not.
	Fields []string
	// Fingerprint replaces Fields. Errors are answered with 400, and if they wrap
	// idempotency.ErrInvalidFingerprint, with their text.
	Fingerprint func(r *http.Request, body []byte) (idempotency.Fingerprint, error)

	// Required refuses requests without a key. Otherwise they are served unprotected,
	// and nothing is kept of them. Safe methods (GET, HEAD, OPTIONS, TRACE) always are.
	Required bool

	// CheckKey replaces the contract's rule for keys (idempotency.Request.Validate),
	// for a service that has published a format of its own. Its error's text is shown
	// to the client.
	CheckKey func(key string) error

	// Classify says what a status means. Default: [Classify].
	Classify func(status int) error

	// Authorize is asked again before an answer is replayed: rights may have ended
	// since. An error is answered with 403.
	Authorize func(*http.Request) error

	// Headers lists the header fields to keep besides Content-Type, Content-Encoding
	// and Location, without which the body cannot be read nor its subject be found.
	// Some cannot be kept; see Wrap.
	Headers []string

	HeaderName string // of the key; default: DefaultHeader
	MaxBody    int64  // bytes of a request's body; default: DefaultMaxBody
	MaxResult  int    // bytes of an answer as it is kept; above, its body is left away; default: DefaultMaxResult

	Logger *slog.Logger // nil: no log
}

// Wrap stands before next. It panics if the middleware is not complete, or is to
// keep a header field that belongs to one answer alone (Set-Cookie, Date,
// WWW-Authenticate) or to one connection: that is the program's mistake, and is
// found when it starts.
func (m Middleware) Wrap(next http.Handler) http.Handler {
	if err := m.check(); err != nil {
		panic("idempotencyhttp: " + err.Error())
	}
	m = m.withDefaults()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, next) })
}

func (m Middleware) check() error {
	switch {
	case m.Coordinator == nil:
		return errors.New("no Coordinator")
	case m.Scope == nil:
		return errors.New("no Scope: whose a key is cannot be guessed")
	case m.Fingerprint == nil && len(m.Fields) == 0:
		return errors.New("neither Fields nor Fingerprint: what defines a request cannot be guessed")
	case m.Fingerprint != nil && len(m.Fields) > 0:
		return errors.New("both Fields and Fingerprint: one of them would be ignored")
	case m.MaxBody < 0 || m.MaxResult < 0:
		return errors.New("a negative MaxBody or MaxResult")
	}
	for _, name := range m.Headers {
		if why, refused := notKept()[http.CanonicalHeaderKey(name)]; refused {
			return fmt.Errorf("%s cannot be kept: %s", name, why)
		}
	}
	return nil
}

// notKept says which header fields must not be replayed, and why.
func notKept() map[string]string {
	const one, connection = "it belongs to one answer alone", "it belongs to one connection"
	return map[string]string{
		"Set-Cookie": one, "Date": one, "Www-Authenticate": one, "Proxy-Authenticate": one, "Authentication-Info": one,
		ReplayedHeader: one, OmittedHeader: one,
		"Connection": connection, "Keep-Alive": connection, "Transfer-Encoding": connection, "Trailer": connection,
		"Upgrade": connection, "Content-Length": connection,
	}
}

func (m Middleware) withDefaults() Middleware {
	m.HeaderName = cmp.Or(m.HeaderName, DefaultHeader)
	m.MaxBody = cmp.Or(m.MaxBody, DefaultMaxBody)
	m.MaxResult = cmp.Or(m.MaxResult, DefaultMaxResult)
	kept := []string{"Content-Type", "Content-Encoding", "Location"}
	for _, name := range m.Headers {
		kept = append(kept, http.CanonicalHeaderKey(name))
	}
	slices.Sort(kept)
	m.Headers = slices.Compact(kept)
	if m.Operation == nil {
		m.Operation = operation
	}
	if m.Fingerprint == nil {
		m.Fingerprint = fieldsAndPath(m.Fields)
	}
	if m.Classify == nil {
		m.Classify = Classify
	}
	if m.Logger == nil {
		m.Logger = slog.New(slog.DiscardHandler)
	}
	return m
}

// operation is the pattern where there is one: it names an operation, and a path
// one object of it. The path is in the fingerprint.
func operation(r *http.Request) string {
	if strings.HasPrefix(r.Pattern, r.Method+" ") {
		return r.Pattern
	}
	return r.Method + " " + cmp.Or(r.Pattern, r.URL.Path)
}

// safe methods have no effect to protect (RFC 9110, section 9.2.1).
func safe(method string) bool {
	return slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace}, method)
}

func (m Middleware) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if safe(r.Method) {
		next.ServeHTTP(w, r)
		return
	}
	if !m.Required && len(r.Header.Values(m.HeaderName)) == 0 {
		next.ServeHTTP(w, r)
		return
	}
	key, err := readKey(r.Header, m.HeaderName)
	if err != nil {
		m.refuse(w, r, err)
		return
	}
	req, body, err := m.request(w, r, key)
	if err != nil {
		m.refuse(w, r, err)
		return
	}
	e := &execution{m: m, r: r, next: next, body: body, header: w.Header().Clone()}
	out, err := m.Coordinator.Do(r.Context(), req, e.action)
	m.answer(w, r, e.last(), out, err)
}

// request is what the coordinator is told of r, and the body, which has been read.
func (m Middleware) request(w http.ResponseWriter, r *http.Request, key string) (idempotency.Request, []byte, error) {
	if m.CheckKey != nil {
		if err := m.CheckKey(key); err != nil {
			return idempotency.Request{}, nil, &idempotency.InvalidKeyError{Reason: err.Error()}
		}
	}
	tenant, err := m.Scope(r)
	if err != nil {
		return idempotency.Request{}, nil, &forbidden{err}
	}
	body, err := readBody(w, r, m.MaxBody)
	if err != nil {
		return idempotency.Request{}, nil, err
	}
	fp, err := m.Fingerprint(r, body)
	if err != nil {
		return idempotency.Request{}, nil, &badPayload{err}
	}
	req := idempotency.Request{Tenant: tenant, Operation: m.Operation(r), Key: key, Fingerprint: fp}
	if m.CheckKey == nil {
		err = req.Validate()
	}
	return req, body, err
}

// answer gives the client the answer of this request's own execution, or what
// stands in its place.
func (m Middleware) answer(w http.ResponseWriter, r *http.Request, mine *recording, out idempotency.Outcome, err error) {
	switch {
	case mine != nil && mine.panicked:
		panic(mine.panic) // the coordinator knows; now the server may
	case mine != nil && mine.tells(out, err):
		mine.send(w)
		return
	case err == nil && m.Authorize != nil:
		if denied := m.Authorize(r); denied != nil {
			err = &forbidden{denied}
		}
	}
	if err != nil {
		m.refuse(w, r, err)
		return
	}
	m.replay(w, r, out)
}
