// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/inprocess"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is an MCP server that calls a handler in place of the gateway.
type fixture struct {
	*Handler
	url    string
	client *http.Client

	mu       sync.Mutex
	outcomes []string
}

func newFixture(t *testing.T, gateway http.HandlerFunc) *fixture {
	t.Helper()
	f := &fixture{}
	budget := limit.NewBudget(64<<20, 100*time.Millisecond)
	f.Handler = New(Options{
		Gateway: &inprocess.Transport{Handler: gateway}, Version: "1.2.3", Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Limits: &httpcall.Limits{MaxBody: func() int64 { return 10 << 20 }, Bodies: budget, Answers: budget, WriteTimeout: time.Second, Now: time.Now},
		Observe: func(tool string, o Outcome) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.outcomes = append(f.outcomes, tool+" "+string(o))
		},
	})
	server := httptest.NewServer(f.Handler)
	f.url, f.client = server.URL, server.Client()
	t.Cleanup(func() {
		f.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return f
}

func (f *fixture) connect(t *testing.T, version string) *mcp.ClientSession {
	t.Helper()
	return f.connectAs(t, mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil), version)
}

func (f *fixture) connectAs(t *testing.T, client *mcp.Client, version string) *mcp.ClientSession {
	t.Helper()
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: f.url, HTTPClient: f.client, MaxRetries: -1, DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func (f *fixture) seen() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.outcomes, ", ")
}

// awaitRelease waits until no memory is charged. A client may receive its response before
// the end of the request releases the memory.
func (f *fixture) awaitRelease(t *testing.T) {
	t.Helper()
	used := f.options.Limits.Bodies.Used
	for deadline := time.Now().Add(10 * time.Second); used() != 0; {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes stay charged", used())
		}
		runtime.Gosched()
	}
}

// post sends a body that is not a request of the SDK.
func (f *fixture) post(t *testing.T, body io.Reader) (status int, text string) {
	t.Helper()
	return f.postAs(t, "", body)
}

// postAs is post with a version in the header of the request, "" for none.
func (f *fixture) postAs(t *testing.T, version string, body io.Reader) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if version != "" {
		r.Header.Set(headerVersion, version)
	}
	response, err := f.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(answer)
}

// letters is an endless request body.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestLargeRequestsAreDenied(t *testing.T) {
	f := newFixture(t, http.NotFound)
	head := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"call_agent","arguments":{"agent":"team/echo","message":"`
	for name, body := range map[string]io.Reader{
		"of 64 MB":          io.LimitReader(io.MultiReader(strings.NewReader(head), letters{}), 64<<20),
		"of a known length": strings.NewReader(head + strings.Repeat("x", 11<<20)),
	} {
		if status, text := f.post(t, body); status != http.StatusRequestEntityTooLarge || !strings.Contains(text, `"jsonrpc":"2.0"`) || !strings.Contains(text, "too large") {
			t.Errorf("%s: %d %.200s", name, status, text)
		}
	}
}

func TestInvalidRequestsCreateNoSession(t *testing.T) {
	f := newFixture(t, http.NotFound)
	for _, body := range []string{"", "x", "[]", "{}", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_agents"}}`, strings.Repeat("[", 100_000)} {
		if status, text := f.post(t, strings.NewReader(body)); status == http.StatusOK && !strings.Contains(text, `"error"`) {
			t.Errorf("%.40s: %d %s", body, status, text)
		}
	}
	if n := f.Sessions(); n != 0 {
		t.Errorf("there are %d sessions", n)
	}
}

// TestSessionsAreBounded opens one session more than maxSessions. The session that was
// idle for longest ends.
func TestSessionsAreBounded(t *testing.T) {
	f := newFixture(t, http.NotFound)
	if f.Sessions() != 0 {
		t.Error("there are sessions before the first request")
	}
	all := make([]*mcp.ClientSession, 0, maxSessions+1)
	for range maxSessions {
		all = append(all, f.connect(t, "2025-11-25"))
		f.awaitRelease(t) // a session is idle from the end of its last request
	}
	// After this request, the first session is no longer the one that was idle for longest.
	if err := all[0].Ping(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	f.awaitRelease(t)
	all = append(all, f.connect(t, "2025-11-25"))
	if n := f.Sessions(); n != maxSessions {
		t.Errorf("there are %d sessions, want %d", n, maxSessions)
	}
	for i, each := range all {
		if err := each.Ping(t.Context(), nil); (err != nil) != (i == 1) {
			t.Errorf("session %d: %v", i, err)
		}
		_ = each.Close()
	}
	if n := f.Sessions(); n != 0 {
		t.Errorf("there are %d sessions after all have ended", n)
	}
}

// TestOpeningSessionsCountOnce opens maxSessions sessions, the second half of them at the
// same time. No idle session ends.
func TestOpeningSessionsCountOnce(t *testing.T) {
	f := newFixture(t, http.NotFound)
	idle := make([]*mcp.ClientSession, 0, maxSessions/2)
	for range maxSessions / 2 {
		idle = append(idle, f.connect(t, "2025-11-25"))
	}
	// Each open request counts as one session. No request ends before all of them have
	// begun.
	s := f.open()
	var begun, all sync.WaitGroup
	begun.Add(maxSessions / 2)
	for range maxSessions / 2 {
		all.Go(func() {
			if !s.sessions.open(func() {
				s.sessions.nextID()
				begun.Done()
				begun.Wait()
			}) {
				t.Error("there is no place for a session")
			}
		})
	}
	all.Wait()
	for i, each := range idle {
		if err := each.Ping(t.Context(), nil); err != nil {
			t.Errorf("idle session %d: %v", i, err)
		}
	}
	if n := f.Sessions(); n != len(idle) {
		t.Errorf("there are %d sessions after %d opened", n, len(idle))
	}
}

// TestContextOfAnEndedSessionIsCanceled ends a session and then requests its context.
func TestContextOfAnEndedSessionIsCanceled(t *testing.T) {
	f := newFixture(t, http.NotFound)
	session := f.connect(t, "2025-11-25")
	s := f.open()
	if err := s.sessions.of(session.ID()).Err(); err != nil {
		t.Errorf("the context of an open session: %v", err)
	}
	s.sessions.end(session.ID())
	if s.sessions.of(session.ID()).Err() == nil || s.sessions.of("").Err() != nil {
		t.Errorf("the context of an ended session: %v, without a session: %v", s.sessions.of(session.ID()).Err(), s.sessions.of("").Err())
	}
}

// working returns an agent that begins a task and works until its caller disconnects. It
// sends to begun when a task begins, and to methods the method of each request.
func working(begun chan<- struct{}, methods chan<- string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		_, after, _ := strings.Cut(string(text), `"method":"`)
		method, _, _ := strings.Cut(after, `"`)
		methods <- method
		if method != "SendStreamingMessage" {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":{}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":"1","result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}}`+"\n\n")
		begun <- struct{}{}
		<-r.Context().Done()
	}
}

// TestEndOfTheSessionCancelsItsTasks deletes the session, or closes the server, during a
// call.
func TestEndOfTheSessionCancelsItsTasks(t *testing.T) {
	for name, end := range map[string]func(*fixture, *mcp.ClientSession){
		"deleted session": func(f *fixture, s *mcp.ClientSession) {
			r, _ := http.NewRequestWithContext(context.Background(), http.MethodDelete, f.url, nil)
			r.Header.Set(headerSession, s.ID())
			if response, err := f.client.Do(r); err == nil {
				_ = response.Body.Close()
			}
		},
		"closed server": func(f *fixture, _ *mcp.ClientSession) { f.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			begun, methods := make(chan struct{}, 1), make(chan string, 8)
			f := newFixture(t, working(begun, methods))
			s := f.connect(t, "2025-11-25")
			ended := make(chan error, 1)
			go func() {
				_, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: ToolCall, Arguments: map[string]any{"agent": "team/echo", "message": "x"}})
				ended <- err
			}()
			<-begun
			end(f, s)
			if err := <-ended; err == nil {
				t.Error("the call succeeds")
			}
			if first, second := <-methods, <-methods; first != "SendStreamingMessage" || second != "CancelTask" {
				t.Errorf("the agent got %s and %s", first, second)
			}
			if got := f.seen(); got != "call_agent canceled" {
				t.Errorf("outcomes = %s", got)
			}
		})
	}
}

// TestElicitationEndsAtItsTimeout asks a user who does not answer within the agent's
// timeout.
func TestElicitationEndsAtItsTimeout(t *testing.T) {
	const task = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":` +
		`{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"Which?"}],"metadata":{"inputRequest":{"requestId":"r","timeoutSeconds":0.05}}}}}`
	f := newFixture(t, func(w http.ResponseWriter, r *http.Request) {
		if text, _ := io.ReadAll(r.Body); strings.Contains(string(text), "GetTask") {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":`+task+`}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":"1","result":{"task":`+task+"}}\n\n")
	})
	asked, late := make(chan struct{}, 1), make(chan struct{})
	defer close(late)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked <- struct{}{}
			<-late
			return &mcp.ElicitResult{Action: "cancel"}, nil
		},
	})
	s := f.connectAs(t, client, "2025-11-25")
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: ToolCall, Arguments: map[string]any{"agent": "team/echo", "message": "x"}})
	if err != nil || r.IsError || r.Content[0].(*mcp.TextContent).Text != notAnswered {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := f.seen(); got != "call_agent input_required" || len(asked) != 1 {
		t.Errorf("outcomes = %s, the user was asked %d times", got, len(asked))
	}
}

// TestCallsAreBounded sends more calls in one request than may run at a time.
func TestCallsAreBounded(t *testing.T) {
	begun, methods := make(chan struct{}, maxCalls), make(chan string, 4*maxCalls)
	f := newFixture(t, working(begun, methods))
	s := f.connect(t, "2025-11-25")
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range maxCalls {
		group.Go(func() {
			_, _ = s.CallTool(ctx, &mcp.CallToolParams{Name: ToolCall, Arguments: map[string]any{"agent": "team/echo", "message": "x"}})
		})
	}
	for range maxCalls {
		<-begun
	}
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: ToolFind})
	if err != nil || !r.IsError || !strings.Contains(fmt.Sprint(r.Content[0].(*mcp.TextContent).Text), "Too many calls") {
		t.Errorf("%+v, %v", r, err)
	}
	cancel()
	group.Wait()
}

// TestRunningCallsAreCharged sends large messages to an agent that does not finish. The
// memory budget has room for some of the calls only.
func TestRunningCallsAreCharged(t *testing.T) {
	const size = 2 << 20
	begun, methods := make(chan struct{}, maxCalls), make(chan string, 4*maxCalls)
	f := newFixture(t, working(begun, methods))
	s := f.connect(t, "2025-11-25")
	used := f.options.Limits.Bodies.Used
	ctx, cancel := context.WithCancel(t.Context())
	call := func() error {
		_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: ToolCall, Arguments: map[string]any{"agent": "team/echo", "message": strings.Repeat("x", size)}})
		return err
	}
	// One caller may use half of three quarters of the budget of 64 MiB. Each call is
	// charged for four copies.
	const most = (64 << 20) * 3 / 4 / 2 / (4 * size)
	var group sync.WaitGroup
	for range most - 1 {
		group.Go(func() { _ = call() })
		<-begun
	}
	if got := used(); got < (most-1)*4*size {
		t.Errorf("%d bytes are charged for %d calls of %d", got, most-1, size)
	}
	if err := call(); err == nil || !strings.Contains(err.Error(), "Service Unavailable") && !strings.Contains(err.Error(), "held in memory") {
		t.Errorf("a call beyond the memory: %v", err)
	}
	cancel()
	group.Wait()
	f.awaitRelease(t)
}

// TestRequestsAtTheLimitsDoNotBlockAnswers opens as many requests as the limits of
// sessions and calls allow together. A client can still send notifications and answers.
func TestRequestsAtTheLimitsDoNotBlockAnswers(t *testing.T) {
	f := newFixture(t, http.NotFound)
	for range maxSessions + maxCalls {
		f.requests <- struct{}{}
	}
	if err := f.connect(t, "2025-11-25").Ping(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestInvalidAgentResponseFailsTheTool makes the agent send responses that are not A2A.
func TestInvalidAgentResponseFailsTheTool(t *testing.T) {
	stream := func(lines ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, line := range lines {
				_, _ = io.WriteString(w, "data: "+line+"\n\n")
			}
		}
	}
	endless := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			if _, err := io.WriteString(w, "data: "+strings.Repeat("x", 1<<20)); err != nil {
				return
			}
		}
	}
	wrap := func(result string) string { return `{"jsonrpc":"2.0","id":"1","result":` + result + `}` }
	for name, test := range map[string]struct {
		gateway http.HandlerFunc
		want    string
	}{
		"no JSON":          {stream("x"), "is not a response of A2A 1.0"},
		"no event":         {stream(wrap(`{"x":1}`)), "is not a response of A2A 1.0"},
		"no result":        {stream(`{"jsonrpc":"2.0","id":"1"}`), "is not a response of A2A 1.0"},
		"an endless event": {endless, "exceeds 5242880 bytes"},
		"an empty stream":  {stream(), "connection to the agent broke"},
		"a page":           {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, "is not a response of A2A 1.0"},
		"an error":         {stream(`{"jsonrpc":"2.0","id":"1","error":{"code":-32603,"message":"out of memory","data":{"x":1}}}`), "out of memory"},
		"a long error":     {stream(`{"jsonrpc":"2.0","id":"1","error":{"code":1,"message":"` + strings.Repeat("e", 100<<10) + `"}}`), "eee…"},
		"no task": {
			stream(wrap(`{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"text":"x"}]}}}`)), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, test.gateway)
			s := f.connect(t, "")
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: ToolCall, Arguments: map[string]any{"agent": "team/echo", "message": "x"}})
			if err != nil || !r.IsError || len(r.Content) != 1 {
				t.Fatalf("%+v, %v", r, err)
			}
			if text := r.Content[0].(*mcp.TextContent).Text; !strings.Contains(text, test.want) || len(text) > 4096 {
				t.Errorf("%.300s, want %s", text, test.want)
			}
			if got := f.seen(); got != "call_agent failed" {
				t.Errorf("outcomes = %s", got)
			}
		})
	}
}

// TestBrokenStreamIsResumedToItsEnd cuts the stream of an agent that cannot resume it. The call then reads the
// task again, and does not send the message a second time.
func TestBrokenStreamIsResumedToItsEnd(t *testing.T) {
	var mu sync.Mutex
	var methods []string
	f := newFixture(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		_, after, _ := strings.Cut(string(text), `"method":"`)
		method, _, _ := strings.Cut(after, `"`)
		mu.Lock()
		methods = append(methods, method)
		reads := strings.Count(strings.Join(methods, " "), "GetTask")
		mu.Unlock()
		switch method {
		case "SendStreamingMessage":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":"1","result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}}`+"\n\n")
			panic(http.ErrAbortHandler)
		case "SubscribeToTask":
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","error":{"code":-32004,"message":"no"}}`)
		case "GetTask":
			state := "TASK_STATE_WORKING"
			if reads > 1 {
				state = "TASK_STATE_COMPLETED"
			}
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":{"id":"t","contextId":"c","status":{"state":"`+state+`"},"artifacts":[{"artifactId":"a","parts":[{"text":"done"}]}]}}`)
		}
	})
	s := f.connect(t, "")
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: ToolCall, Arguments: map[string]any{"agent": "team/echo", "message": "x"}})
	if err != nil || r.IsError || r.Content[0].(*mcp.TextContent).Text != "done" {
		t.Errorf("%+v, %v", r, err)
	}
	if got := strings.Join(methods, " "); got != "SendStreamingMessage SubscribeToTask GetTask GetTask GetTask" {
		t.Errorf("the agent got %s", got)
	}
}

// TestStalledRegistryFailsTheTool calls a registry that never responds.
func TestStalledRegistryFailsTheTool(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	t.Parallel()
	f := newFixture(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s := f.connect(t, "")
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: ToolFind})
	if err != nil || !r.IsError || !strings.Contains(r.Content[0].(*mcp.TextContent).Text, "The registry did not answer within 10s; try again") {
		t.Errorf("%+v, %v", r, err)
	}
}

// stuck is a client that does not read its response.
type stuck struct {
	http.ResponseWriter
	deadlines int
}

func (s *stuck) SetWriteDeadline(time.Time) error { s.deadlines++; return nil }

func (*stuck) Write([]byte) (int, error) { return 0, errors.New("deadline") }

func TestWritesAreBounded(t *testing.T) {
	s := &stuck{ResponseWriter: httptest.NewRecorder()}
	w := &boundedWriter{ResponseWriter: s, control: http.NewResponseController(s), timeout: time.Second, now: time.Now}
	if _, err := w.Write([]byte("x")); err == nil || s.deadlines != 2 {
		t.Errorf("%v after %d deadlines", err, s.deadlines)
	}
}

// TestRequestIsSmallBesidesItsArguments sends requests whose _meta decodes to much more than its text, and one that its session would remember.
// The arguments of a tool, which stay text, may have as many values.
func TestRequestIsSmallBesidesItsArguments(t *testing.T) {
	f := newFixture(t, func(http.ResponseWriter, *http.Request) {})
	values := strings.Repeat(`{},`, 100_000) + `{}`
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + ToolGet + `",` + params + `}}`
	}
	for name, test := range map[string]struct{ body, version, want string }{
		"values in _meta":     {call(`"_meta":{"x":[` + values + `]}`), sessionless, "too many values"},
		"values in arguments": {call(`"arguments":{"x":[` + values + `]}`), sessionless, "protocolVersion"}, // the SDK misses it
		"a large opening":     {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"x":"` + strings.Repeat("x", maxOpening) + `"}}`, "", "opens a session"},
	} {
		t.Run(name, func(t *testing.T) {
			status, text := f.postAs(t, test.version, strings.NewReader(test.body))
			if status != http.StatusBadRequest || !strings.Contains(text, test.want) {
				t.Errorf("%d %.300s, want 400 because of %s", status, text, test.want)
			}
		})
	}
}

func TestProgressTokenIsBounded(t *testing.T) {
	f := newFixture(t, func(http.ResponseWriter, *http.Request) { t.Error("the agent is called") })
	s := f.connect(t, "2025-11-25")
	params := &mcp.CallToolParams{Name: ToolCall, Arguments: map[string]any{"agent": "team/echo", "message": "x"}}
	params.SetProgressToken(strings.Repeat("x", maxProgressToken+1))
	r, err := s.CallTool(t.Context(), params)
	if err != nil || !r.IsError || !strings.Contains(fmt.Sprint(r.Content[0].(*mcp.TextContent).Text), "progressToken") {
		t.Errorf("%v, %+v", err, r)
	}
}
