// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// trust is whom the sidecar believes when it calls others: the public
// authorities, those that the user names, and the issuer of the sidecar's own
// certificate.
type trust struct {
	mu sync.Mutex
	// named and issuer are PEM.
	named, issuer []byte
	// pool is of all; nil when there are only the public ones.
	pool *x509.CertPool
}

func (t *trust) own(issuer []byte) error { return t.change(&t.issuer, issuer) }

func (t *trust) change(which *[]byte, bundle []byte) error {
	if _, err := egress.ParseAuthorities(bundle); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	*which = bundle
	pool, err := x509.SystemCertPool()
	if err != nil {
		// An image without any is no reason to trust nobody.
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM(t.named)
	pool.AppendCertsFromPEM(t.issuer)
	t.pool = pool
	return nil
}

func (t *trust) roots() *x509.CertPool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pool
}

// newTrust trusts the authorities of a file.
func (s *Sidecar) newTrust(file string) *mounted {
	m := s.mounted("trust-ca", filepath.Dir(file))
	s.trackMounted(m, sidecarconfig.DependencyTrustBundle, "the former authorities of servers stay in use")
	m.read = func() (map[string][]byte, error) { return readFiles(filepath.Dir(file), []string{filepath.Base(file)}) }
	m.take = func(files map[string][]byte) error {
		if err := s.trust.change(&s.trust.named, files[filepath.Base(file)]); err != nil {
			return fmt.Errorf("%s %w", file, err)
		}
		return nil
	}
	return m
}

// dialTimeout bounds a connect, and again a handshake.
const dialTimeout = 5 * time.Second

// dialer connects to no link-local and no metadata address. Where an issuer has
// its keys is for the issuer to say, and no configuration leads there.
var dialer = &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second, Control: egress.OffLink}

// dial connects to where the operator's configuration leads. The resolver of a
// pod tries names below its search domains first, and a domain there that
// answers for every name would be shown what is meant for an agent. So a name
// is taken as whole, unless it is one that needs such a domain.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	return dialer.DialContext(ctx, network, absolute(address))
}

func absolute(address string) string {
	host, port, err := net.SplitHostPort(address)
	switch {
	case err != nil, net.ParseIP(host) != nil, !strings.Contains(host, "."), strings.HasSuffix(host, "."), strings.HasSuffix(host, ".svc"):
		return address
	}
	return net.JoinHostPort(host+".", port)
}

// dialTLS is for transports, whose own configuration cannot be changed.
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
		secure := tls.Client(raw, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, RootCAs: t.roots(), NextProtos: protocols})
		handshake, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		if err := secure.HandshakeContext(handshake); err != nil {
			_ = raw.Close()
			return nil, err
		}
		return secure, nil
	}
}
