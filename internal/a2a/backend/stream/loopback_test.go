// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// TestAgentAtTheIPv6Loopback checks that an agent is found that listens at ::1 only, as Node programs
// that listen at localhost may do.
func TestAgentAtTheIPv6Loopback(t *testing.T) {
	listener, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("the machine has no IPv6 loopback:", err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hi")
	})}}
	server.Start()
	defer server.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := New(nil, Limits{})
	defer c.Close()
	resp, err := c.Do(t.Context(), &Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: "127.0.0.1:" + port, Path: "/"}})
	if err != nil {
		t.Fatal(err)
	}
	CloseResponse(resp)
}
