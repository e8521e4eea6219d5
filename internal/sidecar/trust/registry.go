// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/url"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// Registry contains the authorities that verify the registry and no other server.
type Registry struct {
	// address is the host and port of the registry.
	address string
	pool    *x509.CertPool
	// additional contains the certificates of pool in PEM if the authorities of the sidecar
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
	port := u.Port()
	if port == "" {
		port = "443"
	}
	r := &Registry{address: net.JoinHostPort(u.Hostname(), port), pool: pool}
	if g.RegistryCAAdditional {
		r.additional = []byte(g.RegistryCA)
	}
	return r, nil
}
