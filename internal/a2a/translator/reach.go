// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package translator

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
)

const forbidden = "it is at an address that this installation does not allow; " +
	"whoever installed it can allow its range with the chart's remote.allow (--remote-allow)"

// reach makes the calls, and says in words of our own why one was not made.
type reach struct{ guard *egress.Guard }

// RoundTrip implements http.RoundTripper.
func (t reach) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.guard.RoundTrip(r)
	if err != nil {
		return nil, explain(err)
	}
	if response.StatusCode >= 300 && response.StatusCode < 400 {
		_ = response.Body.Close()
		return nil, backend.Failed("The agent answers with a redirect, which is not followed; spec.remote.url must be where it is served", nil)
	}
	return response, nil
}

func explain(err error) error {
	if errors.Is(err, egress.ErrDenied) {
		return backend.Failed("The agent cannot be called: "+forbidden, err)
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return backend.Interrupted("The agent's name cannot be resolved", err)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return backend.Failed("The agent's certificate is not trusted; spec.trustBundle of the Agent that calls names further authorities", err)
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return backend.Failed("The agent does not speak TLS at its address", err)
	}
	return err
}
