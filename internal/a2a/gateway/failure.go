// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"crypto/tls"
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
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/agenttokens"
	"github.com/a2a-operator/a2a-operator/internal/kit/responseheader"
)

// Reasons why a request is not forwarded, in addition to failures of the connection.
var (
	// errRegistry means that the registry failed, or that its response is not valid.
	errRegistry  = errors.New("the registry sent an invalid response, or none")
	errNotListed = errors.New("the registry lists no such agent")
	// errNoAddress means that the agent has no Service yet.
	errNoAddress = errors.New("agent has no address yet")
	// errNoCard means that the operator has not yet read the card of a remote agent.
	errNoCard = errors.New("agent has no card yet")
	// errToken means that the file with the sidecar's token could not be read.
	errToken = errors.New("read token")
	// errEntries means that the response of the registry does not consist of entries.
	errEntries = errors.New("read entries of the registry")
	// errCard means that a card is too large or is not a JSON object.
	errCard = errors.New("read card")
	// errTLSWanted means that the agent requires TLS, although its last probe found no TLS.
	errTLSWanted     = errors.New("agent is served with TLS now; try again")
	errRedirect      = errors.New("answer is a redirect")
	errMisconfigured = errors.New("a URL of the gateway's configuration is invalid")
	errTooLong       = errors.New("body is too large")
)

// retrySoon is the delay that is named to clients after a transient failure.
const retrySoon = time.Second

// explain returns the A2A error for a failure. explainListing chooses the reason for the
// errors of this package and of agenttokens. For all other errors, the reason is
// UNAVAILABLE if the agent was not reached or its certificate is not trusted. Otherwise
// it is INVALID_AGENT_RESPONSE.
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
	case errors.As(err, &name) && name.IsNotFound && !name.IsTimeout:
		return unavailable(subject+" has no Service: its name does not resolve; see the conditions of the Agent", 0)
	case errors.As(err, &name):
		return unavailable(subject+" cannot be looked up: the DNS of the cluster does not answer; try again", retrySoon)
	case errors.Is(err, syscall.ECONNREFUSED):
		return unavailable(subject+" refuses connections: no pod of it is ready; see the conditions of the Agent", retrySoon)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return unavailable(subject+" cannot be reached: there is no route to it; see the conditions of the Agent", retrySoon)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return unavailable(subject+" did not answer in time: no pod of it may be ready, or a NetworkPolicy drops the connection", retrySoon)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return unavailable(subject+" closed the connection before it answered; try again", retrySoon)
	case errors.Is(err, responseheader.ErrTooLong):
		return &a2a.Error{Reason: a2a.ReasonInvalidAgentResponse, Message: subject + " sent a response whose header has more than 16 KiB or 128 fields; ask its owner to send less"}
	default:
		return &a2a.Error{Reason: a2a.ReasonInvalidAgentResponse, Message: subject + " sent an invalid response; the log of its sidecar may have the cause"}
	}
}

func unavailable(text string, retry time.Duration) *a2a.Error {
	return &a2a.Error{Reason: a2a.ReasonUnavailable, Message: text, RetryAfter: retry}
}

// explainListing returns the error for the failures that this package or agenttokens defines,
// such as PERMISSION_DENIED for an agent that is not listed. It returns nil for other
// failures.
func explainListing(subject string, err error) *a2a.Error {
	switch {
	case errors.Is(err, errNotListed), errors.Is(err, agenttokens.ErrRefused):
		return &a2a.Error{
			Reason:  a2a.ReasonPermissionDenied,
			Message: subject + " is not in the registry, or does not admit this agent: check its namespace and name; an agent of another namespace must allow callers of this namespace by spec.access.authorization",
		}
	case errors.Is(err, errRegistry) && errors.Is(err, errTooLong):
		return unavailable(subject+" was not looked up: the answer of the registry about it is larger than 1 MiB; ask its owner to shorten its card", 0)
	case errors.Is(err, errRegistry):
		return unavailable(subject+" was not called, because the registry, in which the gateway looks agents up, "+explainRegistry(err), retrySoon)
	case errors.Is(err, errNoAddress):
		return unavailable(subject+" has no Service yet: see the conditions of the Agent", retrySoon)
	case errors.Is(err, errNoCard):
		return unavailable(subject+" is a remote agent, and the operator has not read its card yet; see the conditions of the Agent", retrySoon)
	case errors.Is(err, agenttokens.ErrChain):
		return &a2a.Error{Reason: a2a.ReasonPermissionDenied, Message: subject + " was not called: the agents that call each other for one user form a loop, or are more than five; shorten the chain"}
	case errors.Is(err, agenttokens.ErrUnavailable):
		return unavailable(subject+" was not called: the registry has not issued a token for the call; try again", retrySoon)
	case errors.Is(err, errToken):
		return unavailable(subject+" was not called: the sidecar has no ServiceAccount token yet; try again", retrySoon)
	case errors.Is(err, errTLSWanted):
		return unavailable(subject+" is served with TLS now; try again", retrySoon)
	case errors.Is(err, errMisconfigured):
		return unavailable(subject+" was not called: a URL in the configuration of the gateway is invalid; ask the administrator of the operator to correct it", 0)
	case errors.Is(err, errRedirect):
		return &a2a.Error{Reason: a2a.ReasonInvalidAgentResponse, Message: subject + " answers with a redirect, which the gateway does not follow; ask its owner for the URL that serves it"}
	case errors.Is(err, errCard):
		return &a2a.Error{Reason: a2a.ReasonInvalidAgentResponse, Message: subject + " has a card that cannot be read, or that is larger than 4 MiB; ask its owner to correct it"}
	default:
		return nil
	}
}

// statusError is the status of a response of the registry other than 200 and 404.
type statusError int

// Error implements error.
func (s statusError) Error() string { return fmt.Sprintf("status %d", int(s)) }

// explainRegistry returns why the registry did not answer a lookup.
func explainRegistry(err error) string {
	var name *net.DNSError
	var network net.Error
	var status statusError
	switch text := explainTLS(err); {
	case errors.As(err, &status) && status == http.StatusUnauthorized:
		return "does not accept the ServiceAccount token of this pod: the ServiceAccount may have been created again after the pod; delete the pod"
	case errors.As(err, &status) && status == http.StatusTooManyRequests:
		return "has too many requests of this agent; try again"
	case errors.As(err, &status):
		return fmt.Sprintf("answers with status %d; try again, and see the log of the manager", int(status))
	case text != "":
		return "cannot be trusted: its certificate is not valid, or of another authority; ask the administrator of the operator"
	case errors.As(err, &name) && name.IsNotFound && !name.IsTimeout:
		return fmt.Sprintf("has no address: its name %s does not resolve; check that the operator is installed, and its flag --registry-url", name.Name)
	case errors.As(err, &name):
		return "cannot be looked up: the DNS of the cluster does not answer; check that a NetworkPolicy allows DNS to this pod"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refuses connections: no pod of the manager is ready; try again"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "does not answer in time; a NetworkPolicy may drop the connection: try again"
	default:
		return "does not answer; try again"
	}
}

// explainTLS returns a description of the failure of a TLS connection to an agent, and "" for
// other failures.
func explainTLS(err error) string {
	switch fault, detail := egress.CertificateFaultOf(err); fault {
	case egress.NotValidNow:
		return "has a TLS certificate that is not valid now: it " + detail + "; renew the Secret of its spec.access.tls"
	case egress.WrongName:
		return fmt.Sprintf("has a TLS certificate that is not for the name %s; add the name to the certificate in the Secret of its spec.access.tls", detail)
	case egress.UnknownAuthority:
		return "has a TLS certificate of an authority that is not trusted here; add that authority to spec.trustBundle of the calling Agent"
	case egress.NotVerifiable:
		return "has a TLS certificate that cannot be verified; ask its owner to correct the Secret of its spec.access.tls"
	case egress.NoFault:
	}
	_, isRecord := errors.AsType[tls.RecordHeaderError](err)
	_, isAlert := errors.AsType[tls.AlertError](err)
	switch {
	case isRecord, errors.Is(err, http.ErrSchemeMismatch):
		return "no longer uses TLS at its port; try again"
	case isAlert:
		return "refused the TLS connection; the log of its sidecar may have the cause"
	default:
		return ""
	}
}

// refusal describes why the gateway does not forward a request, if the reason is the request
// itself.
type refusal struct {
	status int
	// code is a code of the registry's errors, and reason a reason of A2A errors.
	code    string
	reason  a2a.Reason
	message string
}

var (
	refusalNotLocal = refusal{
		http.StatusForbidden, "PermissionDenied", a2a.ReasonPermissionDenied,
		"The gateway serves its own pod only, and no web page: call it at http://127.0.0.1 or http://localhost, without a foreign Origin",
	}
	refusalNoGateway = refusal{
		http.StatusNotFound, "NotFound", a2a.ReasonUnsupportedOperation,
		"This sidecar has no gateway: it was not configured with a registry",
	}
	refusalMethod = refusal{
		http.StatusMethodNotAllowed, "MethodNotAllowed", a2a.ReasonInvalidRequest, "The registry is read with GET, and searched at /registry/ard/search and /registry/ard/explore with POST",
	}
	refusalNoSuchPath = refusal{
		http.StatusNotFound, "NotFound", a2a.ReasonMethodNotFound,
		"The gateway serves /registry/<path>, /agents/<namespace>/<name>/<path>, /mcp, and the directory agent at /",
	}
	refusalNoLabel = refusal{
		http.StatusNotFound, "NotFound", a2a.ReasonMethodNotFound,
		"The gateway serves /agents/<namespace>/<name>/<path>; namespace and name must be DNS labels",
	}
)

// writeError writes an error in the JSON form of the registry's errors.
func writeError(w http.ResponseWriter, status int, code, message string) {
	// The error is nil, because text that is not UTF-8 is written with replacement characters.
	body, _ := jsontext.AppendQuote([]byte(`{"error":{"code":"`+code+`","message":`), message)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, "}}\n"...))
}

// refuse answers a request that the gateway does not forward. If the request is for an
// agent, the error has the shape of the request's protocol. Otherwise it has the JSON
// form of the registry's errors.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, no refusal) {
	if destinationOf(r.Context()).kind != kindAgent {
		writeError(w, no.status, no.code, no.message)
		return
	}
	h.deny(w, r, &a2a.Error{Reason: no.reason, Message: no.message})
}

// deny answers with an error, in the same shapes as refuse. If the request is not for an
// agent, the status is 503.
func (h *Handler) deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	to := destinationOf(r.Context())
	if problem.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(problem.RetryAfter/time.Second)))
	}
	to.result.reason = problem.Reason
	if to.kind == kindAgent {
		h.options.Deny(w, to.seenByAgent(r), problem)
		return
	}
	writeError(w, http.StatusServiceUnavailable, "Unavailable", problem.Message)
}

// failed answers a request that could not be forwarded, or that received no response. The
// text describes the failure and what to do. It contains no text of the registry or the
// agent. An *a2a.Error is not logged, because it is a mistake of the agent's container or the
// effect of a limit.
func (h *Handler) failed(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		destinationOf(r.Context()).result.clientLeft = true
		return
	}
	to := destinationOf(r.Context())
	subject := "The registry"
	if to.kind == kindAgent {
		subject = "Agent " + to.agent()
	}
	problem, ok := errors.AsType[*a2a.Error](err)
	if ok {
		h.deny(w, r, problem)
		return
	}
	problem = explain(subject, err)
	if errors.Is(err, errNotListed) || errors.Is(err, agenttokens.ErrRefused) || errors.Is(err, agenttokens.ErrChain) {
		h.options.Log.InfoContext(r.Context(), "request refused", "agent", to.agent(), "reason", err)
	} else {
		h.options.Log.WarnContext(r.Context(), "request not forwarded", "host", to.host(), "error", err)
	}
	h.deny(w, r, problem)
}
