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

// maxAuthorities bounds a file of authorities, which is mounted from a
// ConfigMap.
const maxAuthorities = 2 << 20

// Authorities are those that vouch for remote agents: the system's, and those
// of a file beside them.
//
// The file is read for each connection, which costs nothing beside its
// handshake: so what the kubelet has put there counts at once. One that cannot
// be used changes nothing.
type Authorities struct {
	file string
	log  logr.Logger

	mu sync.Mutex
	// last is what was read, or why it was not, so that it is judged once.
	last []byte
	pool *x509.CertPool
}

// ReadAuthorities returns those of a file of PEM certificates.
func ReadAuthorities(file string, log logr.Logger) (*Authorities, error) {
	text, err := readBundle(file)
	if err != nil {
		return nil, err
	}
	pool, err := besideTheSystems(text)
	if err != nil {
		return nil, fmt.Errorf("%s %w", file, err)
	}
	return &Authorities{file: file, log: log, last: text, pool: pool}, nil
}

// Roots verifies servers.
func (a *Authorities) Roots() *x509.CertPool {
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
		pool, err = besideTheSystems(text)
	}
	if err != nil {
		a.log.Error(err, "keep the former authorities of remote agents", "file", a.file)
		return a.pool
	}
	a.log.Info("took the authorities of remote agents", "file", a.file)
	a.pool = pool
	return pool
}

func readBundle(name string) ([]byte, error) {
	file, err := os.Open(name) //nolint:gosec // whoever starts the manager names it
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxAuthorities+1))
	if err == nil && len(text) > maxAuthorities {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxAuthorities)
	}
	return text, err
}

// besideTheSystems adds a bundle to the authorities of the system.
func besideTheSystems(bundle []byte) (*x509.CertPool, error) {
	if _, err := egress.ParseAuthorities(bundle); err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		// An image without any is no reason to trust nobody.
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM(bundle)
	return pool, nil
}
