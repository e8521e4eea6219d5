// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcptools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model/mcptools"
	"github.com/a2a-operator/a2a-operator/test/securitypage"
)

// TestOutcomeOfACallThatBreaks ends connections and servers around a call of a tool. A call that has run never counts as failed.
func TestOutcomeOfACallThatBreaks(t *testing.T) {
	for name, tt := range map[string]struct {
		isRun, isGone, isRestarted, isBusy bool
		wantRuns                           int32
		want                               string
	}{
		"the connection ends during the call": {isRun: true, wantRuns: 1},
		"a gateway answers for the server":    {isRun: true, isBusy: true, wantRuns: 1},
		"nothing listens":                     {isGone: true, want: "The call did not run: "},
		"the server has restarted":            {isRestarted: true, wantRuns: 1, want: "hi"},
	} {
		t.Run(name, func(t *testing.T) {
			var runs atomic.Int32
			newHandler := func() http.Handler {
				server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
				t.Cleanup(func() { endSessions(server) })
				add(server, &mcp.Tool{Name: "pay"}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					runs.Add(1)
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hi"}}}, nil
				})
				return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
			}
			var handler atomic.Value
			handler.Store(newHandler())
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(text))
				if strings.Contains(string(text), `"tools/call"`) && tt.isRun {
					handler.Load().(http.Handler).ServeHTTP(httptest.NewRecorder(), r)
					if tt.isBusy {
						w.WriteHeader(http.StatusBadGateway)
						return
					}
					panic(http.ErrAbortHandler)
				}
				handler.Load().(http.Handler).ServeHTTP(w, r)
			}))
			site.Config.SetKeepAlivesEnabled(!tt.isGone) // the call needs a connection of its own
			site.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			t.Cleanup(site.Close)
			t.Cleanup(site.CloseClientConnections)
			s := newTools(t, mcptools.Options{URL: site.URL, Timeout: 10 * time.Second, ConnectTimeout: 5 * time.Second})
			tool := find(t, s, "pay")
			if tt.isRestarted {
				handler.Store(newHandler())
			}
			if tt.isGone {
				site.CloseClientConnections()
				site.Close()
			}
			result, err := s.Call(t.Context(), &model.Call{ID: "call-1", Tool: tool, Arguments: json.RawMessage(`{}`)}, func(string) {})
			if (err == nil) != (tt.want != "") || err == nil && !strings.HasPrefix(result.Text, tt.want) || runs.Load() != tt.wantRuns {
				t.Errorf("Call() = %+v, %v, and the tool ran %d times", result, err, runs.Load())
			}
		})
	}
}

// TestBadAnswersHarmTheirOwnCallOnly calls a tool of a server that lists its tools in order and answers the call badly. The call fails, in
// time, no other server is called, and the next call works.
func TestBadAnswersHarmTheirOwnCallOnly(t *testing.T) {
	var elsewhere atomic.Int32
	metadata := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(metadata.Close)
	for name, answer := range map[string]http.HandlerFunc{
		"redirects to loopback": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, metadata.URL+"/latest", http.StatusTemporaryRedirect)
		},
		"64 MB": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`)
			for range 64 {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<20)); err != nil {
					return
				}
			}
		},
		"streams for ever": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"still here"}}`+"\n\n")
				w.(http.Flusher).Flush()
			}
		},
		"hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"ends": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
		},
		"no JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "<html>")
		},
		"refuses": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"asks with 20,000 choices": func(w http.ResponseWriter, r *http.Request) {
			var request struct{ ID json.RawMessage }
			_ = json.NewDecoder(r.Body).Decode(&request)
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[],"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"elicitation/create",`+
				`"params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"x":{"type":"string","enum":[%s"b"]}}}}}}}}`, request.ID, strings.Repeat(`"a",`, 20_000))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of them wait
			callBadly(t, answer)
		})
	}
	t.Cleanup(func() {
		if n := elsewhere.Load(); n > 0 {
			t.Errorf("the target of the redirect was called %d times", n)
		}
	})
}

// TestPanicsOfTheLibrary calls a tool of a server whose messages the MCP library cannot read.
func TestPanicsOfTheLibrary(t *testing.T) {
	answers := map[string]http.HandlerFunc{
		"asks for null": func(w http.ResponseWriter, r *http.Request) {
			var request struct{ ID json.RawMessage }
			_ = json.NewDecoder(r.Body).Decode(&request)
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[],"resultType":"input_required","inputRequests":{"a":null},"requestState":"s"}}`, request.ID)
		},
		"asks without parameters": sends(`{"jsonrpc":"2.0","id":"x","method":"elicitation/create"}`),
		"asks with null":          sends(`{"jsonrpc":"2.0","id":"x","method":"elicitation/create","params":null}`),
		"completes nothing":       sends(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete"}`),
	}
	securitypage.Attempts(t, "T-PANIC", len(answers))
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			callBadly(t, answer)
		})
	}
}

// callBadly calls a tool of a server that answers the first call badly. The call fails, in time, and the next call works.
func callBadly(t *testing.T, answer http.HandlerFunc) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	t.Cleanup(func() { endSessions(server) })
	add(server, &mcp.Tool{Name: "look"}, says(&mcp.TextContent{Text: "hi"}))
	good := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	var isGood atomic.Bool
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(text))
		if strings.Contains(string(text), `"tools/call"`) && !isGood.Load() {
			answer(w, r)
			return
		}
		good.ServeHTTP(w, r)
	}))
	t.Cleanup(site.Close)
	t.Cleanup(site.CloseClientConnections)
	s := newTools(t, mcptools.Options{URL: site.URL, Timeout: time.Second, MaxAnswer: 1 << 20, Memory: backend.NewMemory(16 << 20)})
	tool := find(t, s, "look")
	begun := time.Now()
	result, err := s.Call(t.Context(), &model.Call{ID: "call-1", Tool: tool, Arguments: json.RawMessage(`{}`)}, func(string) {})
	if err == nil && !result.IsError || time.Since(begun) > time.Minute {
		t.Errorf("Call() = %+v, %v after %s", result, err, time.Since(begun))
	}
	isGood.Store(true)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		tools, err := s.Tools(t.Context(), nil)
		if err == nil && len(tools) == 1 {
			if result, err := s.Call(t.Context(), &model.Call{ID: "call-2", Tool: tools[0], Arguments: json.RawMessage(`{}`)}, func(string) {}); err == nil && result.Text == "hi" {
				break
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not come back: %v", err)
		}
	}
}

// sends returns a server that sends one message in place of an answer.
func sends(message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: "+message+"\n\n")
	}
}

// endSessions ends the sessions that no client has ended.
func endSessions(server *mcp.Server) {
	for session := range server.Sessions() {
		_ = session.Close()
	}
}

// TestReconnectsArePaced calls a tool of a server that ends the events of each request at once, and names a millisecond as the time after
// which the client may ask for more.
func TestReconnectsArePaced(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	t.Cleanup(func() { endSessions(server) })
	add(server, &mcp.Tool{Name: "look"}, says(&mcp.TextContent{Text: "hi"}))
	good := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	var requests atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(text))
		if !strings.Contains(string(text), `"tools/call"`) && r.Header.Get("Last-Event-ID") == "" {
			good.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "id: %d\nretry: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n", requests.Add(1))
	}))
	t.Cleanup(site.Close)
	t.Cleanup(site.CloseClientConnections)
	s := newTools(t, mcptools.Options{URL: site.URL, Timeout: 1500 * time.Millisecond, ConnectTimeout: 5 * time.Second})
	tool := find(t, s, "look")
	if _, err := s.Call(t.Context(), &model.Call{ID: "call-1", Tool: tool, Arguments: json.RawMessage(`{}`)}, func(string) {}); err == nil {
		t.Error("the call has a result")
	}
	if got := requests.Load(); got < 2 || got > 4 {
		t.Errorf("%d requests in 1.5 s, want 2 to 4", got)
	}
}
