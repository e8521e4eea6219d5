// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"crypto/x509"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// The files of a Secret of type kubernetes.io/tls. issuerFile is the certificate of the
// issuer, which cert-manager adds.
const (
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
	issuerFile      = "ca.crt"
)

// validityError is the error for a certificate outside of its validity period.
type validityError struct {
	cause sidecarconfig.HealthCause
	text  string
	// notBefore is the beginning of the validity period.
	notBefore time.Time
}

// Error implements error.
func (e *validityError) Error() string { return certificateFile + " " + e.text }

// checkValidity returns a *validityError if a certificate is outside of its validity
// period at a time, because clients would refuse it.
func checkValidity(leaf *x509.Certificate, now time.Time) error {
	if cause, text := health.CertificateProblem(leaf, now); cause != "" {
		return &validityError{cause, text, leaf.NotBefore}
	}
	return nil
}
