// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serverconn

import (
	"crypto/tls"
	"errors"
	"sync/atomic"
)

// TLS is the server's side of TLS 1.2 and 1.3.
type TLS struct {
	config      *tls.Config
	certificate atomic.Pointer[tls.Certificate]
}

var errNoCertificate = errors.New("no certificate")

// NewTLS returns TLS without a certificate. asks reports whether clients are
// asked for theirs. It is not verified here: who shows one that is not accepted
// may have another credential, and what is accepted can change while a
// connection lives.
func NewTLS(asks func() bool) *TLS {
	t := &TLS{}
	certificate := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if c := t.certificate.Load(); c != nil {
			return c, nil
		}
		return nil, errNoCertificate
	}
	t.config = &tls.Config{
		MinVersion: tls.VersionTLS12,
		// Those of TLS 1.2 that HTTP/2 allows (RFC 9113 appendix A).
		CipherSuites: []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: certificate,
	}
	asking := t.config.Clone()
	asking.ClientAuth = tls.RequestClientCert
	// A session from before clients were asked would go on without a certificate.
	asking.SessionTicketsDisabled = true
	t.config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if asks() {
			return asking, nil
		}
		return nil, nil
	}
	return t
}

// Swap replaces the certificate. Connections that there are go on with theirs.
func (t *TLS) Swap(c *tls.Certificate) { t.certificate.Store(c) }
