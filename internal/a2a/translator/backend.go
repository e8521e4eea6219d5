// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package translator

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
)

// linkKey is the context key of a request's link.
type linkKey struct{}

// linkBackend is the backend of the engine. It runs a turn with the link of the request
// that began the turn. All messages of a task have the same owner, and therefore the same
// agent and credential.
type linkBackend struct{ *Translator }

var _ backend.Canceler = linkBackend{}

// Run implements backend.Backend.
func (b linkBackend) Run(ctx context.Context, t *backend.Turn, emit backend.Emit) error {
	l := ctx.Value(linkKey{}).(*link) // every request has a link in its context
	b.use(l)
	defer b.release(l)
	err := l.backend.Run(ctx, t, emit)
	if failure, ok := errors.AsType[*backend.TurnError](err); ok {
		if failure.Unrecognized && b.options.Unrecognized != nil {
			b.options.Unrecognized()
		}
		named := *failure
		named.Reason += " (remote agent " + l.name + " at " + l.url + ")"
		return &named
	}
	return err // the engine compares it
}

// Canceled implements backend.Canceler.
func (b linkBackend) Canceled(ctx context.Context, t *a2a.Task) {
	ctx.Value(linkKey{}).(*link).backend.Canceled(ctx, t) // every request has a link in its context
}

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
