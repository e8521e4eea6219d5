// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/delegation"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/agenttokens"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
)

// headerTask is the header with the id of the task for which the agent makes the request.
const headerTask = "A2A-Task-Id"

// Handler forwards /registry/... to the registry and /agents/{namespace}/{name}/... to
// agents. The Endpoints serve all other paths.
type Handler struct {
	config    atomic.Pointer[Config]
	proxy     *httputil.ReverseProxy
	schemes   *schemes
	listings  *listings
	tokens    *agenttokens.Source
	endpoints Endpoints
	options   Options
}

// Options are the dependencies of a gateway. All fields but Tracer and Turns are required.
type Options struct {
	// Tracer starts the spans of calls. Nil starts none.
	Tracer *tracing.Tracer
	// Turns has the subjects of the agent's running turns. Nil has none.
	Turns *delegation.Turns
	// Transport sends the requests to the registry and the agents. It must ignore the proxies
	// in the environment.
	Transport http.RoundTripper
	// Remotes calls remote agents.
	Remotes Remotes
	// Deny answers a request for an agent with an error, in the shape of the request's protocol.
	// The path of the given request is the path that the agent would see.
	Deny func(http.ResponseWriter, *http.Request, *a2a.Error)
	// ObserveExchange is called after each token exchange, with its error or nil. It must not
	// block.
	ObserveExchange func(error)
	// Bodies is the memory budget of requests and responses that the gateway changes.
	Bodies *limit.Budget
	// MaxCards bounds the bytes of all cards in the cache of lookups, 8 MiB by default.
	MaxCards int
	Log      *slog.Logger
	Now      func() time.Time
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
