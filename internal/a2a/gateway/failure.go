// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Why a request is not passed on, beside what a connection may meet.
var (
	// errRegistry is that of a registry that does not answer as it should.
	errRegistry = errors.New("the registry does not answer as it should")
	// errNotListed is that of names for which the registry lists no agent.
	errNotListed = errors.New("the registry lists no such agent")
	// errNoAddress is that of an agent whose Service was never made.
	errNoAddress = errors.New("agent has no address yet")
	// errNoCard is that of an agent that runs elsewhere whose card was never read.
	errNoCard = errors.New("agent has no card yet")
	// errNoRemotes is that of a sidecar that serves no agents that run elsewhere.
	errNoRemotes = errors.New("agents that run elsewhere are not served here")
	// errToken is that of a sidecar whose token is not mounted.
	errToken = errors.New("read token")
	// errCard is that of a card that cannot be read, so that it is not passed on.
	errCard = errors.New("read card")
)

// retrySoon is when a request may succeed that met what passes.
const retrySoon = time.Second

// failed answers for a server that did not. The text says what failed and what to
// do, and nothing that the server said.
func (h *Handler) failed(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the client has left
	}
	way := wayOf(r.Context())
	subject := "The registry"
	if way.base != "" {
		subject = "Agent " + way.agent()
	}
	problem := explain(subject, err)
	if errors.Is(err, errNotListed) {
		h.options.Log.InfoContext(r.Context(), "request refused", "agent", way.agent(), "reason", err)
	} else {
		h.options.Log.WarnContext(r.Context(), "pass on request", "host", way.target.Host, "error", err)
	}
	h.deny(w, r, problem)
}

// deny answers in the form that the client reads: that of the protocol for an
// agent, and that of the registry otherwise.
func (h *Handler) deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	way := wayOf(r.Context())
	if problem.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(problem.RetryAfter/time.Second)))
	}
	if way.base != "" {
		h.options.Deny(w, way.seenByAgent(r), problem)
		return
	}
	// Text that is not UTF-8 is written with replacement characters, so the error is nil.
	body, _ := jsontext.AppendQuote([]byte(`{"error":{"code":"Unavailable","message":`), problem.Message)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write(append(body, "}}\n"...))
}

// seenByAgent returns the request with the path that the agent would see.
func (w *way) seenByAgent(r *http.Request) *http.Request {
	out := r.Clone(r.Context())
	out.URL.Path, out.URL.RawPath = w.path()
	return out
}

// explain says what failed. An agent that was not reached, or not trusted, is
// UNAVAILABLE; one that answers what is not passed on, INVALID_AGENT_RESPONSE.
func explain(subject string, err error) *a2a.Error {
	if problem := explainListing(subject, err); problem != nil {
		return problem
	}
	if text := explainTLS(err); text != "" {
		return unavailable(subject+" "+text, 0)
	}
	var name *net.DNSError
	var network net.Error
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return unavailable(subject+" has no Service: its name does not resolve; the conditions of the Agent say why", 0)
	case errors.As(err, &name):
		return unavailable(subject+" cannot be looked up: the DNS of the cluster does not answer; try again", retrySoon)
	case errors.Is(err, syscall.ECONNREFUSED):
		return unavailable(subject+" refuses connections: no pod of it is ready; the conditions of the Agent say why", retrySoon)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return unavailable(subject+" cannot be reached: there is no route to it", retrySoon)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return unavailable(subject+" did not answer in time: no pod of it may be ready, or a NetworkPolicy drops the connection", retrySoon)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return unavailable(subject+" closed the connection before it answered; try again", retrySoon)
	default:
		return &a2a.Error{Reason: a2a.ReasonInvalidAgentResponse, Message: subject + " does not answer as it should"}
	}
}

func unavailable(text string, retry time.Duration) *a2a.Error {
	return &a2a.Error{Reason: a2a.ReasonUnavailable, Message: text, RetryAfter: retry}
}

// explainListing says why a request was not even tried; nil for what was.
func explainListing(subject string, err error) *a2a.Error {
	switch {
	case errors.Is(err, errNotListed):
		return &a2a.Error{
			Reason:  a2a.ReasonPermissionDenied,
			Message: subject + " is not in the registry, or does not admit this agent: check its namespace and name; one of another namespace must allow callers of this one by spec.access.authorization",
		}
	case errors.Is(err, errRegistry):
		return unavailable(subject+" was not looked up: the registry, without which no agent is called, does not answer; try again", retrySoon)
	case errors.Is(err, errNoAddress):
		return unavailable(subject+" has no Service yet: the conditions of the Agent say why", retrySoon)
	case errors.Is(err, errNoCard):
		return unavailable(subject+" runs elsewhere, and its card was not read yet; the conditions of the Agent say why", retrySoon)
	case errors.Is(err, errNoRemotes):
		return &a2a.Error{Reason: a2a.ReasonUnsupportedOperation, Message: subject + " runs elsewhere, and this sidecar calls agents of the cluster only"}
	case errors.Is(err, errToken):
		return unavailable(subject+" was not called: the sidecar has no token to show yet; try again", retrySoon)
	case errors.Is(err, errTLSWanted):
		return unavailable(subject+" is served with TLS now; try again", retrySoon)
	case errors.Is(err, errRedirect):
		return &a2a.Error{Reason: a2a.ReasonInvalidAgentResponse, Message: subject + " answers with a redirect, which the gateway does not follow"}
	case errors.Is(err, errCard):
		return &a2a.Error{Reason: a2a.ReasonInvalidAgentResponse, Message: subject + " has a card that cannot be read, or that is larger than 4 MiB"}
	default:
		return nil
	}
}

// explainTLS says what is wrong with the TLS of an agent; "" when nothing is.
func explainTLS(err error) string {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
		record    tls.RecordHeaderError
		alert     tls.AlertError
	)
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		now := "has expired or is not valid yet"
		if c := invalid.Cert; c != nil {
			now = fmt.Sprintf("is valid from %s to %s", c.NotBefore.UTC().Format(time.RFC3339), c.NotAfter.UTC().Format(time.RFC3339))
		}
		return "has a TLS certificate out of its validity: it " + now + "; renew the Secret of its spec.access.tls"
	case errors.As(err, &name):
		return fmt.Sprintf("has a TLS certificate that is not for the name %s; add the name to the certificate in the Secret of its spec.access.tls", name.Host)
	case errors.As(err, &authority):
		return "has a TLS certificate of an authority that is not trusted here; add that authority to spec.trustBundle of the calling Agent"
	case errors.As(err, &verify), errors.As(err, &invalid):
		return "has a TLS certificate that cannot be verified"
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "does not speak TLS at the port where it did; try again"
	case errors.As(err, &alert):
		return "refused the TLS connection"
	default:
		return ""
	}
}
