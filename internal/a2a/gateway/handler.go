// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"log/slog"
	"net/http"
	"net/http/httputil"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
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

// Options are the dependencies of a gateway.
type Options struct {
	// Tracer starts the spans of calls. Nil starts none.
	Tracer *tracing.Tracer
	// Transport sends the requests to the registry and the agents. It is required, and must
	// ignore the proxies in the environment.
	Transport http.RoundTripper
	// Remotes calls remote agents. If it is nil, calls of remote agents are refused.
	Remotes Remotes
	// Deny answers a request for an agent with an error, in the shape of the request's protocol.
	// The path of the given request is the path that the agent would see. Deny is required.
	Deny func(http.ResponseWriter, *http.Request, *a2a.Error)
	// ObserveExchange is called after each token exchange, with its error or nil. It must not
	// block. It may be nil.
	ObserveExchange func(error)
	// Bodies is the memory budget of requests and responses that the gateway changes. It is
	// required.
	Bodies *limit.Budget
	// Log and Now, the clock, are required.
	Log *slog.Logger
	Now func() time.Time
}
