// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/internal/a2a/http1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeResolver resolves the names of a test.
type fakeResolver map[string][]netip.Addr

func (n fakeResolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	addresses, ok := n[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return addresses, nil
}

func addresses(texts ...string) []netip.Addr {
	var all []netip.Addr
	for _, t := range texts {
		all = append(all, netip.MustParseAddr(t))
	}
	return all
}

// fakeInternet is a guard that reaches the same server at every address.
type fakeInternet struct {
	*Guard
	server *httptest.Server
	// connections counts the connections that the server accepted, and dials the attempts of
	// the guard to connect.
	connections, dials atomic.Int64
	// rewrite changes the address to which the socket connects.
	rewrite func(address string) string
}

func newFakeInternet(t *testing.T, policy *Policy, resolver Resolver, handler http.HandlerFunc) *fakeInternet {
	t.Helper()
	w := &fakeInternet{rewrite: func(address string) string { return address }}
	if handler == nil {
		handler = func(http.ResponseWriter, *http.Request) {}
	}
	w.server = httptest.NewUnstartedServer(handler)
	w.server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			w.connections.Add(1)
		}
	}
	w.server.Start()
	t.Cleanup(w.server.Close)
	w.Guard = New(Options{Policy: policy, Resolver: resolver, Cleartext: http1.Wrap})
	t.Cleanup(w.CloseIdleConnections)
	w.connect = func(ctx context.Context, network, address string, c control) (net.Conn, error) {
		w.dials.Add(1)
		if err := c(network, w.rewrite(address), nil); err != nil {
			return nil, &net.OpError{Op: "dial", Net: network, Err: err}
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", w.server.Listener.Addr().String())
	}
	return w
}

// get returns the status of the response. If there is no response, it returns 0 and the
// error.
func (w *fakeInternet) get(t *testing.T, url string) (int, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := w.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	_ = response.Body.Close()
	return response.StatusCode, nil
}

func isDenied(err error) bool { return errors.Is(err, ErrDenied) }
