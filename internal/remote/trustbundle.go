// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/go-logr/logr"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
)

// maxBundle is the most bytes of a trust bundle, which is mounted from a ConfigMap.
const maxBundle = 2 << 20

// TrustBundle is the set of certificate authorities that verify remote agents: those of the system, and those of
// a file of PEM certificates.
//
// Every connection reads the file, so a change that the kubelet mounts takes effect at once; the cost is small
// beside a TLS handshake. A file that cannot be read or parsed is logged once, and the former authorities stay
// in use. A TrustBundle is safe for concurrent use.
type TrustBundle struct {
	file string
	log  logr.Logger

	mu sync.Mutex
	// last is the content that was read last, or the text of the error, so that each is parsed and logged once.
	last []byte
	pool *x509.CertPool
}

// LoadTrustBundle reads a file of PEM certificates. It fails if the file cannot be read, is larger than
// maxBundle, or holds anything but certificates.
func LoadTrustBundle(file string, log logr.Logger) (*TrustBundle, error) {
	text, err := readBundle(file)
	if err != nil {
		return nil, err
	}
	pool, err := withSystemRoots(text)
	if err != nil {
		return nil, fmt.Errorf("%s %w", file, err)
	}
	return &TrustBundle{file: file, log: log, last: text, pool: pool}, nil
}

// Roots returns the authorities of the system and those that the file holds now.
func (a *TrustBundle) Roots() *x509.CertPool {
	a.mu.Lock()
	defer a.mu.Unlock()
	text, err := readBundle(a.file)
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

func readBundle(name string) ([]byte, error) {
	file, err := os.Open(name) //nolint:gosec // a flag of the manager names the file
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // the file was only read
	text, err := io.ReadAll(io.LimitReader(file, maxBundle+1))
	if err == nil && len(text) > maxBundle {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxBundle)
	}
	return text, err
}

// withSystemRoots returns the authorities of the system and those of a bundle.
func withSystemRoots(bundle []byte) (*x509.CertPool, error) {
	if _, err := egress.ParseAuthorities(bundle); err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		// The image has no authorities of its own. The bundle alone is in use.
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM(bundle)
	return pool, nil
}
