// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"bytes"
	"context"
	"net/http"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/reload"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/trust"
)

// followClientCertificate makes the gateway open new connections when the certificate of the sidecar changes. An agent verifies the certificate
// of a connection with each request, so a kept connection would be refused after the end of its certificate.
func (s *Sidecar) followClientCertificate(own *trust.ClientCertificate, dir string) {
	source := &reload.Source{
		Name: "client-certificate", Directories: []string{dir},
		Read: func() (reload.Files, error) {
			current, err := own.Current(context.Background())
			return reload.Files{certificateFile: bytes.Join(current.Certificate, nil)}, err
		},
		Use: func(reload.Files) error {
			s.gatewayTransport.reconnect()
			s.translator.Reconnect()
			return nil
		},
	}
	s.metrics.Gauge("a2a_client_certificate_expiry_timestamp_seconds",
		"Time at which the client certificate that the sidecar presents to agents expires, in Unix seconds; 0 without a certificate.", func() float64 {
			if expiry := own.Expiry(); !expiry.IsZero() {
				return float64(expiry.Unix())
			}
			return 0
		})
	_ = source.Load() // neither Read nor Use fails: own logs files that cannot be used
	s.reloader.Add(source)
}

// reconnectingTransport is a transport whose connections can be replaced. It is safe for concurrent use.
type reconnectingTransport struct {
	open    func() *http.Transport
	current atomic.Pointer[http.Transport]
}

func newReconnectingTransport(open func() *http.Transport) *reconnectingTransport {
	t := &reconnectingTransport{open: open}
	t.current.Store(open())
	return t
}

// RoundTrip implements http.RoundTripper.
func (t *reconnectingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return t.current.Load().RoundTrip(r)
}

// CloseIdleConnections closes the connections without a request.
func (t *reconnectingTransport) CloseIdleConnections() { t.current.Load().CloseIdleConnections() }

// reconnect lets later requests use new connections. The former ones close when their requests have ended.
func (t *reconnectingTransport) reconnect() { t.current.Swap(t.open()).CloseIdleConnections() }
