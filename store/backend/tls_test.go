package backend

import (
	"crypto/tls"
	"net/http/httptest"
	"testing"

	"github.com/alicebob/miniredis/v2"
)

// tlsServer is a Redis over TLS with password hunter2. Its certificate is the
// one that net/http's tests bring along, so no system trusts it.
func tlsServer(t *testing.T) (addr string) {
	t.Helper()
	web := httptest.NewTLSServer(nil)
	certificates := web.TLS.Certificates
	web.Close()
	m, err := miniredis.RunTLS(&tls.Config{Certificates: certificates})
	if err != nil {
		t.Fatal(err)
	}
	m.RequireAuth("hunter2")
	t.Cleanup(m.Close)
	return m.Addr()
}
