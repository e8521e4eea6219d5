// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
)

// dialTimeout bounds the time of the TCP connect. It also bounds the TLS handshake that
// follows.
const dialTimeout = 5 * time.Second

// dialer refuses link-local and metadata addresses. An issuer chooses the address of its
// keys, and no configuration contains such an address.
var dialer = &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second, Control: egress.OffLink}

// Dial connects to an address that comes from the configuration or an issuer. It makes
// names absolute, because the resolver of a pod would try them in its search domains first.
// A search domain that answers for every name would then receive the requests.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return dialer.DialContext(ctx, network, absolute(address))
}

// absolute appends a dot to the host of an address, unless the host is an IP address or a
// name that the resolver finds only by a search domain.
func absolute(address string) string {
	host, port, err := net.SplitHostPort(address)
	switch {
	case err != nil, net.ParseIP(host) != nil, !strings.Contains(host, "."), strings.HasSuffix(host, "."), strings.HasSuffix(host, ".svc"):
		return address
	}
	return net.JoinHostPort(host+".", port)
}

// DialTLS returns a function for http.Transport.DialTLSContext that uses the present
// authorities for each connection. The TLS configuration of a transport cannot be
// replaced.
func (s *Store) DialTLS(protocols ...string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := Dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			host = address
		}
		secure := tls.Client(raw, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, RootCAs: s.rootsOf(address), NextProtos: protocols})
		handshake, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		if err := secure.HandshakeContext(handshake); err != nil {
			_ = raw.Close()
			return nil, err
		}
		return secure, nil
	}
}
