// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// BenchmarkRequest compares requests to a Server with those to an http.Server without limits, over connections that stay open. Both
// answer 1 KB in ten writes.
func BenchmarkRequest(b *testing.B) {
	part := strings.Repeat("x", 100)
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 10 {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
		}
	})
	for _, protocol := range []string{"HTTP1", "HTTP2"} {
		transport := &http.Transport{Protocols: new(http.Protocols)}
		transport.Protocols.SetHTTP1(protocol == "HTTP1")
		transport.Protocols.SetUnencryptedHTTP2(protocol == "HTTP2")
		client := &http.Client{Transport: transport}
		bench := func(name, address string) {
			b.Run(protocol+"/"+name, func(b *testing.B) {
				for b.Loop() {
					response, err := client.Get("http://" + address)
					if err != nil {
						b.Fatal(err)
					}
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
				transport.CloseIdleConnections()
			})
		}
		listen := func() net.Listener {
			l, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			return l
		}
		unlimited := &http.Server{Handler: handler, Protocols: new(http.Protocols), ReadHeaderTimeout: time.Minute}
		unlimited.Protocols.SetHTTP1(true)
		unlimited.Protocols.SetUnencryptedHTTP2(true)
		plain := listen()
		go func() { _ = unlimited.Serve(plain) }()
		bench("unlimited", plain.Addr().String())
		_ = unlimited.Close()

		ctx, cancel := context.WithCancel(b.Context())
		l := listen()
		ended := make(chan error, 1)
		server := New(Options{Name: "bench" + strings.ToLower(protocol), Memory: memoryFor(40), HTTP2: true, Handler: handler})
		go func() { ended <- server.Run(ctx, l, time.Minute) }()
		bench("limited", l.Addr().String())
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}
}
