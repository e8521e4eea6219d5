// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// trust holds the authorities that the sidecar accepts when it calls others: the public
// ones, those of the trust bundle, and the issuer of the sidecar's own certificate. Its
// methods are safe for concurrent use.
type trust struct {
	mu sync.Mutex
	// bundle and issuer are PEM.
	bundle, issuer []byte
	// pool has all of them; nil stands for the public ones alone.
	pool *x509.CertPool
	// registry verifies the registry, if the sidecar configuration names authorities for it.
	registry *registryTrust
}

// registryTrust has the authorities that verify the registry, and no other server.
type registryTrust struct {
	// address is the host and port of the registry.
	address string
	pool    *x509.CertPool
	// additional has the certificates of pool in PEM if the authorities of the sidecar verify
	// the registry, too; else it is nil.
	additional []byte
}

// newRegistryTrust returns the authorities of a gateway's configuration, nil for none.
func newRegistryTrust(g *sidecarconfig.Gateway) (*registryTrust, error) {
	if g == nil || g.RegistryCA == "" {
		return nil, nil
	}
	pool, err := egress.ParseAuthorities([]byte(g.RegistryCA))
	if err != nil {
		return nil, fmt.Errorf("gateway.registryCa %w", err)
	}
	u, err := url.Parse(g.RegistryURL)
	if err != nil {
		return nil, fmt.Errorf("gateway.registryUrl: %w", err)
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	r := &registryTrust{address: net.JoinHostPort(u.Hostname(), port), pool: pool}
	if g.RegistryCAAdditional {
		r.additional = []byte(g.RegistryCA)
	}
	return r, nil
}

// setRegistry replaces the authorities of the registry.
func (t *trust) setRegistry(r *registryTrust) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.registry = r
}

// setBundle replaces the authorities of the trust bundle, in PEM.
func (t *trust) setBundle(pem []byte) error { return t.set(&t.bundle, pem) }

// setIssuer replaces the issuer of the sidecar's own certificate, in PEM.
func (t *trust) setIssuer(pem []byte) error { return t.set(&t.issuer, pem) }

func (t *trust) set(which *[]byte, pem []byte) error {
	if _, err := egress.ParseAuthorities(pem); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	*which = pem
	pool := publicAuthorities()
	pool.AppendCertsFromPEM(t.bundle)
	pool.AppendCertsFromPEM(t.issuer)
	t.pool = pool
	return nil
}

// publicAuthorities returns those of the image, which may have none.
func publicAuthorities() *x509.CertPool {
	if pool, err := x509.SystemCertPool(); err == nil {
		return pool
	}
	return x509.NewCertPool()
}

func (t *trust) roots() *x509.CertPool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pool
}

// rootsOf returns the authorities that verify the server at an address, host and port.
func (t *trust) rootsOf(address string) *x509.CertPool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.registry == nil || t.registry.address != address {
		return t.pool
	}
	if t.registry.additional == nil {
		return t.registry.pool
	}
	pool := publicAuthorities()
	if t.pool != nil {
		pool = t.pool.Clone()
	}
	pool.AppendCertsFromPEM(t.registry.additional)
	return pool
}

// dialTimeout bounds the TCP connect, and the TLS handshake after it.
const dialTimeout = 5 * time.Second

// dialer refuses link-local and metadata addresses: an issuer chooses the address of
// its keys, and no configuration names such an address.
var dialer = &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second, Control: egress.OffLink}

// dial connects to an address that the configuration or an issuer names. It makes names
// absolute: the resolver of a pod tries them below its search domains first, and a
// domain there that answers for every name would get requests for other agents.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	return dialer.DialContext(ctx, network, absolute(address))
}

// absolute appends a dot to the host of an address, unless the host is an IP address or
// a name that needs a search domain.
func absolute(address string) string {
	host, port, err := net.SplitHostPort(address)
	switch {
	case err != nil, net.ParseIP(host) != nil, !strings.Contains(host, "."), strings.HasSuffix(host, "."), strings.HasSuffix(host, ".svc"):
		return address
	}
	return net.JoinHostPort(host+".", port)
}

// dialTLS returns an http.Transport.DialTLSContext that uses the authorities of the
// moment; the TLS configuration of a transport cannot be replaced.
func (t *trust) dialTLS(protocols ...string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			host = address
		}
		secure := tls.Client(raw, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, RootCAs: t.rootsOf(address), NextProtos: protocols})
		handshake, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		if err := secure.HandshakeContext(handshake); err != nil {
			_ = raw.Close()
			return nil, err
		}
		return secure, nil
	}
}
