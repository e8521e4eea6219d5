// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"crypto/tls"
	"fmt"

	"github.com/a2a-operator/a2a-operator/internal/a2a/serverconn"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/reload"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// The files of a Secret of type kubernetes.io/tls. cert-manager adds issuerFile, the
// certificate of the issuer.
const (
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
	issuerFile      = "ca.crt"
)

// newServingCertificate serves TLS with the certificate of a directory. It refuses a
// certificate that is expired or not valid yet: at the start the sidecar does not serve,
// and later the former certificate stays.
func newServingCertificate(e *environment, dir string) (*servingCertificate, *reload.Source) {
	c := newCertificateState(e.health, e.now)
	c.tls = serverconn.NewTLS(func() bool { return requestsClientCertificates(&e.current().Access) })
	source := &reload.Source{
		Name: "tls", Directories: []string{dir}, Report: c.report,
		Read: func() (reload.Files, error) {
			return reload.ReadFiles(dir, []string{certificateFile, keyFile}, issuerFile)
		},
		Use: func(files reload.Files) error {
			pair, err := tls.X509KeyPair(files[certificateFile], files[keyFile])
			if err != nil {
				return fmt.Errorf("%s and %s of %s: %w", certificateFile, keyFile, dir, err)
			}
			if err := checkValidity(pair.Leaf, e.now()); err != nil {
				return fmt.Errorf("%w (%s)", err, dir)
			}
			if issuer := files[issuerFile]; len(issuer) > 0 {
				if err := e.trust.setIssuer(issuer); err != nil {
					return fmt.Errorf("%s of %s %w", issuerFile, dir, err)
				}
			}
			e.metrics.certificate.Set(float64(pair.Leaf.NotAfter.Unix()))
			c.tls.Swap(&pair)
			c.serve(pair.Leaf)
			return nil
		},
	}
	c.retry = func() { e.reloader.Retry(source) }
	return c, source
}

// requestsClientCertificates reports whether a client certificate can authenticate a
// caller.
func requestsClientCertificates(a *sidecarconfig.Access) bool {
	for _, each := range a.Authentication {
		if each.Type == sidecarconfig.AuthenticationMTLS {
			return true
		}
	}
	return false
}
