// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcptools_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model/mcptools"
	"github.com/a2a-operator/a2a-operator/test/securitypage"
)

// boundServer is an MCP server that lets each session be used by the token that has begun it, as the specification advises. It notes who has
// called a tool.
type boundServer struct {
	url string

	mu       sync.Mutex
	sessions map[string]string
	foreign  int
	callers  []string
}

func newBoundServer(t *testing.T) *boundServer {
	t.Helper()
	b := &boundServer{sessions: map[string]string{}}
	_, target := serve(t, map[*mcp.Tool]mcp.ToolHandler{{Name: "who"}: func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		caller := r.Extra.Header.Get("Authorization")
		b.mu.Lock()
		defer b.mu.Unlock()
		b.callers = append(b.callers, caller)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: caller}}}, nil
	}})
	address, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(address)
	proxy.FlushInterval = -1
	proxy.ModifyResponse = func(r *http.Response) error {
		if id := r.Header.Get("Mcp-Session-Id"); id != "" {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.sessions[id] == "" {
				b.sessions[id] = r.Request.Header.Get("Authorization")
			}
		}
		return nil
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		owner, known := b.sessions[r.Header.Get("Mcp-Session-Id")]
		isForeign := known && owner != r.Header.Get("Authorization") || r.Header.Get("Authorization") == ""
		if isForeign {
			b.foreign++
		}
		b.mu.Unlock()
		if isForeign {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.Host = address.Host
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	b.url = front.URL
	return b
}

func turnOf(subject *a2a.Subject) *backend.Turn { return &backend.Turn{Subject: subject} }

// TestCallsNameTheirCallers checks that each call of a tool has the token of its own caller, in a session of its own, while the list is read
// as the agent itself.
func TestCallsNameTheirCallers(t *testing.T) {
	server := newBoundServer(t)
	unproven := errors.New("not proven")
	s := newTools(t, mcptools.Options{URL: server.url, TokenFor: func(_ context.Context, subject *a2a.Subject) (mcptools.Token, error) {
		switch {
		case subject == nil:
			return mcptools.Token{Value: "agent"}, nil
		case subject.Credential == "":
			return mcptools.Token{}, unproven
		}
		return mcptools.Token{Value: "for-" + subject.Principal + strings.Join(subject.Actors, "+") + string(subject.Credential)}, nil
	}})
	tool := find(t, s, "who")
	ask := func(turn *backend.Turn) string {
		result, err := tool.Toolset.Call(t.Context(), &model.Call{ID: "1", Tool: tool, Turn: turn}, func(string) {})
		if err != nil {
			t.Error(err)
			return ""
		}
		return result.Text
	}
	subjects := []*a2a.Subject{
		{Principal: "u1", Owner: "u1", Credential: "c1"},
		{Principal: "u2", Owner: "u2", Credential: "c2"},
		{Principal: "u1", Owner: "x for u1", Actors: []string{"x"}, Credential: "c3"},
		{Principal: "u1", Owner: "another person whose claim is u1", Credential: "c4"},
	}
	var calls sync.WaitGroup
	for range 5 {
		for _, subject := range subjects {
			calls.Go(func() {
				want := "Bearer for-" + subject.Principal + strings.Join(subject.Actors, "+") + string(subject.Credential)
				if got := ask(turnOf(subject)); got != want {
					t.Errorf("the server learns of %q, want %q", got, want)
				}
			})
		}
	}
	calls.Wait()
	for _, turn := range []*backend.Turn{nil, turnOf(nil), turnOf(&a2a.Subject{Principal: "u1", Owner: "u1"})} {
		if got := ask(turn); !strings.HasPrefix(got, "The call did not run: ") {
			t.Errorf("a call for nobody: %q", got)
		}
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	if len(server.callers) != 20 || server.foreign != 0 {
		t.Errorf("%d calls, want 20; %d requests in the session of another", len(server.callers), server.foreign)
	}
	var owners []string
	for _, owner := range server.sessions {
		owners = append(owners, owner)
	}
	slices.Sort(owners)
	if diff := cmp.Diff([]string{"Bearer agent", "Bearer for-u1c1", "Bearer for-u1c4", "Bearer for-u1xc3", "Bearer for-u2c2"}, owners); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}

// TestSessionsOfCallersAreBounded checks that many principals have few sessions, and that each one gets its answer. The ServiceAccounts of
// one namespace end no session of another one.
func TestSessionsOfCallersAreBounded(t *testing.T) {
	server := newBoundServer(t)
	s := newTools(t, mcptools.Options{URL: server.url, TokenFor: func(_ context.Context, subject *a2a.Subject) (mcptools.Token, error) {
		if subject == nil {
			return mcptools.Token{Value: "agent"}, nil
		}
		return mcptools.Token{Value: "for-" + subject.Principal}, nil
	}})
	tool := find(t, s, "who")
	for i := range 200 {
		principal := fmt.Sprintf("system:serviceaccount:team:u%d", i)
		if i == 0 || i == 199 {
			principal = "system:serviceaccount:other:u"
		}
		result, err := tool.Toolset.Call(t.Context(), &model.Call{ID: "1", Tool: tool, Turn: turnOf(&a2a.Subject{Principal: principal, Owner: a2a.Owner(principal)})}, func(string) {})
		if err != nil || result.Text != "Bearer for-"+principal {
			t.Fatalf("%s: %v, %v", principal, result, err)
		}
	}
	if n := s.Sessions(); n > 65 {
		t.Errorf("%d sessions, want at most 65", n)
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	others := 0
	for _, owner := range server.sessions {
		if owner == "Bearer for-system:serviceaccount:other:u" {
			others++
		}
	}
	if others != 1 {
		t.Errorf("the caller of another namespace needed %d sessions, want 1", others)
	}
}

// TestRefusedTokensAreReplacedOnce checks that a token that the server refuses leaves the cache, and that the request is sent once more with
// the next token: for the agent itself and for a caller, while a session begins and in the middle of one. A server that refuses every token
// gets two requests.
func TestRefusedTokensAreReplacedOnce(t *testing.T) {
	accepted := atomic.Int64{} // the generation of the tokens that the server accepts
	refused := atomic.Int64{}
	ran := atomic.Int64{}
	_, target := serve(t, map[*mcp.Tool]mcp.ToolHandler{{Name: "who"}: func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ran.Add(1)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Extra.Header.Get("Authorization")}}}, nil
	}})
	address, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(address)
	proxy.FlushInterval = -1
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.Header.Get("Authorization"), fmt.Sprintf(".%d", accepted.Load())) {
			refused.Add(1)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.Host = address.Host
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	// cache is that of the source of tokens, which knows nothing of what the server accepts.
	var mu sync.Mutex
	cache := map[string]int{}
	issued := 0
	s := newTools(t, mcptools.Options{URL: front.URL, TokenFor: func(_ context.Context, subject *a2a.Subject) (mcptools.Token, error) {
		name := "agent"
		if subject != nil {
			name = subject.Principal
		}
		mu.Lock()
		defer mu.Unlock()
		generation, cached := cache[name]
		if !cached {
			generation = issued
			cache[name] = generation
		}
		return mcptools.Token{Value: fmt.Sprintf("%s.%d", name, generation), Reject: func() {
			mu.Lock()
			defer mu.Unlock()
			if cache[name] == generation {
				delete(cache, name)
			}
		}}, nil
	}})
	issue := func(generation int) {
		mu.Lock()
		defer mu.Unlock()
		issued = generation
	}
	var tool *model.Tool
	ask := func(principal string) string {
		result, err := tool.Toolset.Call(t.Context(), &model.Call{ID: "1", Tool: tool, Turn: turnOf(&a2a.Subject{Principal: principal})}, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		return result.Text
	}
	tool = find(t, s, "who")
	if got, want := ask("u1"), "Bearer u1.0"; got != want {
		t.Fatalf("%q, want %q", got, want)
	}
	attempts := 1 // the last one
	counted := func() {
		if refused.Swap(0) > 0 {
			attempts++
		}
	}
	for generation := 1; generation <= 3; generation++ {
		issue(generation)
		accepted.Store(int64(generation))
		for _, principal := range []string{"u1", fmt.Sprintf("new%d", generation)} { // in the middle of a session, and at the beginning of one
			if got, want := ask(principal), fmt.Sprintf("Bearer %s.%d", principal, generation); got != want {
				t.Errorf("%q, want %q", got, want)
			}
			counted()
		}
		s.Close()
		tool = find(t, s, "who") // a new session of the agent itself, whose token was cached
		counted()
	}
	securitypage.Attempts(t, "T-STALE", attempts)
	accepted.Store(99)
	refused.Store(0)
	before := ran.Load()
	issue(4)
	if got := ask("u1"); !strings.Contains(got, mcptools.ErrUnauthorized.Error()) {
		t.Errorf("%q, want that the server refuses the credential", got)
	}
	if n := refused.Load(); n == 0 || n > 4 || ran.Load() != before { // a request for the call or for its session, and one to end the session
		t.Errorf("%d refused requests, want at most two for each one", n)
	}
}
