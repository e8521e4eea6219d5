// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"bufio"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/trust"
)

// TestGatewayBoundsTheHeaderOfAResponse calls agents whose responses have headers of many bytes and of many fields.
func TestGatewayBoundsTheHeaderOfAResponse(t *testing.T) {
	transport := newReconnectingTransport(func() *http.Transport { return newGatewayTransport(&trust.Store{}, time.Time{}, time.Now) })
	defer transport.CloseIdleConnections()
	for name, test := range map[string]struct {
		fields int
		ok     bool
	}{"few": {100, true}, "many": {1000, false}, "10 MiB": {1_500_000, false}} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = listener.Close() }()
			served := make(chan struct{})
			go func() {
				defer close(served)
				c, err := listener.Accept()
				if err != nil {
					return
				}
				defer func() { _ = c.Close() }()
				_, _ = http.ReadRequest(bufio.NewReader(c))
				_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n" + strings.Repeat("abc:\r\n", test.fields) + "\r\n"))
			}()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+"/", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			response, err := transport.RoundTrip(request)
			runtime.ReadMemStats(&after)
			if (err == nil) != test.ok {
				t.Errorf("RoundTrip() = %v", err)
			}
			if err == nil {
				_ = response.Body.Close()
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 24<<20 { // the text of the server is 9 MB
				t.Errorf("%d bytes are allocated", got)
			}
			<-served
		})
	}
}
