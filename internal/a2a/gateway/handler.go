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
	// Tracer starts the spans of calls; nil for none.
	Tracer *tracing.Tracer
	// Transport is required, and must use no proxy from the environment.
	Transport http.RoundTripper
	// Remotes calls remote agents; nil for none.
	Remotes Remotes
	// Deny answers a request for an agent with an error, in the shape of the request's
	// protocol. The path of the request is the one that the agent would see. It is
	// required.
	Deny func(http.ResponseWriter, *http.Request, *a2a.Error)
	// ObserveExchange is called after each exchange of a token, with its error; nil for none.
	// It must not block.
	ObserveExchange func(error)
	// Bodies is the memory budget of requests that the gateway changes. It is required.
	Bodies *limit.Budget
	// Log and Now, the clock, are required.
	Log *slog.Logger
	Now func() time.Time
}
