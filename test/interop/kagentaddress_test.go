// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// TestAddressesOfKagent calls an agent at the address that it had at kagent, /api/a2a/{namespace}/{name}/, through a Gateway that removes
// this prefix, as the HTTPRoute of spec.exposure.path does. a2a-go 0.3 is the client library of kagent 0.10.
func TestAddressesOfKagent(t *testing.T) {
	const prefix = "/api/a2a/team/echo"
	for _, c := range goClients {
		if c.binding == "gRPC" {
			continue // kagent serves JSON-RPC
		}
		t.Run(c.name+" "+c.protocol+" "+c.binding, func(t *testing.T) {
			listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			base := "http://" + listener.Addr().String() + prefix
			agent := sidecartest.Start(t, sidecartest.TextAgent, func(_ *sidecartest.Fixture, config *sidecarconfig.Config) {
				config.Bases = []card.Base{card.NewBase(base + "/")}
			})
			to, err := url.Parse(agent.URL)
			if err != nil {
				t.Fatal(err)
			}
			transport := &http.Transport{}
			gateway := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.StripPrefix(prefix, &httputil.ReverseProxy{
				Rewrite: func(r *httputil.ProxyRequest) {
					r.SetURL(to)
					r.Out.Host = r.In.Host
				},
				FlushInterval: -1, Transport: transport,
			})}
			served := make(chan struct{})
			go func() { defer close(served); _ = gateway.Serve(listener) }()
			t.Cleanup(func() { _ = gateway.Close(); <-served; transport.CloseIdleConnections() })
			client, err := c.open(t.Context(), target{client: sidecartest.Client(t), url: base})
			if err != nil {
				t.Fatal(err)
			}
			got, err := collect(client.stream(t.Context(), message{Text: "Hi"}))
			if err != nil || summary(got) == "" {
				t.Errorf("stream = %q, %v", summary(got), err)
			}
			if one, err := client.send(t.Context(), message{Text: "Hi"}); err != nil || one.State != "completed" {
				t.Errorf("send = %+v, %v", one, err)
			}
		})
	}
}
