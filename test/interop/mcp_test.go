// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	oldsdk "github.com/a2aproject/a2a-go/a2a"
	newsdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/exchangetest"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// mcpVersions are the versions of MCP that the tests speak. Only the last one has no sessions.
var mcpVersions = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

// registry is a fake registry for the gateway of one sidecar.
type registry struct {
	*httptest.Server
	mu sync.Mutex
	// answer replaces the answer to a search, if it is set.
	answer http.HandlerFunc
	// searches are the queries that arrived.
	searches []string
}

func (r *registry) answerWith(h http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = h
}

func (r *registry) queries() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.searches)
}

// newRegistry starts a registry that lists team/echo, at the URL of its card.
func newRegistry(tb testing.TB, agent string) *registry {
	tb.Helper()
	entry := `{"namespace":"team","name":"echo","displayName":"Echo","description":"Says things","url":"http://echo.team.svc/","ready":true,"skills":[{"id":"s"}]}`
	r := &registry{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if exchangetest.Serve(w, req) {
			return
		}
		if req.Header.Get("Authorization") != "Bearer identity" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.mu.Lock()
		answer := r.answer
		if req.URL.Path == "/v1/agents" {
			r.searches = append(r.searches, req.URL.RawQuery)
		}
		r.mu.Unlock()
		switch {
		case answer != nil && req.URL.Path != "/v1/agents/team/echo":
			answer(w, req)
		case req.URL.Path == "/v1/agents" && req.URL.Query().Get("skill") == "none":
			_, _ = io.WriteString(w, `{"items":[],"nextCursor":"","total":0}`)
		case req.URL.Path == "/v1/agents" && req.URL.Query().Has("limit") && req.URL.Query().Get("limit") == "999":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"code":"InvalidParameter","message":"must be 1 to 200","field":"limit"}}`)
		case req.URL.Path == "/v1/agents":
			_, _ = io.WriteString(w, `{"items":[`+entry+`],"nextCursor":"","total":1}`)
		case req.URL.Path == "/v1/agents/team/echo":
			_, _ = io.WriteString(w, entry)
		case req.URL.Path == "/v1/agents/team/echo/card":
			response, err := http.Get(agent + "/.well-known/agent-card.json")
			if err != nil {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			defer response.Body.Close()
			_, _ = io.Copy(w, response.Body)
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":{"code":"NotFound","message":"no such agent"}}`)
		}
	}))
	tb.Cleanup(r.Close)
	return r
}

// caller is a sidecar whose container calls other agents through the gateway.
type caller struct {
	*sidecartest.Fixture
	registry *registry
	// agent is the sidecar of the agent that is called.
	agent *sidecartest.Fixture
	// turns has the tasks of the caller's own turns.
	turns chan string
}

// newCaller starts a sidecar whose gateway finds one agent, team/echo, which has its own sidecar.
func newCaller(t *testing.T, agent http.HandlerFunc) *caller {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("identity"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &caller{agent: sidecartest.Start(t, agent), turns: make(chan string, 1)}
	c.registry = newRegistry(t, c.agent.URL)
	proceed := make(chan struct{})
	held := sidecartest.HeldAgent(proceed)
	c.Fixture = sidecartest.Start(t, func(w http.ResponseWriter, r *http.Request) {
		c.turns <- r.Header.Get("A2A-Task-Id")
		held(w, r)
	}, func(_ *sidecartest.Fixture, config *sidecarconfig.Config) {
		config.Gateway = &sidecarconfig.Gateway{RegistryURL: c.registry.URL, AgentURL: c.agent.URL, TokenFile: token}
	})
	t.Cleanup(func() { close(proceed) })
	return c
}

// beginTurn begins a turn of the caller, which runs until the end of the test, and returns the id of its task.
func (c *caller) beginTurn(t *testing.T) string {
	t.Helper()
	response, err := sidecartest.Plain(t).Post(c.URL+"/", "application/json", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"turn","role":"user","parts":[{"kind":"text","text":"Hi"}]},"configuration":{"blocking":false}}}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return <-c.turns
}

// mcpClient configures a client of the caller's MCP server.
type mcpClient struct {
	version string
	// answers is what the user answers to questions; nil for a client that cannot ask.
	answers func(question string) *mcp.ElicitResult
	// headers are sent with each request.
	headers http.Header
	// progress is called for each progress notification.
	progress func(*mcp.ProgressNotificationParams)
}

type withHeaders struct {
	http.RoundTripper
	headers http.Header
}

func (h withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, h.headers)
	return h.RoundTripper.RoundTrip(r)
}

// connect opens a session.
func (m mcpClient) connect(t *testing.T, c *caller) *mcp.ClientSession {
	t.Helper()
	options := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			if m.progress != nil {
				m.progress(r.Params)
			}
		},
	}
	if m.answers != nil {
		options.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return m.answers(r.Params.Message), nil
		}
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: c.Gateway + "/mcp", HTTPClient: &http.Client{Transport: withHeaders{transport, m.headers}}, MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: m.version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// callTool calls a tool and returns the texts of the result. If the last text contains the facts of a task, it returns them
// as facts and not as text.
func callTool(ctx context.Context, t *testing.T, s *mcp.ClientSession, tool string, arguments any) (texts []string, facts map[string]string, r *mcp.CallToolResult) {
	t.Helper()
	p := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	p.SetProgressToken("p")
	r, err := s.CallTool(ctx, p)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	for _, content := range r.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	if n := len(texts); tool == "call_agent" && (!r.IsError || n != 1) {
		if err := json.Unmarshal([]byte(texts[n-1]), &facts); err != nil {
			t.Fatalf("%s: the last text is %s", tool, texts[n-1])
		}
		texts = texts[:n-1]
	}
	return texts, facts, r
}

// eachVersion runs a test with each version of MCP.
func eachVersion(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()
	for _, version := range mcpVersions {
		t.Run(version, func(t *testing.T) { test(t, version) })
	}
}

func TestMCPClientFindsAnAgentAndCallsIt(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		c := newCaller(t, sidecartest.TextAgent)
		s := mcpClient{version: version}.connect(t, c)
		if got := cmp.Or(s.InitializeResult().ProtocolVersion, version); got != version {
			t.Errorf("the version is %s, want %s", got, version)
		}
		listed, err := s.ListTools(t.Context(), nil)
		if err != nil || len(listed.Tools) != 3 {
			t.Fatalf("ListTools() = %+v, %v", listed, err)
		}
		texts, _, r := callTool(t.Context(), t, s, "find_agents", map[string]any{"q": "says", "remote": false, "tag": []string{"a", "b"}, "ready": true})
		if r.IsError || len(texts) != 1 || !strings.Contains(texts[0], `"url":"`+c.Gateway+`/agents/team/echo/"`) {
			t.Errorf("find_agents = %v", texts)
		}
		structured, _ := json.Marshal(r.StructuredContent)
		if !bytes.Contains(structured, []byte(`"total":1`)) {
			t.Errorf("structured content = %s", structured)
		}
		if got := c.registry.queries(); len(got) != 1 || got[0] != "limit=20&q=says&ready=true&remote=false&tag=a&tag=b" {
			t.Errorf("the registry was asked %v", got)
		}
		texts, _, r = callTool(t.Context(), t, s, "get_agent", map[string]any{"agent": "team/echo"})
		if r.IsError || len(texts) != 1 || !strings.Contains(texts[0], `"card":{`) || strings.Contains(texts[0], c.agent.URL) {
			t.Errorf("get_agent = %v", texts)
		}
		texts, facts, r := callTool(t.Context(), t, s, "call_agent", map[string]any{"agent": "team/echo", "message": "Hi"})
		if r.IsError || !slices.Equal(texts, []string{"Hello world"}) || facts["state"] != "completed" || facts["taskId"] == "" || facts["contextId"] == "" || facts["agent"] != "team/echo" {
			t.Errorf("call_agent = %v %v", texts, facts)
		}
	})
}

func TestMCPCallShowsTheProgressOfTheAgent(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		proceed, texts := make(chan struct{}), make(chan string, 16)
		c := newCaller(t, sidecartest.HeldAgent(proceed))
		var once sync.Once
		s := mcpClient{version: version, progress: func(p *mcp.ProgressNotificationParams) {
			if strings.Contains(p.Message, "one") {
				once.Do(func() { close(proceed) })
			}
			texts <- p.Message
		}}.connect(t, c)
		got, facts, _ := callTool(t.Context(), t, s, "call_agent", map[string]any{"agent": "team/echo", "message": "Hi"})
		if !slices.Equal(got, []string{"one two"}) || facts["state"] != "completed" {
			t.Errorf("call_agent = %v %v", got, facts)
		}
		// The agent continues only after the first notification, so this notification came before the result.
		if len(texts) == 0 {
			t.Error("no progress")
		}
	})
}

func TestMCPCallAsksTheUserWhatTheAgentAsks(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		c := newCaller(t, sidecartest.AskingAgent)
		var asked []string
		s := mcpClient{version: version, answers: func(question string) *mcp.ElicitResult {
			asked = append(asked, question)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "The first"}}
		}}.connect(t, c)
		texts, facts, r := callTool(t.Context(), t, s, "call_agent", map[string]any{"agent": "team/echo", "message": "Do it"})
		if r.IsError || !slices.Equal(texts, []string{"That one"}) || facts["state"] != "completed" {
			t.Errorf("call_agent = %v %v", texts, facts)
		}
		if !slices.Equal(asked, []string{"Agent team/echo asks: Which?"}) {
			t.Errorf("the user was asked %q", asked)
		}
	})
}

func TestMCPUserDeclinesToAnswer(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		c := newCaller(t, sidecartest.AskingAgent)
		s := mcpClient{version: version, answers: func(string) *mcp.ElicitResult { return &mcp.ElicitResult{Action: "decline"} }}.connect(t, c)
		texts, facts, r := callTool(t.Context(), t, s, "call_agent", map[string]any{"agent": "team/echo", "message": "Do it"})
		if r.IsError || len(texts) == 0 || texts[0] != "The user did not answer the question of the agent." || facts["state"] != "input-required" || facts["taskId"] == "" {
			t.Errorf("call_agent = %v %v", texts, facts)
		}
	})
}

func TestMCPClientWithoutAUserContinuesTheTask(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		c := newCaller(t, sidecartest.AskingAgent)
		s := mcpClient{version: version}.connect(t, c)
		texts, facts, r := callTool(t.Context(), t, s, "call_agent", map[string]any{"agent": "team/echo", "message": "Do it"})
		if r.IsError || !slices.Equal(texts, []string{"Which?"}) || facts["state"] != "input-required" || !strings.Contains(facts["next"], "call call_agent again with this taskId") {
			t.Fatalf("call_agent = %v %v", texts, facts)
		}
		task := facts["taskId"]
		texts, facts, r = callTool(t.Context(), t, s, "call_agent", map[string]any{"agent": "team/echo", "message": "The first", "taskId": task})
		if r.IsError || !slices.Equal(texts, []string{"That one"}) || facts["state"] != "completed" || facts["taskId"] != task {
			t.Errorf("call_agent = %v %v", texts, facts)
		}
		// For a task that has ended, the tool returns the same answer again.
		texts, _, r = callTool(t.Context(), t, s, "call_agent", map[string]any{"agent": "team/echo", "taskId": task})
		if r.IsError || !slices.Equal(texts, []string{"That one"}) {
			t.Errorf("call_agent = %v", texts)
		}
	})
}

func TestMCPCallReturnsFiles(t *testing.T) {
	c := newCaller(t, sidecartest.NDJSONAgent(
		`{"kind":"artifact-update","artifact":{"artifactId":"a","name":"plot","parts":[`+
			`{"kind":"text","text":"See"},{"kind":"data","data":{"n":9007199254740993}},{"kind":"file","file":{"bytes":"aGk=","mimeType":"image/png","name":"p.png"}},`+
			`{"kind":"file","file":{"bytes":"aGk=","mimeType":"audio/wav"}},{"kind":"file","file":{"bytes":"aGk=","mimeType":"application/pdf","name":"a b.pdf"}},`+
			`{"kind":"file","file":{"uri":"https://example.com/x","name":"x"}}]}}`))
	s := mcpClient{}.connect(t, c)
	_, _, r := callTool(t.Context(), t, s, "call_agent", map[string]any{"agent": "team/echo", "message": "Hi"})
	var got []string
	for _, content := range r.Content[:len(r.Content)-1] {
		switch each := content.(type) {
		case *mcp.TextContent:
			got = append(got, "text "+each.Text)
		case *mcp.ImageContent:
			got = append(got, "image "+each.MIMEType+" "+string(each.Data))
		case *mcp.AudioContent:
			got = append(got, "audio "+each.MIMEType+" "+string(each.Data))
		case *mcp.EmbeddedResource:
			got = append(got, "resource "+each.Resource.MIMEType+" "+string(each.Resource.Blob)+" "+each.Resource.URI[strings.LastIndex(each.Resource.URI, "/artifacts/"):])
		case *mcp.ResourceLink:
			got = append(got, "link "+each.URI+" "+each.Name)
		}
	}
	want := []string{"text See", `text {"n":9007199254740993}`, "image image/png hi", "audio audio/wav hi", "resource application/pdf hi /artifacts/a/4/a%20b.pdf", "link https://example.com/x x"}
	if !slices.Equal(got, want) {
		t.Errorf("content = %q, want %q", got, want)
	}
}

func TestMCPCallSendsDataAndFiles(t *testing.T) {
	bodies := make(chan string, 1)
	c := newCaller(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		bodies <- string(text)
		sidecartest.TextAgent(w, r)
	})
	s := mcpClient{}.connect(t, c)
	_, _, r := callTool(t.Context(), t, s, "call_agent", map[string]any{
		"agent": "team/echo", "message": "Read", "data": json.RawMessage(`{"n": 9007199254740993}`), "contextId": "c-1", "skill": "s",
		"files": []any{map[string]any{"name": "a.txt", "mediaType": "text/plain", "data": "aGk="}, map[string]any{"url": "https://example.com/x"}},
	})
	body := <-bodies
	for _, want := range []string{`"Read"`, `9007199254740993`, `"aGk="`, `"a.txt"`, `https://example.com/x`, `"c-1"`, `"a2a-operator.dev/skill":"s"`} {
		if r.IsError || !strings.Contains(body, want) {
			t.Errorf("the agent's request lacks %s: %s", want, body)
		}
	}
}

func TestMCPCallKeepsTheParentTaskAndTheTrace(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		type seen struct{ trace, body string }
		arrived := make(chan seen, 2)
		c := newCaller(t, func(w http.ResponseWriter, r *http.Request) {
			text, _ := io.ReadAll(r.Body)
			arrived <- seen{r.Header.Get("Traceparent"), string(text)}
			sidecartest.TextAgent(w, r)
		})
		const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
		parent := c.beginTurn(t)
		s := mcpClient{version: version, headers: http.Header{
			"A2a-Task-Id": {parent}, "Traceparent": {"00-" + trace + "-00f067aa0ba902b7-01"}, "Authorization": {"Bearer mine"},
		}}.connect(t, c)
		callTool(t.Context(), t, s, "call_agent", map[string]any{"agent": "team/echo", "message": "Hi"})
		got := <-arrived
		if !strings.Contains(got.trace, trace) || !strings.Contains(got.body, `"`+parent+`"`) {
			t.Errorf("the agent has seen %+v", got)
		}
		const other = "0af7651916cd43dd8448eb211c80319c"
		p := &mcp.CallToolParams{Name: "call_agent", Arguments: map[string]any{"agent": "team/echo", "message": "Hi"}, Meta: mcp.Meta{"traceparent": "00-" + other + "-00f067aa0ba902b7-01"}}
		if _, err := s.CallTool(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if got := <-arrived; !strings.Contains(got.trace, other) {
			t.Errorf("the agent has seen the trace %s, want that of the request's _meta", got.trace)
		}
	})
}

func TestMCPFailuresAreErrorsOfTheTool(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		c := newCaller(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintln(w) // ignored: the status follows
		})
		failing := newCaller(t, sidecartest.NDJSONAgent(`{"kind":"status-update","status":{"state":"failed","message":{"role":"agent","parts":[{"kind":"text","text":"No such city"}]}}}`))
		s, f := mcpClient{version: version}.connect(t, c), mcpClient{version: version}.connect(t, failing)
		for _, test := range []struct {
			session   *mcp.ClientSession
			tool      string
			arguments any
			want      string
		}{
			{f, "call_agent", map[string]any{"agent": "team/echo", "message": "x"}, "No such city"},
			{s, "call_agent", map[string]any{"agent": "team/nobody", "message": "x"}, "Agent team/nobody is not in the registry, or does not admit this agent: check its namespace and name"},
			{s, "call_agent", map[string]any{"agent": "echo", "message": "x"}, "agent: must be namespace/name"},
			{s, "call_agent", map[string]any{"agent": "team/../x", "message": "x"}, "agent: must be namespace/name"},
			{s, "call_agent", map[string]any{"agent": "team/echo"}, "message: is required"},
			{s, "call_agent", map[string]any{"agent": "team/echo", "message": "x", "taskId": "gone"}, "Task not found"},
			{s, "call_agent", map[string]any{"agent": "team/echo", "taskId": "gone"}, "Task not found"},
			{s, "call_agent", map[string]any{"agent": "team/echo", "nonsense": 1}, "nonsense: is not an argument of this tool"},
			{s, "call_agent", map[string]any{"agent": 1}, "agent: must be a string"},
			{s, "call_agent", map[string]any{"agent": "team/echo", "files": []any{map[string]any{"name": "x"}}}, "files[0]: must have data or url"},
			{s, "get_agent", map[string]any{"agent": "team/nobody"}, "The registry lists no agent team/nobody that this agent may see"},
			{s, "find_agents", map[string]any{"limit": 999}, "limit: must be 1 to 200"},
		} {
			texts, _, r := callTool(t.Context(), t, test.session, test.tool, test.arguments)
			if !r.IsError || len(texts) == 0 || !strings.Contains(texts[0], test.want) {
				t.Errorf("%s %v = %v, error %t, want %s", test.tool, test.arguments, texts, r.IsError, test.want)
			}
		}
		if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "delete_agent"}); err == nil || !strings.Contains(err.Error(), "delete_agent") {
			t.Errorf("an unknown tool: %v", err)
		}
	})
}

// TestMCPCancelCancelsTheTask cancels the request while the agent works.
func TestMCPCancelCancelsTheTask(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		canceled := make(chan struct{})
		c := newCaller(t, func(w http.ResponseWriter, r *http.Request) {
			sidecartest.HeldAgent(nil)(w, r)
			close(canceled)
		})
		working := make(chan struct{})
		var once sync.Once
		s := mcpClient{version: version, progress: func(p *mcp.ProgressNotificationParams) {
			if strings.Contains(p.Message, "one") {
				once.Do(func() { close(working) })
			}
		}}.connect(t, c)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			<-working
			cancel()
		}()
		p := &mcp.CallToolParams{Name: "call_agent", Arguments: map[string]any{"agent": "team/echo", "message": "Hi"}}
		p.SetProgressToken("p")
		if _, err := s.CallTool(ctx, p); err == nil {
			t.Fatal("the canceled call succeeds")
		}
		select {
		case <-canceled:
		case <-time.After(20 * time.Second):
			t.Fatal("the agent still works")
		}
	})
}

// TestGatewayRejectsWebPages sends the requests that a page of another origin can make a browser send.
func TestGatewayRejectsWebPages(t *testing.T) {
	c := newCaller(t, sidecartest.TextAgent)
	for name, header := range map[string][2]string{
		"a foreign origin": {"Origin", "https://evil.example"}, "a rebound name": {"Host", "evil.example"}, "no origin": {"Origin", "null"},
	} {
		for _, path := range []string{"/mcp", "/", "/.well-known/agent-card.json"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.Gateway+path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			if r.Header.Set(header[0], header[1]); header[0] == "Host" {
				r.Host = header[1]
			}
			response, err := sidecartest.Plain(t).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode != http.StatusForbidden {
				t.Errorf("%s, %s: %d", name, path, response.StatusCode)
			}
		}
	}
}

// TestInvalidRegistryResponseFailsTheTools makes the registry send invalid responses.
func TestInvalidRegistryResponseFailsTheTools(t *testing.T) {
	c := newCaller(t, sidecartest.TextAgent)
	s := mcpClient{}.connect(t, c)
	for name, answer := range map[string]string{
		"a page":           `<html>`,
		"text for entries": `{"items":["x"],"total":1}`,
		"a hostile name":   `{"items":[{"namespace":"team","name":"../../mcp","url":"http://x/"}],"total":1}`,
		"another agent":    `{"namespace":"team","name":"other","url":"http://x/"}`,
	} {
		c.registry.answerWith(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
		if texts, _, r := callTool(t.Context(), t, s, "find_agents", map[string]any{}); !r.IsError || !strings.Contains(texts[0], "sent an invalid response") {
			t.Errorf("%s: find_agents = %v", name, texts)
		}
		if texts, _, r := callTool(t.Context(), t, s, "call_agent", map[string]any{"agent": "team/liar", "message": "x"}); !r.IsError {
			t.Errorf("%s: call_agent = %v", name, texts)
		}
	}
}

// TestA2AClientsFindAgentsAtTheGateway gives the official clients the address of the gateway.
func TestA2AClientsFindAgentsAtTheGateway(t *testing.T) {
	for name, resolve := range map[string]opener{
		"a2a-go v2.4.0, JSON-RPC":   newV1(newsdk.Version, newsdk.TransportProtocolJSONRPC),
		"a2a-go v2.4.0, HTTP+JSON":  newV1(newsdk.Version, newsdk.TransportProtocolHTTPJSON),
		"a2a-go v0.3.15, JSON-RPC":  newV03(oldsdk.TransportProtocolJSONRPC),
		"a2a-go v0.3.15, HTTP+JSON": newV03(oldsdk.TransportProtocolHTTPJSON),
	} {
		t.Run(name, func(t *testing.T) {
			c := newCaller(t, sidecartest.TextAgent)
			client, err := resolve(t.Context(), target{client: sidecartest.Plain(t), url: c.Gateway})
			if err != nil {
				t.Fatalf("resolve: %v", err)
			}
			events, err := collect(client.stream(t.Context(), message{Text: "says"}))
			if text := fmt.Sprintf("%+v", events); err != nil || len(events) != 1 || !strings.Contains(text, c.Gateway+"/agents/team/echo/") {
				t.Errorf("stream = %+v, %v", events, err)
			}
			if got := c.registry.queries(); len(got) != 1 || got[0] != "q=says" {
				t.Errorf("the registry was asked %v", got)
			}
		})
	}
}
