// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serverconn has the parts of connections that only the A2A endpoint has: a replaceable
// certificate, and parked connections. It evaluates no requests.
package serverconn

import (
	"crypto/tls"
	"errors"
	"sync/atomic"
)

// TLS is the TLS configuration of a listener, for TLS 1.2 and 1.3.
type TLS struct {
	config      *tls.Config
	certificate atomic.Pointer[tls.Certificate]
}

var errNoCertificate = errors.New("no certificate")

// NewTLS returns a configuration without a certificate. requestsCert reports whether the
// server requests a certificate of clients. The handshake does not verify this certificate:
// a client whose certificate is not accepted may have another credential, and the accepted
// authorities may change during a connection.
func NewTLS(requestsCert func() bool) *TLS {
	t := &TLS{}
	certificate := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if c := t.certificate.Load(); c != nil {
			return c, nil
		}
		return nil, errNoCertificate
	}
	t.config = &tls.Config{
		MinVersion: tls.VersionTLS12,
		// These are the cipher suites of TLS 1.2 that HTTP/2 allows (RFC 9113 appendix A).
		CipherSuites: []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: certificate,
	}
	requesting := t.config.Clone()
	requesting.ClientAuth = tls.RequestClientCert
	// Without tickets, a client cannot resume a session that began when no certificate was
	// requested.
	requesting.SessionTicketsDisabled = true
	t.config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if requestsCert() {
			return requesting, nil
		}
		return nil, nil
	}
	return t
}

// Config returns the configuration for a server with HTTP/2.
func (t *TLS) Config() *tls.Config { return t.config }

// Swap replaces the certificate for new connections.
func (t *TLS) Swap(c *tls.Certificate) { t.certificate.Store(c) }
