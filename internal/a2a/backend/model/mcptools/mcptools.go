// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mcptools offers the tools of an MCP server to a model.
//
// A session with the server begins with the first use, and ends after a time without one, so that an idle agent has no connection.
// A server that hangs, ends, or answers too much harms only its own calls.
package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/mcprecovery"
)

// Options configure the tools of a server.
type Options struct {
	// URL is that of the server (streamable HTTP).
	URL string
	// Transport sends the requests. It checks addresses, and adds credentials.
	Transport http.RoundTripper
	// Allow and Deny are patterns as of path.Match, whose * also matches a slash. Without Allow, all tools are allowed.
	Allow, Deny []string
	// Approval are patterns of the tools whose calls need the approval of a person. With ApproveWrites, all need it that the server does not
	// mark as read-only.
	Approval      []string
	ApproveWrites bool
	// Timeout bounds a call, 2 min by default, and ConnectTimeout the beginning of a session with the list of tools, 10 s by default.
	Timeout, ConnectTimeout time.Duration
	// IdleTimeout ends a session without calls, 5 min by default.
	IdleTimeout time.Duration
	// MaxAnswer bounds one answer of the server in bytes, 4 MiB by default.
	MaxAnswer int64
	// Memory has the answers of running calls; nil for any amount.
	Memory *limit.Budget
	// IsRequired is true if no turn may run without the server.
	IsRequired bool
	// TokenFor returns the bearer token of the next request: for a subject, or for nil for the agent itself, which reads the list of
	// tools. If it is not nil, the calls for each principal have a session of their own.
	TokenFor func(ctx context.Context, subject *a2a.Subject) (Token, error)
	Version  string
	Log      *slog.Logger
}

// Server is one MCP server. It is safe for concurrent use.
type Server struct {
	options Options
	client  *mcp.Client
	http    *http.Client

	mu       sync.Mutex
	session  *mcp.ClientSession
	tools    []*model.Tool
	lastUsed time.Time
	idle     *time.Timer
	// isClosed is true after Close. A turn that uses the server all the same begins a session that ends soon.
	isClosed bool
	// connecting has an element while a session begins, and listing while a list of tools is read: many turns that begin at once do
	// either once.
	connecting, listing chan struct{}
	// warned has the messages of warnings about the list of tools, each of which is logged once. Who reads the list uses it.
	warned map[string]struct{}
	// calls get the progress of running calls, by their tokens.
	calls map[string]chan string
	// callers has the sessions of principals with TokenFor, nil otherwise.
	callers *callers
}

var _ model.Toolset = (*Server)(nil)

// progressInterval is the least time between two texts about the progress of a call.
const progressInterval = time.Second

// Limits of what a server may list.
const (
	maxTools       = 256
	maxToolName    = 1 << 10
	maxDescription = 16 << 10
	maxSchema      = 64 << 10
	// maxList bounds the tools that are used, in bytes: they are in each request to the model.
	maxList = 1 << 20
)

// New returns a server. It connects with the first use.
func New(o Options) (*Server, error) {
	for _, pattern := range slices.Concat(o.Allow, o.Deny, o.Approval) {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
	}
	setDefault(&o.Timeout, 2*time.Minute)
	setDefault(&o.ConnectTimeout, 10*time.Second)
	setDefault(&o.IdleTimeout, 5*time.Minute)
	if o.MaxAnswer <= 0 {
		o.MaxAnswer = 4 << 20
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.TokenFor == nil {
		return newServer(o, o.Transport), nil
	}
	s := newServer(o, &withToken{next: o.Transport, tokenFor: o.TokenFor})
	s.callers = &callers{open: func() *Server {
		return newServer(o, &withToken{next: o.Transport, tokenFor: o.TokenFor, isCaller: true})
	}}
	return s, nil
}

func newServer(o Options, transport http.RoundTripper) *Server {
	s := &Server{options: o, connecting: make(chan struct{}, 1), listing: make(chan struct{}, 1), calls: map[string]chan string{}, warned: map[string]struct{}{}}
	s.http = &http.Client{
		Transport:     bounded{transport, o.MaxAnswer, &pace{}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect },
	}
	s.client = mcp.NewClient(&mcp.Implementation{Name: "a2a-operator", Version: o.Version}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
		}},
		// A question ends the call, and the answer of the client repeats it, so that a task may wait for days.
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		// Servers of protocol versions before 2026-07-28 ask while the call is open, which no paused task is.
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
		Logger:                      o.Log,
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { s.forgetTools() },
		ProgressNotificationHandler: s.onProgress,
	})
	s.client.AddReceivingMiddleware(mcprecovery.Handler)
	return s
}

func setDefault(v *time.Duration, to time.Duration) {
	if *v <= 0 {
		*v = to
	}
}

var (
	errRedirect = errors.New("the MCP server answers with a redirect, which is not followed")
	// ErrUnauthorized is the error for a server that refuses the credential.
	ErrUnauthorized = errors.New("the MCP server refuses the credential")
	// ErrNotSent is the error of a transport that has not sent a request.
	ErrNotSent = errors.New("the request was not sent")
)

// URL returns the URL of the server.
func (s *Server) URL() string { return s.options.URL }

// Check reads the list of tools, if it is not known, and returns their names. problem says what is wrong with the list, "" for nothing. The
// error says why there is no list.
func (s *Server) Check(ctx context.Context) (names []string, problem string, err error) {
	tools, err := s.list(ctx)
	if err != nil {
		return nil, "", err
	}
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	var missing []string
	for _, pattern := range s.options.Allow {
		if !slices.ContainsFunc(tools, func(tool *model.Tool) bool { return matches([]string{pattern}, tool.Key) }) {
			missing = append(missing, pattern)
		}
	}
	if len(missing) > 0 {
		problem = fmt.Sprintf("it has no tool %q", missing)
	}
	return names, problem, nil
}

// Close ends the sessions, but those with calls that run or that begin: they end soon after their last use.
func (s *Server) Close() {
	if s.callers != nil {
		s.callers.close()
	}
	s.mu.Lock()
	s.isClosed = true
	if len(s.calls) > 0 {
		if s.idle != nil {
			s.idle.Reset(s.idleTimeout())
		}
		s.mu.Unlock()
		return
	}
	session := s.session
	s.session = nil
	s.tools = nil
	if s.idle != nil {
		s.idle.Stop()
	}
	s.mu.Unlock()
	if session != nil {
		_ = session.Close()
	}
	s.http.CloseIdleConnections()
}

// Tools implements model.Toolset. It reads the list once for each session, and again after the server has announced a change. Its error
// does not repeat that of the server, which Check returns.
func (s *Server) Tools(ctx context.Context, _ *backend.Turn) ([]*model.Tool, error) {
	tools, err := s.list(ctx)
	if err == nil || ctx.Err() != nil {
		return tools, err
	}
	if !s.options.IsRequired {
		why := "it does not list them"
		switch {
		case errors.Is(err, ErrUnauthorized):
			why = "it refuses the credential"
		case errors.Is(err, context.DeadlineExceeded):
			why = "it does not answer in time"
		}
		return nil, fmt.Errorf("those of the MCP server %s: %s", s.options.URL, why)
	}
	return nil, backend.Interrupted("The MCP server "+s.options.URL+" is not available, and the agent requires it", err)
}

func (s *Server) list(ctx context.Context) (tools []*model.Tool, err error) {
	defer mcprecovery.Recover(&err)
	ctx, cancel := context.WithTimeout(ctx, s.options.ConnectTimeout)
	defer cancel()
	session, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case s.listing <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("list the tools of the MCP server %s: %w", s.options.URL, ctx.Err())
	}
	defer func() { <-s.listing }()
	s.mu.Lock()
	tools = s.tools
	s.mu.Unlock()
	if tools != nil {
		return tools, nil
	}
	memory := &answerMemory{budget: s.options.Memory}
	defer memory.release()
	ctx = context.WithValue(ctx, memoryKey{}, memory)
	tools = []*model.Tool{}
	size := 0
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			s.drop(session)
			return nil, fmt.Errorf("list the tools of the MCP server %s: %w", s.options.URL, memory.explained(err))
		}
		own := s.toolOf(ctx, tool)
		if own == nil {
			continue
		}
		size += len(own.Name) + len(own.Description) + len(own.Parameters)
		if len(tools) == maxTools || size > maxList {
			s.warnOnce(ctx, "an MCP server has more tools than the agent uses", "used", len(tools))
			break
		}
		tools = append(tools, own)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == session {
		s.tools = tools
	}
	return tools, nil
}

// toolOf returns a tool of the server for the model, nil if it is not allowed.
func (s *Server) toolOf(ctx context.Context, tool *mcp.Tool) *model.Tool {
	if len(tool.Name) > maxToolName {
		s.warnOnce(ctx, "a tool of an MCP server is left out: its name is too long", "bytes", len(tool.Name))
		return nil
	}
	if len(s.options.Allow) > 0 && !matches(s.options.Allow, tool.Name) || matches(s.options.Deny, tool.Name) {
		return nil
	}
	schema, err := json.Marshal(tool.InputSchema)
	if err != nil || len(schema) > maxSchema || len(tool.Description) > maxDescription {
		s.warnOnce(ctx, "a tool of an MCP server is left out: its schema or its description is too large", "tool", tool.Name)
		return nil
	}
	own := &model.Tool{
		Name: model.ToolName(tool.Name), Description: tool.Description, Parameters: a2a.Object(schema),
		Source: "MCP server " + s.options.URL, Toolset: s, Key: tool.Name,
	}
	isReadOnly := tool.Annotations != nil && tool.Annotations.ReadOnlyHint
	own.IsRepeatable = isReadOnly || tool.Annotations != nil && tool.Annotations.IdempotentHint
	own.NeedsApproval = s.options.ApproveWrites && !isReadOnly || matches(s.options.Approval, tool.Name)
	return own
}

// warnOnce logs a warning about the list of tools, unless it has logged the message: the server chooses how many tools are left out, and
// how often the list is read.
func (s *Server) warnOnce(ctx context.Context, message string, args ...any) {
	_, isLogged := s.warned[message]
	if !isLogged {
		s.warned[message] = struct{}{}
		s.options.Log.WarnContext(ctx, message, append(args, "server", s.options.URL)...)
	}
}

// matches reports whether a pattern matches a name. A slash in a name is an ordinary character: a server must not evade the pattern * by it.
func matches(patterns []string, name string) bool {
	ordinary := strings.NewReplacer("/", "\x00")
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		found, _ := path.Match(ordinary.Replace(pattern), ordinary.Replace(name)) // New has checked the pattern
		return found
	})
}

// connect returns the session, and begins one if there is none. All calls wait for that.
func (s *Server) connect(ctx context.Context) (*mcp.ClientSession, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.ConnectTimeout)
	defer cancel()
	select {
	case s.connecting <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("connect to the MCP server %s: %w", s.options.URL, ctx.Err())
	}
	defer func() { <-s.connecting }()
	s.mu.Lock()
	s.lastUsed = time.Now() //nolint:forbidigo // a difference of times of the machine
	session := s.session
	s.mu.Unlock()
	if session != nil {
		return session, nil
	}
	session, err := s.client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: s.options.URL, HTTPClient: s.http, MaxEventSize: int(s.options.MaxAnswer),
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to the MCP server %s: %w", s.options.URL, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = session
	s.idle = time.AfterFunc(s.idleTimeout(), s.endIdle)
	return session, nil
}

// idleTimeout returns how long a session is open after its last use. s.mu must be held.
func (s *Server) idleTimeout() time.Duration {
	if s.isClosed {
		return min(s.options.IdleTimeout, s.options.ConnectTimeout)
	}
	return s.options.IdleTimeout
}

// endIdle ends a session without calls.
func (s *Server) endIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.idleTimeout() - time.Since(s.lastUsed)
	if s.session == nil {
		return
	}
	if left > 0 || len(s.calls) > 0 {
		s.idle.Reset(max(left, time.Second))
		return
	}
	session := s.session
	s.session = nil
	s.tools = nil
	go func() { _ = session.Close() }() // it waits for the server
}

// drop forgets a session that has failed. The next use begins another one.
func (s *Server) drop(session *mcp.ClientSession) {
	s.mu.Lock()
	if s.session == session {
		s.session = nil
		s.tools = nil
		s.idle.Stop()
	}
	s.mu.Unlock()
	go func() { _ = session.Close() }() // it waits for the server
}

func (s *Server) forgetTools() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = nil
}
