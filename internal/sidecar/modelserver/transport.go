// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelserver

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
)

// transport calls a model server through the guard. Its errors describe why a call failed
// without the address.
type transport struct {
	guard  *egress.Guard
	health *Health
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.guard.RoundTrip(r)
	t.health.observe(r, response, err)
	if err != nil {
		return nil, explained(err)
	}
	if isRedirect(response) {
		_ = response.Body.Close()
		return nil, backend.Failed("The model server answered with a redirect, which is not followed; spec.workload.backend.chat.url must be where completions are served", nil)
	}
	return response, nil
}

// explained returns the error of a call without the address.
func explained(err error) error {
	if errors.Is(err, egress.ErrDenied) {
		return backend.Failed("The model server cannot be called: spec.workload.backend.chat.url leads to a loopback, link-local or metadata address", err)
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return backend.Interrupted("The name of the model server does not exist; see spec.workload.backend.chat.url", err)
		}
		return backend.Interrupted("The name of the model server cannot be resolved", err)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return backend.Failed("The certificate of the model server is not trusted; spec.trustBundle names further authorities", err)
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return backend.Failed("The model server does not speak TLS at its address; see spec.workload.backend.chat.url", err)
	}
	return err
}
