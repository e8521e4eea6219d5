// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"sync"

	"github.com/go-logr/logr"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/kit/boundedfile"
)

// maxBundle is the maximum size of a trust bundle, in bytes. A ConfigMap, from which the bundle is
// mounted, is smaller.
const maxBundle = 2 << 20

// TrustBundle is the set of certificate authorities with which the operator verifies the servers of remote
// agents: the authorities of the system, and those in a file of PEM certificates.
//
// The file is read for each new connection, so that a changed file takes effect as soon as the kubelet has
// mounted it (hot reload). The read costs little compared with a TLS handshake. If the file cannot be read or
// parsed, the failure is logged once, and the earlier authorities stay in use. A TrustBundle is safe for
// concurrent use.
type TrustBundle struct {
	file string
	log  logr.Logger

	mu sync.Mutex
	// last is the content of the file at the last read, or the text of the read error. Roots compares it, so that
	// each content is parsed once and each error is logged once.
	last []byte
	pool *x509.CertPool
}

// LoadTrustBundle reads a file of PEM certificates. It returns an error if the file cannot be read, is larger
// than maxBundle, or contains anything but certificates.
func LoadTrustBundle(file string, log logr.Logger) (*TrustBundle, error) {
	text, err := boundedfile.Read(file, maxBundle)
	if err != nil {
		return nil, err
	}
	pool, err := withSystemRoots(text)
	if err != nil {
		return nil, fmt.Errorf("%s %w", file, err)
	}
	return &TrustBundle{file: file, log: log, last: text, pool: pool}, nil
}

// Roots reads the file, and returns the authorities of the system together with the authorities in
// the file.
func (a *TrustBundle) Roots() *x509.CertPool {
	a.mu.Lock()
	defer a.mu.Unlock()
	text, err := boundedfile.Read(a.file, maxBundle)
	last := text
	if err != nil {
		last = []byte(err.Error())
	}
	if bytes.Equal(last, a.last) {
		return a.pool
	}
	a.last = last
	var pool *x509.CertPool
	if err == nil {
		pool, err = withSystemRoots(text)
	}
	if err != nil {
		a.log.Error(err, "could not load the trust bundle of remote agents; the former one stays in use", "file", a.file)
		return a.pool
	}
	a.log.Info("trust bundle of remote agents reloaded", "file", a.file)
	a.pool = pool
	return pool
}

// withSystemRoots returns the authorities of the system and the authorities of a bundle.
func withSystemRoots(bundle []byte) (*x509.CertPool, error) {
	if _, err := egress.ParseAuthorities(bundle); err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		// The authorities of the system cannot be read, so only the bundle is used.
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM(bundle)
	return pool, nil
}
