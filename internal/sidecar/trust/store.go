// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trust holds the certificate authorities that a sidecar accepts when it calls
// servers, and connects to servers with them.
package trust

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/kit/tlslimits"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// Store holds the certificate authorities that the sidecar accepts when it calls servers:
// the public authorities, the trust bundle, and the issuer of the sidecar's own
// certificate. The zero value accepts the public authorities. Its methods are safe for
// concurrent use.
type Store struct {
	mu sync.Mutex
	// bundle and issuer are certificates in PEM.
	bundle, issuer []byte
	// pool contains all of these authorities. If it is nil, only the public authorities are
	// accepted.
	pool *x509.CertPool
	// registry contains the authorities of the registry. It is nil if the sidecar
	// configuration has none.
	registry *Registry
	// proxy carries connections to public servers, nil for none.
	proxy atomic.Pointer[egress.Proxy]
	// client is the certificate of the sidecar for agents, nil for none.
	client atomic.Pointer[ClientCertificate]
}

// SetClientCertificate sets the certificate for agents that ask for one.
func (s *Store) SetClientCertificate(c *ClientCertificate) { s.client.Store(c) }

// ClientCertificate returns the certificate for agents that ask for one, nil for none.
func (s *Store) ClientCertificate() *ClientCertificate { return s.client.Load() }

// SetProxy replaces the proxy for public https servers. Nil means none.
func (s *Store) SetProxy(p *egress.Proxy) { s.proxy.Store(p) }

// Proxy returns the proxy for public https servers, nil for none.
func (s *Store) Proxy() *egress.Proxy { return s.proxy.Load() }

// SetRegistry replaces the authorities of the registry. Nil means that the other
// authorities verify the registry.
func (s *Store) SetRegistry(r *Registry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.registry = r
}

// SetBundle replaces the trust bundle, which is in PEM.
func (s *Store) SetBundle(pem []byte) error { return s.set(&s.bundle, pem) }

// SetIssuer replaces the issuer of the sidecar's own certificate, which is in PEM.
func (s *Store) SetIssuer(pem []byte) error { return s.set(&s.issuer, pem) }

func (s *Store) set(which *[]byte, pem []byte) error {
	if _, err := egress.ParseAuthorities(pem); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	*which = pem
	pool := publicAuthorities()
	pool.AppendCertsFromPEM(s.bundle)
	pool.AppendCertsFromPEM(s.issuer)
	s.pool = pool
	return nil
}

// publicAuthorities returns the authorities in the container image. The image may have
// none.
func publicAuthorities() *x509.CertPool {
	if pool, err := x509.SystemCertPool(); err == nil {
		return pool
	}
	return x509.NewCertPool()
}

// Roots returns the authorities that verify servers other than the registry. Nil means the
// public authorities.
func (s *Store) Roots() *x509.CertPool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pool
}

// rootsOf returns the authorities that verify the server at address, a host and port. Nil
// means the public authorities.
func (s *Store) rootsOf(address string) *x509.CertPool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.registry == nil || s.registry.address != address {
		return s.pool
	}
	if s.registry.additional == nil {
		return s.registry.pool
	}
	pool := publicAuthorities()
	if s.pool != nil {
		pool = s.pool.Clone()
	}
	pool.AppendCertsFromPEM(s.registry.additional)
	return pool
}

// Registry contains the authorities that verify the registry and no other server.
type Registry struct {
	// address is the host and port of the registry.
	address string
	pool    *x509.CertPool
	// additional contains the certificates of pool in PEM if the Store's other authorities
	// verify the registry, too. Otherwise it is nil.
	additional []byte
}

// NewRegistry returns the registry's authorities in the configuration of a gateway,
// or nil if there are none.
func NewRegistry(g *sidecarconfig.Gateway) (*Registry, error) {
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
	r := &Registry{address: net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443")), pool: pool}
	if g.RegistryCAAdditional {
		r.additional = []byte(g.RegistryCA)
	}
	return r, nil
}

// dialTimeout bounds the time of the TCP connect. It also bounds the TLS handshake that
// follows.
const dialTimeout = 5 * time.Second

// dialer refuses link-local and metadata addresses with egress.ErrDenied, because an
// issuer chooses the address of its keys. No configuration needs these addresses.
var dialer = &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second, Control: egress.OffLink}

// Dial connects to an address that comes from the configuration or an issuer. It makes
// names absolute, because the resolver of a pod would try them in its search domains first.
// A search domain that answers for every name would then receive the requests.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return dialer.DialContext(ctx, network, absolute(address))
}

// absolute appends a dot to the host of an address. It does not change IP addresses,
// hosts with a dot at their end, and names that the resolver finds only by a search
// domain: names without a dot, and names that end in .svc.
func absolute(address string) string {
	host, port, err := net.SplitHostPort(address)
	switch {
	case err != nil, net.ParseIP(host) != nil, !strings.Contains(host, "."), strings.HasSuffix(host, "."), strings.HasSuffix(host, ".svc"):
		return address
	}
	return net.JoinHostPort(host+".", port)
}

// DialTLS returns a function for http.Transport.DialTLSContext. For each connection, it
// uses the authorities and the proxy that the Store has at that time. TLSClientConfig would not do,
// because the TLS configuration of a transport cannot be replaced.
func (s *Store) DialTLS() func(ctx context.Context, network, address string) (net.Conn, error) {
	return s.dialTLS(func() *ClientCertificate { return nil })
}

// DialAgents is DialTLS for the agents of the cluster and the registry, which get the client certificate if they ask for one.
func (s *Store) DialAgents() func(ctx context.Context, network, address string) (net.Conn, error) {
	return s.dialTLS(s.ClientCertificate)
}

func (s *Store) dialTLS(own func() *ClientCertificate) func(ctx context.Context, network, address string) (net.Conn, error) {
	dial := egress.DialThrough(s.Proxy, Dial)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			host = address
		}
		config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, RootCAs: s.rootsOf(address), NextProtos: []string{"http/1.1"}}
		if certificate := own(); certificate != nil {
			config.GetClientCertificate = func(r *tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate.Current(r.Context()) }
		}
		handshake, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		secure, err := tlslimits.Client(handshake, raw, config)
		if err != nil {
			return nil, err
		}
		return secure, nil
	}
}
