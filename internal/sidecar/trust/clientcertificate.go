// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/kit/boundedfile"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// maxClientCertificate bounds each file of a client certificate, in bytes.
const maxClientCertificate = 64 << 10

// ClientCertificate is the certificate of the sidecar for servers that ask for one, such as an X.509-SVID. It is in a
// directory with tls.crt and tls.key, whose files change at any time. It is safe for concurrent use.
type ClientCertificate struct {
	dir   string
	hosts sidecarconfig.CertificateHosts
	log   *slog.Logger
	// read reads a file, but no more than a number of bytes.
	read func(file string, most int64) ([]byte, error)

	mu sync.Mutex
	// chain and key are the files of current. failure is the last logged one, "" after a success.
	chain, key []byte
	current    *tls.Certificate
	failure    string
}

// NewClientCertificate returns the certificate in a directory. hosts are the remote agents that get it.
func NewClientCertificate(dir string, hosts sidecarconfig.CertificateHosts, log *slog.Logger) *ClientCertificate {
	return &ClientCertificate{dir: dir, hosts: hosts, log: log, read: boundedfile.Read, current: &tls.Certificate{}}
}

// Current returns the certificate for a new connection. While the files cannot be used, it is the former one, and an empty one before the
// first. Its error is nil.
func (c *ClientCertificate) Current(ctx context.Context) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.load()
	if err != nil {
		err = c.load() // the files may have been replaced between the two reads
	}
	failure := ""
	if err != nil {
		failure = err.Error()
	}
	if failure != "" && failure != c.failure {
		c.log.WarnContext(ctx, "the client certificate of the sidecar cannot be read, and the former one stays in use", "error", failure)
	}
	c.failure = failure
	return c.current, nil
}

// Expiry returns the time at which the certificate in use ends, zero without one.
func (c *ClientCertificate) Expiry() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current.Leaf == nil {
		return time.Time{}
	}
	return c.current.Leaf.NotAfter
}

// load replaces the certificate by that in the files. c.mu must be held.
func (c *ClientCertificate) load() error {
	chain, err := c.read(filepath.Join(c.dir, "tls.crt"), maxClientCertificate)
	key, keyErr := c.read(filepath.Join(c.dir, "tls.key"), maxClientCertificate)
	if err := errors.Join(err, keyErr); err != nil {
		return err
	}
	if bytes.Equal(chain, c.chain) && bytes.Equal(key, c.key) {
		return nil
	}
	next, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return fmt.Errorf("tls.crt and tls.key in %s are not a certificate with its key", c.dir)
	}
	c.chain = chain
	c.key = key
	c.current = &next
	return nil
}

// PresentsTo reports whether a remote agent gets the certificate: it names the agent's ServiceAccount, which strangers must not learn.
func (c *ClientCertificate) PresentsTo(host string) bool {
	return c.hosts.Match(host)
}
