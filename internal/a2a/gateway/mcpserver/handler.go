// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mcpserver serves the agents of the cluster as an MCP server, over streamable HTTP.
// It is for the frameworks in the agent's own container. Its tools find agents, read a card,
// and call an agent. It calls through the gateway, and therefore with the sidecar's identity.
//
// One path serves clients of all versions of MCP, with and without sessions. The MCP server
// is created for the first request.
package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/agentclient"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/registryclient"
	"github.com/a2a-operator/a2a-operator/internal/kit/jsonweight"
	"github.com/a2a-operator/a2a-operator/internal/kit/mcprecovery"
)

const (
	// maxRequests is the maximum number of open HTTP requests, including streams. It has room
	// for one stream of each session and one request of each call, and for the same number of
	// notifications and answers of users.
	maxRequests = 2 * (maxSessions + maxCalls)

	headerVersion = "Mcp-Protocol-Version"
	headerSession = "Mcp-Session-Id"
)

// Options configure a Handler. All fields are required.
type Options struct {
	// Gateway sends requests through the gateway.
	Gateway http.RoundTripper
	// Limits bound requests and the memory of results.
	Limits *httpcall.Limits
	// Version is the version of the MCP server.
	Version string
	// Observe is called after each call of a tool.
	Observe func(tool string, o Outcome)
	Log     *slog.Logger
	Now     func() time.Time
}

// Handler serves MCP until Close. It is safe for concurrent use.
type Handler struct {
	options  Options
	requests chan struct{}
	// taskWait is taskWait, except in tests.
	taskWait time.Duration

	mu sync.Mutex
	// server is nil until the first request.
	server *server
	closed bool
}

// New returns a Handler. It creates the MCP server only for the first request.
func New(o Options) *Handler {
	return &Handler{options: o, requests: make(chan struct{}, maxRequests), taskWait: taskWait}
}

// server contains what all requests share.
type server struct {
	// withSessions serves the versions of MCP with sessions, and withoutSessions the versions
	// without them.
	withSessions, withoutSessions http.Handler
	sessions                      *sessions
	requests                      *requests
}

// open returns the server, and creates it if there is none. It returns nil after Close.
func (h *Handler) open() *server {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.server != nil || h.closed {
		return h.server
	}
	s := &server{sessions: newSessions(h.options.Now), requests: &requests{}}
	t := &tools{
		observe:  h.options.Observe,
		log:      h.options.Log,
		registry: &registryclient.Client{Gateway: h.options.Gateway},
		agents: agentclient.New(agentclient.Options{
			Gateway: h.options.Gateway, Memory: h.options.Limits.Answers, MaxWait: maxWait,
		}),
		sessions: s.sessions,
		requests: s.requests,
		calls:    make(chan struct{}, maxCalls),
		taskWait: h.taskWait,
	}
	capabilities := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}
	capabilities.AddExtension(tasksExtension, nil)
	sdk := mcp.NewServer(&mcp.Implementation{Name: "a2a-operator-gateway", Title: "Agents of the cluster", Version: h.options.Version}, &mcp.ServerOptions{
		Instructions: instructions, Capabilities: capabilities, GetSessionID: s.sessions.nextID,
	})
	sdk.AddReceivingMiddleware(mcprecovery.Handler)
	if err := t.addTo(sdk); err != nil {
		h.options.Log.Error("tasks of MCP not offered", "error", err)
	}
	s.sessions.listed = sdk.Sessions
	get := func(*http.Request) *mcp.Server { return sdk }
	// The SDK's own limit is off, because this package limits requests and reads them into
	// memory before it calls the SDK.
	s.withSessions = mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{SessionTimeout: idleSession, MaxRequestBodyBytes: -1, EventStore: newEvents()})
	s.withoutSessions = mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: -1,
	})
	h.server = s
	return s
}

// Sessions returns the number of open sessions.
func (h *Handler) Sessions() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.server == nil {
		return 0
	}
	return h.server.sessions.count()
}

// Close closes all sessions and cancels the running calls, which cancel their tasks. It waits
// for the calls. Later requests are denied.
func (h *Handler) Close() {
	h.mu.Lock()
	s := h.server
	h.server = nil
	h.closed = true
	h.mu.Unlock()
	if s != nil {
		s.sessions.close()
	}
}

// ServeHTTP serves one request. The gateway has checked that the request comes from its own
// pod.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case h.requests <- struct{}{}:
		defer func() { <-h.requests }()
	default:
		deny(w, a2a.Busy("Too many MCP requests are open"))
		return
	}
	s := h.open()
	if s == nil {
		deny(w, &a2a.Error{Reason: a2a.ReasonUnavailable, Message: "The sidecar is shutting down"})
		return
	}
	call := &httpcall.Call{W: w, R: r, Limits: h.options.Limits}
	if r.Method == http.MethodPost && !read(call) {
		call.Release()
		return
	}
	bounded := &boundedWriter{ResponseWriter: w, control: http.NewResponseController(w), timeout: h.options.Limits.WriteTimeout, now: h.options.Now}
	defer bounded.end()
	defer s.requests.begin(r, bounded, call.Release)()
	w = bounded
	if r.Header.Get(headerVersion) >= sessionless {
		s.withoutSessions.ServeHTTP(w, r)
		return
	}
	session := r.Header.Get(headerSession)
	switch {
	case r.Method == http.MethodPost && session == "":
		if !s.sessions.open(func() { s.withSessions.ServeHTTP(w, r) }) {
			deny(w, a2a.Busy("Too many MCP sessions are in use; end one with DELETE"))
		}
		return
	case r.Method == http.MethodDelete:
		s.sessions.end(session)
	default:
		defer s.sessions.use(session)()
	}
	if r.Method == http.MethodGet {
		bounded.keepAliveFromHeader()
	}
	s.withSessions.ServeHTTP(w, r)
}

// copies is the number of copies of a request's body that a call of a tool has in memory, in
// addition to the cost of the body (memoryshare.BodyCost): the request to the agent. That cost
// includes the text in the SDK and the decoded arguments.
const copies = 1

const (
	// maxWeight bounds what a request takes besides the arguments of a tool when the SDK decodes it (jsonweight), in bytes.
	maxWeight = 256 << 10
	// maxOpening bounds a request that opens a session, in bytes: the session remembers it.
	maxOpening = 64 << 10
)

// check returns an error for a request of which the SDK would decode or remember more than the body costs.
func check(call *httpcall.Call, text []byte) error {
	if jsonweight.Except(text, maxWeight, "arguments", "params") > maxWeight {
		return a2a.InvalidParams("params", "has too many values outside of the arguments of the tool, such as in _meta")
	}
	if opens := call.R.Header.Get(headerSession) == "" && call.R.Header.Get(headerVersion) < sessionless; opens && len(text) > maxOpening {
		return a2a.InvalidParams("params", fmt.Sprintf("has more than %d bytes in a request that opens a session", maxOpening))
	}
	return nil
}

// read replaces the body of a request by a body in memory. It charges the budget for the
// body and its copies until the call is released. If it returns false, it has denied the
// request, or the client has disconnected.
func read(call *httpcall.Call) bool {
	text, err := call.Body()
	if err == nil {
		err = check(call, text)
	}
	if err == nil {
		err = call.Charge(copies * int64(len(text)))
	}
	if err == nil {
		call.R.Body = io.NopCloser(bytes.NewReader(text))
		return true
	}
	if !errors.Is(err, context.Canceled) {
		deny(call.W, a2a.ErrorOf(err))
	}
	return false
}

// deny answers a request that is not passed to the SDK. The response is a JSON-RPC error with
// the matching HTTP status.
func deny(w http.ResponseWriter, problem *a2a.Error) {
	row := errormap.Lookup(problem, errormap.Profile101)
	body := jsonwrite.String([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":`+strconv.Itoa(row.JSONRPC)+`,"message":`), row.Text(problem))
	w.Header().Set("Content-Type", "application/json")
	if row.HTTP == http.StatusServiceUnavailable || row.HTTP == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(row.HTTP)
	_, _ = w.Write(append(body, "}}"...))
}
