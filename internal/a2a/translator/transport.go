// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package translator

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/delegation"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/remotecredentials"
	"github.com/a2a-operator/a2a-operator/internal/kit/remotecredential"
)

// transport calls a remote agent through the guard, with the credential of the agent. If the agent refuses the credential,
// transport sends the request once more with a newer one, if there is one. The texts of its errors are written for clients.
type transport struct {
	guard *egress.Guard
	// credential is gateway.Remote.Credential. Nil means that there is none.
	credential func(ctx context.Context, origin, refused string) (remotecredential.Credential, error)
	log        *slog.Logger
	name       string

	mu sync.Mutex
	// presenting is the guard with the client certificate of the credential with the digest presented, nil for none.
	presenting *egress.Guard
	presented  string
}

// current returns the credential for requests to an origin, zero if there is none or if it is for agents of other namespaces.
func (t *transport) current(ctx context.Context, origin, refused string) (remotecredential.Credential, error) {
	if t.credential == nil {
		return remotecredential.Credential{}, nil
	}
	return t.credential(ctx, origin, refused)
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	credential, err := t.current(r.Context(), client.Origin(r.URL), "")
	shared := !errors.Is(err, remotecredentials.ErrNotShared)
	if err != nil && shared {
		return nil, t.unavailable(r, err)
	}
	response, err := t.send(r, credential)
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		return response, err
	}
	if !shared {
		_ = response.Body.Close()
		return nil, backend.Failed("The agent requires credentials, and those in spec.remote.credentials are for agents of other namespaces; "+
			"list the namespace of this agent in spec.remote.credentials.namespaces, or call with the header Authorization", nil)
	}
	next, err := t.current(r.Context(), client.Origin(r.URL), credential.Digest())
	if err != nil || credential.IsZero() || next.Digest() == credential.Digest() || r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
		return response, nil //nolint:nilerr // the response says that the credential was refused
	}
	again := r.Clone(r.Context())
	if r.GetBody != nil {
		if again.Body, err = r.GetBody(); err != nil {
			return response, nil //nolint:nilerr // as above
		}
	}
	_ = response.Body.Close()
	return t.send(again, next)
}

// unavailable returns the error for a request that was not sent because its credential is missing.
func (t *transport) unavailable(r *http.Request, err error) error {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	if r.Context().Err() != nil {
		return err
	}
	reason := "The registry gives no credential for the agent; the condition Available of the agent has the cause, if it is in spec.remote.credentials"
	if missing, ok := errors.AsType[*remotecredentials.UnavailableError](err); ok && delegation.From(r.Context()) != nil {
		reason = "There is no credential for the agent: " + missing.Reason
	}
	t.log.WarnContext(r.Context(), "no credential for a remote agent", "agent", t.name, "error", err)
	return backend.Interrupted(reason, err)
}

func (t *transport) send(r *http.Request, credential remotecredential.Credential) (*http.Response, error) {
	guard, err := t.guardFor(credential)
	if err != nil {
		return nil, t.unavailable(r, err)
	}
	response, err := guard.RoundTrip(credential.Apply(r))
	if err != nil {
		return nil, explain(err)
	}
	if response.StatusCode >= 300 && response.StatusCode < 400 {
		_ = response.Body.Close()
		return nil, backend.Failed("The agent answers with a redirect, which is not followed; spec.remote.url must be where it is served", nil)
	}
	return response, nil
}

// guardFor returns the guard that presents the certificate of a credential. A connection never outlives the certificate
// that it was opened with for longer than its last request.
func (t *transport) guardFor(credential remotecredential.Credential) (*egress.Guard, error) {
	if credential.Certificate == "" {
		return t.guard, nil
	}
	digest := credential.Digest()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.presenting != nil && t.presented == digest {
		return t.presenting, nil
	}
	certificate, err := credential.TLSCertificate()
	if err != nil {
		return nil, err
	}
	t.dropLocked()
	t.presenting = t.guard.Present(func(context.Context) (*tls.Certificate, error) { return certificate, nil })
	t.presented = digest
	return t.presenting, nil
}

// drop forgets the guard with the certificate, so that the next request uses the current policy.
func (t *transport) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropLocked()
}

func (t *transport) dropLocked() {
	if t.presenting != nil {
		t.presenting.CloseIdleConnections()
		t.presenting = nil
	}
}

func explain(err error) error {
	if errors.Is(err, egress.ErrDenied) {
		return backend.Failed("The agent cannot be called: "+addressDenied, err)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return backend.Failed("The agent's certificate is not trusted; spec.trustBundle of the Agent that calls names further authorities", err)
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return backend.Failed("The agent does not speak TLS at its address", err)
	}
	if egress.RefusesCertificate(err) {
		return backend.Failed("The agent refuses the TLS connection: it may require a client certificate, or another one than that in spec.remote.credentials or of the chart's sidecar.clientCertificate", err)
	}
	if proxy, ok := errors.AsType[*egress.ProxyError](err); ok {
		return backend.Interrupted("The agent cannot be reached: "+proxy.Reason(), err)
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return backend.Interrupted("The agent's name cannot be resolved", err)
	}
	return err
}
