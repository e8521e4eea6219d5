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
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model/mcptools"
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
	s := newTools(t, mcptools.Options{URL: server.url, TokenFor: func(_ context.Context, subject *a2a.Subject) (string, error) {
		switch {
		case subject == nil:
			return "agent", nil
		case subject.Credential == "":
			return "", unproven
		}
		return "for-" + subject.Principal + strings.Join(subject.Actors, "+"), nil
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
	}
	var calls sync.WaitGroup
	for range 5 {
		for _, subject := range subjects {
			calls.Go(func() {
				want := "Bearer for-" + subject.Principal + strings.Join(subject.Actors, "+")
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
	if len(server.callers) != 15 || server.foreign != 0 {
		t.Errorf("%d calls, want 15; %d requests in the session of another", len(server.callers), server.foreign)
	}
	var owners []string
	for _, owner := range server.sessions {
		owners = append(owners, owner)
	}
	slices.Sort(owners)
	if diff := cmp.Diff([]string{"Bearer agent", "Bearer for-u1", "Bearer for-u1x", "Bearer for-u2"}, owners); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}

// TestSessionsOfCallersAreBounded checks that many principals have few sessions, and that each one gets its answer.
func TestSessionsOfCallersAreBounded(t *testing.T) {
	server := newBoundServer(t)
	s := newTools(t, mcptools.Options{URL: server.url, TokenFor: func(_ context.Context, subject *a2a.Subject) (string, error) {
		if subject == nil {
			return "agent", nil
		}
		return "for-" + subject.Principal, nil
	}})
	tool := find(t, s, "who")
	for i := range 200 {
		principal := fmt.Sprintf("u%d", i)
		result, err := tool.Toolset.Call(t.Context(), &model.Call{ID: "1", Tool: tool, Turn: turnOf(&a2a.Subject{Principal: principal})}, func(string) {})
		if err != nil || result.Text != "Bearer for-"+principal {
			t.Fatalf("%s: %v, %v", principal, result, err)
		}
	}
	if n := s.Sessions(); n > 65 {
		t.Errorf("%d sessions, want at most 65", n)
	}
}
