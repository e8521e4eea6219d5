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

// addressDenied is the reason for an address that the policy does not allow.
const addressDenied = "this installation does not allow its address; " +
	"an administrator can allow a range of addresses with the chart's remote.allow (--remote-allow)"

// transport calls remote agents through the guard. The texts of its errors are written
// for clients.
type transport struct{ guard *egress.Guard }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
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
		return backend.Failed("The agent cannot be called: "+addressDenied, err)
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
