// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trust holds the certificate authorities that a sidecar accepts when it calls
// servers, and connects to servers with them.
package trust

import (
	"crypto/x509"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
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
	// registry contains the authorities of the registry. It is nil unless the sidecar
	// configuration has some.
	registry *Registry
}

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
