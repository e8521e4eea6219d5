// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcptools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model/mcptools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve serves an MCP server of the official SDK, and returns its URL.
func serve(t *testing.T, tools map[*mcp.Tool]mcp.ToolHandler) (*mcp.Server, string) {
	t.Helper()
	return serveBy(t, nil, tools)
}

func serveBy(t *testing.T, o *mcp.StreamableHTTPOptions, tools map[*mcp.Tool]mcp.ToolHandler) (*mcp.Server, string) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	t.Cleanup(func() { endSessions(server) })
	for tool, handler := range tools {
		add(server, tool, handler)
	}
	http := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, o))
	t.Cleanup(http.Close)
	return server, http.URL
}

func add(server *mcp.Server, tool *mcp.Tool, handler mcp.ToolHandler) {
	tool.InputSchema = json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)
	server.AddTool(tool, handler)
}

func says(content ...mcp.Content) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: content}, nil
	}
}

func newTools(t *testing.T, o mcptools.Options) *mcptools.Server {
	t.Helper()
	transport := &http.Transport{}
	o.Transport = transport
	s, err := mcptools.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.CloseIdleConnections)
	t.Cleanup(s.Close)
	return s
}

// find returns the tool with a name.
func find(t *testing.T, s *mcptools.Server, name string) *model.Tool {
	t.Helper()
	tools, err := s.Tools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if tool.Name == name {
			return tool
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}

func call(t *testing.T, s *mcptools.Server, name, arguments string, progress func(string)) (*model.Result, error) {
	t.Helper()
	return s.Call(t.Context(), &model.Call{ID: "call-1", Tool: find(t, s, name), Arguments: json.RawMessage(arguments)}, progress)
}

func TestToolsOfServer(t *testing.T) {
	yes := &mcp.ToolAnnotations{ReadOnlyHint: true}
	tools := map[*mcp.Tool]mcp.ToolHandler{}
	for _, tool := range []*mcp.Tool{
		{Name: "get_weather", Annotations: yes},
		{Name: "update_weather"},
		{Name: "set_alarm", Annotations: &mcp.ToolAnnotations{IdempotentHint: true}},
		{Name: "hidden_tool"},
		{Name: "admin/wipe"},
		{Name: "long", Description: strings.Repeat("x", 17<<10)},
		{Name: strings.Repeat("x", 2<<10)},
	} {
		tools[tool] = says()
	}
	server, url := serve(t, tools)
	for name, tt := range map[string]struct {
		options mcptools.Options
		want    []string
	}{
		"all":       {mcptools.Options{}, []string{"admin_wipe", "get_weather repeatable", "hidden_tool", "set_alarm repeatable", "update_weather"}},
		"allowed":   {mcptools.Options{Allow: []string{"*_weather"}, Deny: []string{"update*"}}, []string{"get_weather repeatable"}},
		"annotated": {mcptools.Options{Deny: []string{"h*"}, ApproveWrites: true}, []string{"admin_wipe approval", "get_weather repeatable", "set_alarm approval repeatable", "update_weather approval"}},
		"named":     {mcptools.Options{Allow: []string{"*_weather"}, Approval: []string{"update_*"}}, []string{"get_weather repeatable", "update_weather approval"}},
		"slash":     {mcptools.Options{Deny: []string{"*_*"}, Approval: []string{"*"}}, []string{"admin_wipe approval"}},
		"in folder": {mcptools.Options{Allow: []string{"admin/*"}, Approval: []string{"a*"}}, []string{"admin_wipe approval"}},
		"no slash":  {mcptools.Options{Deny: []string{"*"}}, nil},
		"always":    {mcptools.Options{Allow: []string{"get*"}, Approval: []string{"*"}}, []string{"get_weather approval repeatable"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.options.URL = url
			s := newTools(t, tt.options)
			tools, err := s.Tools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, tool := range tools {
				text := tool.Name
				if tool.NeedsApproval {
					text += " approval"
				}
				if tool.IsRepeatable {
					text += " repeatable"
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Tools() (-want +got):\n%s", diff)
			}
		})
	}
	s := newTools(t, mcptools.Options{URL: url})
	find(t, s, "get_weather")
	add(server, &mcp.Tool{Name: "added"}, says())
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		tools, err := s.Tools(t.Context(), nil)
		if err == nil && len(tools) == 6 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the new tool does not appear: %d tools, %v", len(tools), err)
		}
	}
}

func TestCall(t *testing.T) {
	server, url := serve(t, map[*mcp.Tool]mcp.ToolHandler{
		{Name: "echo"}: func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
		},
		{Name: "mixed"}: says(&mcp.TextContent{Text: "a"}, &mcp.ImageContent{Data: []byte("png"), MIMEType: "image/png"},
			&mcp.ResourceLink{Name: "doc", URI: "file:///doc"}, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "x", Text: "inside"}}),
		{Name: "structured"}: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: map[string]any{"a": 1}}, nil
		},
		{Name: "fails"}: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no such city"}}}, nil
		},
		{Name: "refuses"}: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("broken")
		},
	})
	type city struct {
		City string `json:"city"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "typed"}, func(context.Context, *mcp.CallToolRequest, city) (*mcp.CallToolResult, any, error) {
		t.Error("the tool runs with other arguments than its schema allows")
		return nil, nil, nil
	})
	s := newTools(t, mcptools.Options{URL: url})
	if got, err := call(t, s, "typed", `{"city":1}`, nil); err != nil || !got.IsError || !strings.Contains(got.Text, "city") {
		t.Errorf("typed: %+v, %v", got, err)
	}
	for name, want := range map[string]*model.Result{
		"echo":       {Text: `{"city":"Oslo"}`},
		"structured": {Text: `{"a":1}`},
		"fails":      {Text: "no such city", IsError: true},
		"refuses":    {Text: "The MCP server refused the call: broken", IsError: true},
	} {
		got, err := call(t, s, name, `{"city":"Oslo"}`, nil)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	got, err := call(t, s, "mixed", "{}", nil)
	if err != nil || len(got.Files) != 1 || string(got.Files[0].Raw) != "png" || got.Text != "a\n(a file for the client: image/png )\ndoc: file:///doc \ninside" {
		t.Errorf("mixed: %+v, %v", got, err)
	}
}

func TestProgressAndCancel(t *testing.T) {
	canceled := make(chan struct{})
	_, url := serve(t, map[*mcp.Tool]mcp.ToolHandler{
		{Name: "long"}: func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Message: "half", Progress: 1})
			<-ctx.Done()
			close(canceled)
			return nil, ctx.Err()
		},
	})
	s := newTools(t, mcptools.Options{URL: url})
	tool := find(t, s, "long")
	ctx, cancel := context.WithCancel(t.Context())
	var heard string
	_, err := s.Call(ctx, &model.Call{ID: "call-1", Tool: tool, Arguments: json.RawMessage(`{}`)}, func(text string) {
		heard = text
		cancel()
	})
	if err == nil || heard != "half" {
		t.Errorf("Call() error = %v, progress %q", err, heard)
	}
	select {
	case <-canceled:
	case <-time.After(10 * time.Second):
		t.Error("the server was not told")
	}
}

func TestBadServers(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"html": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		},
		"refuses": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"hangs": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		},
		"64 MB": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for range 64 {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(handler)
			t.Cleanup(server.Close)
			t.Cleanup(server.CloseClientConnections)
			for _, isRequired := range []bool{false, true} {
				s := newTools(t, mcptools.Options{URL: server.URL, IsRequired: isRequired, ConnectTimeout: time.Second, MaxAnswer: 1 << 20})
				tools, err := s.Tools(t.Context(), nil)
				_, isFailure := errors.AsType[*backend.TurnError](err)
				if err == nil || len(tools) > 0 || isFailure != isRequired || !isRequired && !strings.HasPrefix(err.Error(), "those of the MCP server "+server.URL+": it ") {
					t.Errorf("Tools() = %v, %v", tools, err)
				}
				s.Close()
			}
		})
	}
}

// TestServerRestarts ends the sessions of a server. The call in flight fails as unknown, and the next turn begins another session.
func TestServerRestarts(t *testing.T) {
	server, url := serve(t, map[*mcp.Tool]mcp.ToolHandler{{Name: "echo"}: says(&mcp.TextContent{Text: "hi"})})
	s := newTools(t, mcptools.Options{URL: url})
	if _, err := call(t, s, "echo", "{}", nil); err != nil {
		t.Fatal(err)
	}
	for session := range server.Sessions() {
		_ = session.Close()
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		tools, err := s.Tools(t.Context(), nil)
		if err == nil && len(tools) == 1 {
			if got, err := s.Call(t.Context(), &model.Call{ID: "call-2", Tool: tools[0], Arguments: json.RawMessage("{}")}, nil); err == nil && got.Text == "hi" {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not come back: %v", err)
		}
	}
}

func answer(text, id string, answers ...string) *a2a.Message {
	m := &a2a.Message{Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(text)}}
	if id != "" {
		all := []map[string]any{}
		for _, each := range answers {
			all = append(all, map[string]any{"answer": []string{each}})
		}
		m.Metadata, _ = json.Marshal(map[string]any{model.Extension: map[string]any{"type": "ask_user_response", "id": id, "answers": all}}) // texts only
	}
	return m
}

func TestQuestions(t *testing.T) {
	ask := func(schema string) mcp.ToolHandler {
		return func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if r.Params.RequestState == "" {
				return &mcp.CallToolResult{RequestState: "state", InputRequests: mcp.InputRequestMap{
					"q": &mcp.ElicitParams{Mode: "form", Message: "Which one?", RequestedSchema: json.RawMessage(schema)},
				}}, nil
			}
			given, _ := json.Marshal(r.Params.InputResponses["q"])
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Params.RequestState + " " + string(given)}}}, nil
		}
	}
	_, url := serveBy(t, &mcp.StreamableHTTPOptions{Stateless: true}, map[*mcp.Tool]mcp.ToolHandler{
		{Name: "city"}:    ask(`{"type":"object","properties":{"city":{"type":"string"}}}`),
		{Name: "confirm"}: ask(`{"type":"object","properties":{"ok":{"type":"boolean"}}}`),
		{Name: "two"}:     ask(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string","enum":["x","y"]}}}`),
		{Name: "nested"}:  ask(`{"type":"object","properties":{"a":{"type":"object"}}}`),
		{Name: "url"}: func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if r.Params.RequestState == "" {
				return &mcp.CallToolResult{RequestState: "state", InputRequests: mcp.InputRequestMap{
					"q": &mcp.ElicitParams{Mode: "url", Message: "Sign in", URL: "https://login.example/x", ElicitationID: "e"},
				}}, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "signed in"}}}, nil
		},
	})
	s := newTools(t, mcptools.Options{URL: url})
	for name, tt := range map[string]struct {
		tool   string
		answer *a2a.Message
		state  a2a.State
		want   string
	}{
		"text":                 {"city", answer("Oslo", ""), a2a.StateInputRequired, `state {"action":"accept","content":{"city":"Oslo"}}`},
		"form":                 {"city", answer("", "call-1", "Oslo"), a2a.StateInputRequired, `state {"action":"accept","content":{"city":"Oslo"}}`},
		"text is no decision":  {"confirm", answer("true", ""), a2a.StateInputRequired, `state {"action":"decline"}`},
		"confirmed":            {"confirm", answer("", "call-1", "true"), a2a.StateInputRequired, `state {"action":"accept","content":{"ok":true}}`},
		"two fields":           {"two", answer("", "call-1", "3", "y"), a2a.StateInputRequired, `state {"action":"accept","content":{"a":3,"b":"y"}}`},
		"no such choice":       {"two", answer("", "call-1", "3", "z"), a2a.StateInputRequired, `state {"action":"decline"}`},
		"no number":            {"two", answer("", "call-1", "many", "y"), a2a.StateInputRequired, `state {"action":"decline"}`},
		"another id":           {"two", answer("", "call-2", "3", "y"), a2a.StateInputRequired, `state {"action":"decline"}`},
		"a page to sign in":    {"url", answer("done", ""), a2a.StateAuthRequired, "signed in"},
		"more than a form has": {"nested", nil, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			run := &model.Call{ID: "call-1", Tool: find(t, s, tt.tool), Arguments: json.RawMessage(`{}`)}
			result, err := s.Call(t.Context(), run, nil)
			if err != nil {
				t.Fatal(err)
			}
			if tt.answer == nil {
				if result.Pause != nil || !result.IsError {
					t.Errorf("Call() = %+v, want an error of the tool", result)
				}
				return
			}
			if result.Pause == nil || result.Pause.State != tt.state {
				t.Fatalf("Call() = %+v, want a pause", result)
			}
			run.Resume = result.Pause.Resume
			run.Answer = tt.answer
			result, err = s.Call(t.Context(), run, nil)
			if err != nil || result.Text != tt.want {
				t.Errorf("Call() = %+v, %v, want %s", result, err, tt.want)
			}
		})
	}
}

// TestProgressDoesNotFillMemory lets a server send progress faster than the turn takes it. The turn gets some of it.
func TestProgressDoesNotFillMemory(t *testing.T) {
	const notes = 2000
	_, url := serve(t, map[*mcp.Tool]mcp.ToolHandler{
		{Name: "talks"}: func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for i := range notes {
				if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i)}); err != nil {
					return nil, err
				}
			}
			return &mcp.CallToolResult{}, nil
		},
	})
	s := newTools(t, mcptools.Options{URL: url})
	heard := 0
	_, err := call(t, s, "talks", "{}", func(string) { heard++ })
	if err != nil || heard > notes/10 {
		t.Errorf("Call() = %v, %d of %d texts about the progress", err, heard, notes)
	}
}

// TestAnswersHaveABudget calls tools with more memory than there is. The call fails, and the session and other calls go on.
func TestAnswersHaveABudget(t *testing.T) {
	const budget = 1 << 20
	_, url := serveBy(t, &mcp.StreamableHTTPOptions{JSONResponse: true}, map[*mcp.Tool]mcp.ToolHandler{
		{Name: "small"}: says(&mcp.TextContent{Text: "hi"}),
		{Name: "large"}: says(&mcp.TextContent{Text: strings.Repeat("x", budget)}),
		{Name: "many"}: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: map[string]any{"n": make([]struct{}, 10_000)}}, nil
		},
	})
	memory := backend.NewMemory(budget)
	s := newTools(t, mcptools.Options{URL: url, Memory: memory})
	for range 2 {
		got, err := call(t, s, "large", "{}", nil)
		if err != nil || !got.IsError || !strings.Contains(got.Text, "too large") {
			t.Errorf("a large answer: %+v, %v", got, err)
		}
		got, err = call(t, s, "many", "{}", nil)
		if err != nil || !got.IsError || !strings.Contains(got.Text, "too large") {
			t.Errorf("an answer with many small values: %+v, %v", got, err)
		}
		got, err = call(t, s, "small", "{}", nil)
		if err != nil || got.Text != "hi" {
			t.Errorf("a small answer: %+v, %v", got, err)
		}
	}
	if memory.Used() != 0 {
		t.Errorf("after the calls, %d bytes are reserved", memory.Used())
	}
}

// TestListsHaveABudget lists the tools of a server that has more than an agent uses, from many turns at once.
func TestListsHaveABudget(t *testing.T) {
	tools := map[*mcp.Tool]mcp.ToolHandler{}
	for i := range 100 {
		tools[&mcp.Tool{Name: fmt.Sprintf("tool-%d", i), Description: strings.Repeat("x", 15<<10)}] = says()
	}
	server, _ := serve(t, tools)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	var lists atomic.Int32
	counted := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if strings.Contains(string(text), "tools/list") {
			lists.Add(1)
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(counted.Close)
	memory := backend.NewMemory(16 << 20)
	s := newTools(t, mcptools.Options{URL: counted.URL, Memory: memory})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			all, err := s.Tools(t.Context(), nil)
			size := 0
			for _, tool := range all {
				size += len(tool.Name) + len(tool.Description) + len(tool.Parameters)
			}
			if err != nil || len(all) == 0 || size > 1<<20 {
				t.Errorf("Tools() = %d tools of %d bytes, %v", len(all), size, err)
			}
		})
	}
	group.Wait()
	if lists.Load() != 1 || memory.Used() != 0 {
		t.Errorf("%d lists are read, and %d bytes stay reserved", lists.Load(), memory.Used())
	}
	few := newTools(t, mcptools.Options{URL: counted.URL, Memory: backend.NewMemory(1 << 20)})
	if all, _, err := few.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("without memory, Check() = %d tools, %v", len(all), err)
	}
}

// TestCloseEndsASessionThatBegins closes a server while its session begins.
func TestCloseEndsASessionThatBegins(t *testing.T) {
	server, _ := serve(t, map[*mcp.Tool]mcp.ToolHandler{{Name: "echo"}: says()})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	begins, begin := make(chan struct{}, 100), make(chan struct{})
	blocked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begins <- struct{}{}
		<-begin
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(blocked.Close)
	s := newTools(t, mcptools.Options{URL: blocked.URL, ConnectTimeout: 2 * time.Second})
	listed := make(chan error, 1)
	go func() {
		_, err := s.Tools(t.Context(), nil)
		listed <- err
	}()
	<-begins
	s.Close()
	close(begin)
	if err := <-listed; err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); s.Sessions() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the session stays open")
		}
	}
}

// TestListsOfManySchemasAreRead lists tools whose schemas are most of a list that has nearly the largest size.
func TestListsOfManySchemasAreRead(t *testing.T) {
	properties := map[string]any{}
	for i := range 500 {
		properties[fmt.Sprintf("property-%d", i)] = map[string]any{"type": "string", "description": "a text"}
	}
	server, url := serveBy(t, &mcp.StreamableHTTPOptions{JSONResponse: true}, nil)
	for i := range 9 {
		server.AddTool(&mcp.Tool{Name: fmt.Sprintf("tool-%d", i), InputSchema: map[string]any{"type": "object", "properties": properties}}, says())
	}
	all, err := newTools(t, mcptools.Options{URL: url, MaxAnswer: 320 << 10}).Tools(t.Context(), nil)
	if err != nil || len(all) != 9 {
		t.Errorf("Tools() = %d tools, %v", len(all), err)
	}
}

// A server whose tools are left out does not fill the log: neither by their number, nor by how often they are listed.
func TestToolsLeftOutAreLoggedOnce(t *testing.T) {
	tools := map[*mcp.Tool]mcp.ToolHandler{{Name: "look"}: says()}
	for i := range 5 {
		tools[&mcp.Tool{Name: fmt.Sprint("large_", i), Description: strings.Repeat("x", 17<<10)}] = says()
	}
	_, url := serve(t, tools)
	var log bytes.Buffer
	s := newTools(t, mcptools.Options{URL: url, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	for range 3 {
		find(t, s, "look")
		s.Close() // the next use reads the list again
	}
	if n := strings.Count(log.String(), "left out"); n != 1 || !strings.Contains(log.String(), "server="+url) {
		t.Errorf("%d warnings:\n%s", n, log.String())
	}
}
