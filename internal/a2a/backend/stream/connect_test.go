// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/test/freeport"
)

// lateListener is a transport to an agent that is still starting: it refuses the first
// connections.
type lateListener struct {
	http.RoundTripper
	refuse  int32
	refused atomic.Int32
}

func (o *lateListener) RoundTrip(r *http.Request) (*http.Response, error) {
	if o.refused.Add(1) <= o.refuse {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	return o.RoundTripper.RoundTrip(r)
}

// TestRefusedConnectionsAreRetried checks that the client retries with backoff until the
// connect timeout, and that the agent receives the request once.
func TestRefusedConnectionsAreRetried(t *testing.T) {
	var received atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { received.Add(1) }))
	defer server.Close()
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	late := &lateListener{RoundTripper: server.Client().Transport, refuse: 3}
	resp, err := stream.New(late, stream.Limits{Connect: time.Minute}).Do(t.Context(), &stream.Request{Method: http.MethodPost, URL: at, Header: http.Header{}, Body: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	stream.CloseResponse(resp)
	if received.Load() != 1 || late.refused.Load() != 4 {
		t.Errorf("the agent received %d requests after %d attempts", received.Load(), late.refused.Load())
	}
}

// TestLateListenerIsReached opens the listener of a real socket while the client retries.
func TestLateListenerIsReached(t *testing.T) {
	address := freeport.Address(t)
	c := stream.New(nil, stream.Limits{Connect: time.Minute})
	defer c.Close()
	answered := make(chan error, 1)
	refused := make(chan struct{})
	go func() {
		// Wait until a first connection is refused.
		if conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address); err == nil {
			_ = conn.Close()
		}
		close(refused)
		resp, err := c.Do(t.Context(), &stream.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: address, Path: "/"}})
		if err == nil {
			stream.CloseResponse(resp)
		}
		answered <- err
	}()
	<-refused
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	if err := <-answered; err != nil {
		t.Errorf("Do() error = %v", err)
	}
}
