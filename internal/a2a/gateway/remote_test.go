// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/delegation"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
	"github.com/a2a-operator/a2a-operator/test/exchangetest"
)

// fixture is a gateway with a fake transport. The transport reaches a registry with
// several agents, and a cluster in which only team/echo runs. It records the requests.
type fixture struct {
	t *testing.T
	h *Handler

	clock sync.Mutex
	now   time.Time

	mu    sync.Mutex
	asked []string
	// registry maps paths of the registry to responses. A missing path is answered with 404.
	// If the map is nil, the registry does not respond.
	registry map[string]string
	// status is the HTTP status of all responses of the registry, unless it is 0.
	status int
	// served are the requests to Remotes. called are the requests to hosts other than the
	// registry.
	served, called []string
	// header has the headers in the responses of agent echo.
	header http.Header
	// intercept is called for each request before the response. It may be nil.
	intercept func(*http.Request)
	// bodies are the bodies of responses of the registry, by path. They replace those in registry.
	bodies map[string]io.ReadCloser
	// remote serves the requests to Remotes. If it is nil, the response is the text "far".
	remote http.HandlerFunc
	tracer tracing.Tracer
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &fixture{t: t, now: time.Now(), registry: map[string]string{
		"/v1/agents/team/weather":      `{"namespace":"team","name":"weather","url":"https://w.example/a","remote":true,"cardDigest":"1","unknown":{}}`,
		"/v1/agents/team/weather/card": `{"name":"W"}`,
		"/v1/agents/team/stopped":      `{"namespace":"team","name":"stopped","url":"http://stopped.team.svc","cardDigest":"2"}`,
		"/v1/agents/team/new":          `{"namespace":"team","name":"new","url":"https://n.example","remote":true,"cardDigest":""}`,
		"/v1/agents/team/echo":         `{"namespace":"team","name":"echo","url":"http://echo.team.svc/"}`,
		"/v1/agents/team/busy":         `{"namespace":"team","name":"busy","url":"http://busy.team.svc/"}`,
		"/v1/agents/team/blocked":      `{"namespace":"team","name":"blocked","url":""}`,
		"/v1/agents/team/liar":         `{"namespace":"team","name":"echo","url":"http://echo.team.svc/"}`,
	}}
	r.h = New(&Config{RegistryURL: "http://registry:8444/", AgentURL: "http://{name}.{namespace}.svc", TokenFile: token, TokenURL: "http://registry:8444" + exchangetest.Path, Audience: "{name}.{namespace}"},
		Options{Tracer: &r.tracer, Transport: r, ObserveExchange: func(error) {}, Remotes: r, Deny: plain, Bodies: limit.NewBudget(64<<20, time.Second), Log: slog.New(slog.DiscardHandler), Now: r.time})
	return r
}

// time returns the time of the gateway, which also reads it in the background.
func (r *fixture) time() time.Time {
	r.clock.Lock()
	defer r.clock.Unlock()
	return r.now
}

// pass lets time pass.
func (r *fixture) pass(d time.Duration) {
	r.clock.Lock()
	defer r.clock.Unlock()
	r.now = r.now.Add(d)
}

// RoundTrip implements http.RoundTripper.
func (r *fixture) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.intercept != nil {
		r.intercept(req)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	w := httptest.NewRecorder()
	if req.URL.Host != "registry:8444" {
		r.called = append(r.called, req.Method+" "+req.URL.Host+" "+req.Header.Get("Authorization"))
	}
	switch req.URL.Host {
	case "echo.team.svc":
		maps.Copy(w.Header(), r.header)
		_, _ = w.WriteString("echo")
		response := w.Result()
		response.Request = req
		return response, nil
	case "busy.team.svc":
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	case "registry:8444":
	default:
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: req.URL.Host, IsNotFound: true}}
	}
	if exchangetest.Serve(w, req) {
		return w.Result(), nil
	}
	r.asked = append(r.asked, req.URL.Path)
	if req.Header.Get("Authorization") != "Bearer secret" {
		r.t.Errorf("the registry was shown %q", req.Header.Get("Authorization"))
	}
	if r.registry == nil {
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	}
	if body := r.bodies[req.URL.Path]; body != nil {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: body}, nil
	}
	text, ok := r.registry[req.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
	} else if r.status != 0 {
		w.WriteHeader(r.status)
	}
	_, _ = w.WriteString(text)
	return w.Result(), nil
}

// ServeRemote implements Remotes.
func (r *fixture) ServeRemote(w http.ResponseWriter, req *http.Request, agent *Remote, base string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.served = append(r.served, fmt.Sprintf("%s %s at %s, card %s %s, by %s, shows %s%s", req.Method, req.URL.EscapedPath(), agent.URL,
		agent.Digest, agent.Card, base, req.Header.Get("Authorization"), req.Header.Get(headerTask)))
	if r.remote != nil {
		r.remote(w, req)
		return
	}
	_, _ = w.Write([]byte("far"))
}

// get returns the status and the text of a response of the gateway, and the requests that
// the registry received for it.
func (r *fixture) get(path string) (status int, text string, asked []string) {
	r.t.Helper()
	w := httptest.NewRecorder()
	req := httptest.NewRequestWithContext(r.t.Context(), http.MethodGet, "http://127.0.0.1:8643"+path, nil)
	req.Header.Set("Authorization", "mine")
	req.Header.Set(headerTask, "t-1")
	r.asked = nil
	r.h.ServeHTTP(w, req)
	return w.Code, strings.TrimSpace(w.Body.String()), r.asked
}

var weatherPaths = []string{"/v1/agents/team/weather", "/v1/agents/team/weather/card"}

func TestRemoteAgentIsServed(t *testing.T) {
	r := newFixture(t)
	status, text, asked := r.get("/agents/team/weather/v1/tasks/a%2Fb")
	if status != http.StatusOK || text != "far" || !cmp.Equal(asked, weatherPaths) {
		t.Fatalf("%d %s, registry was asked %q", status, text, asked)
	}
	_, _, _ = r.get("/agents/team/weather")
	want := []string{
		`GET /v1/tasks/a%2Fb at https://w.example/a, card 1 {"name":"W"}, by http://127.0.0.1:8643/agents/team/weather, shows mine`,
		`GET / at https://w.example/a, card 1 {"name":"W"}, by http://127.0.0.1:8643/agents/team/weather, shows mine`,
	}
	if diff := cmp.Diff(want, r.served); diff != "" {
		t.Errorf("served (-want +got):\n%s", diff)
	}
}

// If the registry lists no agent with the requested name, the gateway sends no token and
// opens no connection, even if a Service has this name.
func TestOnlyListedAgentsAreCalled(t *testing.T) {
	tests := map[string]struct {
		agent  string
		change func(*fixture)
		status int
		says   string
	}{
		"unknown":                 {agent: "nobody", status: 403, says: "Agent team/nobody is not in the registry, or does not admit this agent"},
		"a Service, but no agent": {agent: "echo", change: func(r *fixture) { delete(r.registry, "/v1/agents/team/echo") }, status: 403, says: "Agent team/echo is not in the registry"},
		"without a Service":       {agent: "blocked", status: 503, says: "Agent team/blocked has no Service yet: see the conditions of the Agent"},
		"listed as another":       {agent: "liar", status: 503, says: "the registry"},
		"no card yet":             {agent: "new", status: 503, says: "Agent team/new is a remote agent, and the operator has not read its card yet"},
		"registry is down":        {agent: "echo", change: func(r *fixture) { r.registry = nil }, status: 503, says: "the registry, in which the gateway looks agents up, does not answer"},
		"registry is starting":    {agent: "echo", change: func(r *fixture) { r.status = 503 }, status: 503, says: "the registry"},
		"registry redirects":      {agent: "echo", change: func(r *fixture) { r.status = 302 }, status: 503, says: "the registry"},
		"registry says no JSON":   {agent: "echo", change: func(r *fixture) { r.registry["/v1/agents/team/echo"] = "<html>" }, status: 503, says: "the registry"},
		"registry never ends": {
			agent: "echo", change: func(r *fixture) { r.registry["/v1/agents/team/echo"] = strings.Repeat(" ", maxEntry+1) },
			status: 503, says: "the registry",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newFixture(t)
			if test.change != nil {
				test.change(r)
			}
			status, text, _ := r.get("/agents/team/" + test.agent + "/x")
			if status != test.status || !strings.Contains(text, test.says) || !strings.HasPrefix(text, "/x: ") {
				t.Errorf("%d %s, want %d %s", status, text, test.status, test.says)
			}
			if len(r.served) > 0 || len(r.called) > 0 {
				t.Errorf("served %q, called %q", r.served, r.called)
			}
		})
	}
}

func TestConnectionFailuresAreExplained(t *testing.T) {
	r := newFixture(t)
	for path, want := range map[string]string{
		"/agents/team/stopped/": "Agent team/stopped has no Service: its name does not resolve",
		"/agents/team/busy/":    "Agent team/busy refuses connections: no pod of it is ready",
	} {
		if status, text, _ := r.get(path); status != http.StatusServiceUnavailable || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %s", path, status, text, want)
		}
	}
	if last := r.called[len(r.called)-1]; !strings.HasPrefix(last, "HEAD ") || strings.Contains(last, "Bearer") {
		t.Errorf("called %q", r.called)
	}
}

// TestTokenThatGRPCWebRefusesIsReplaced calls an agent that refuses a token by a gRPC-Web
// status. The HTTP status is 200.
func TestTokenThatGRPCWebRefusesIsReplaced(t *testing.T) {
	r := newFixture(t)
	exchanges := 0
	r.intercept = func(request *http.Request) {
		if request.URL.Path == exchangetest.Path {
			exchanges++
		}
	}
	for _, step := range []struct {
		status string
		want   int
	}{{"0", 1}, {"16", 1}, {"0", 2}} {
		r.header = http.Header{"Content-Type": {"application/grpc-web+proto"}, "Grpc-Status": {step.status}}
		if status, text, _ := r.get("/agents/team/echo/lf.a2a.v1.A2AService/GetTask"); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
		if exchanges != step.want {
			t.Errorf("%d tokens are issued until the response with status %s, want %d", exchanges, step.status, step.want)
		}
		r.pass(10 * time.Second)
	}
}

// TestListedAgentIsCached changes the registry step by step. After each step, it checks
// the response of an agent of the cluster and the lookups in the registry.
func TestListedAgentIsCached(t *testing.T) {
	r := newFixture(t)
	path := "/v1/agents/team/echo"
	entry, once := r.registry[path], []string{path}
	for _, s := range []struct {
		name   string
		later  time.Duration
		change func()
		status int
		asked  []string
	}{
		{name: "the gateway asks the registry", status: 200, asked: once},
		{name: "the gateway caches the answer", later: listedAge - time.Second, status: 200},
		{name: "the cached answer expires", later: time.Second, status: 200, asked: once},
		{name: "the cached answer is used while the registry fails", later: listedAge, change: func() { r.status = 500 }, status: 200, asked: once},
		{name: "no second request soon after the failure", later: retryAge - time.Second, status: 200},
		{name: "the cached answer is used for a longer outage", later: listedAgeLost - 2*listedAge, status: 200, asked: once},
		{name: "the cached answer expires in a long outage", later: 2 * listedAge, status: 503, asked: once},
		{name: "the registry has recovered", change: func() { r.status = 0 }, status: 200, asked: once},
		{name: "a deleted agent is not called", later: listedAge, change: func() { delete(r.registry, path) }, status: 403, asked: once},
		{name: "the gateway caches that the agent is missing", later: missingAge - time.Second, status: 403},
		{name: "the missing agent cannot be read while the registry fails", later: time.Second, change: func() { r.status = 500; r.registry[path] = entry }, status: 503, asked: once},
		{name: "the agent is created again", later: missingAge, change: func() { r.status = 0 }, status: 200, asked: once},
	} {
		r.pass(s.later)
		if s.change != nil {
			s.change()
		}
		r.called = nil
		status, text, asked := r.get("/agents/team/echo/")
		if status != s.status || !cmp.Equal(asked, s.asked) || (len(r.called) > 0) != (status == http.StatusOK) {
			t.Errorf("%s: %d %s, registry was asked %q, agent was called %q, want %d and %q", s.name, status, text, asked, r.called, s.status, s.asked)
		}
	}
}

// TestRemoteAgentIsCached does the same as TestListedAgentIsCached for a remote agent.
func TestRemoteAgentIsCached(t *testing.T) {
	r := newFixture(t)
	path := "/v1/agents/team/weather"
	steps := []struct {
		name   string
		later  time.Duration
		change func()
		status int
		asked  []string
	}{
		{name: "the gateway asks the registry", status: 200, asked: weatherPaths},
		{name: "the gateway caches the answer", later: listedAge - time.Second, status: 200},
		{name: "an unchanged card is not read again", later: 2 * time.Second, status: 200, asked: weatherPaths[:1]},
		{
			name: "another card is", later: listedAge, status: 200, asked: weatherPaths,
			change: func() {
				r.registry[path] = `{"namespace":"team","name":"weather","url":"https://w.example/a","remote":true,"cardDigest":"9"}`
			},
		},
		{name: "the cached answer is used while the registry fails", later: listedAge, change: func() { r.status = 500 }, status: 200, asked: weatherPaths[:1]},
		{name: "the cached answer is used for a longer outage", later: listedAgeLost - 2*listedAge, status: 200, asked: weatherPaths[:1]},
		{name: "the cached answer expires in a long outage", later: 2 * listedAge, status: 503, asked: weatherPaths[:1]},
		{name: "the registry has recovered", change: func() { r.status = 0 }, status: 200, asked: weatherPaths[:1]},
		{name: "an agent that the caller may not see any more is not called", later: listedAge, change: func() { delete(r.registry, path) }, status: 403, asked: weatherPaths[:1]},
		{name: "the gateway caches that the agent is missing", status: 403},
	}
	for _, s := range steps {
		r.pass(s.later)
		if s.change != nil {
			s.change()
		}
		status, text, asked := r.get("/agents/team/weather/")
		if status != s.status || !cmp.Equal(asked, s.asked) {
			t.Errorf("%s: %d %s, registry was asked %q, want %d and %q", s.name, status, text, asked, s.status, s.asked)
		}
	}
	if last := r.served[len(r.served)-1]; !strings.Contains(last, "card 9") {
		t.Errorf("served last %s", last)
	}
}

func TestCacheOfListedAgentsIsBounded(t *testing.T) {
	r := newFixture(t)
	for i := range maxKnown + 10 {
		_, _, _ = r.get(fmt.Sprintf("/agents/team/n-%d/", i))
	}
	if n := len(r.h.listings.known); n > maxKnown {
		t.Errorf("%d agents are remembered, want at most %d", n, maxKnown)
	}
	for i := range 20 {
		name := fmt.Sprintf("/v1/agents/team/large-%d", i)
		r.registry[name], r.registry[name+"/card"] = fmt.Sprintf(`{"namespace":"team","name":"large-%d","remote":true,"cardDigest":"1"}`, i), strings.Repeat("x", 1<<20)
		_, _, _ = r.get(fmt.Sprintf("/agents/team/large-%d/", i))
		held := 0
		for _, e := range r.h.listings.known {
			held += e.size()
		}
		if held > maxCards || held != r.h.listings.cards {
			t.Fatalf("cards of %d bytes are held, counted as %d", held, r.h.listings.cards)
		}
	}
}

// Concurrent calls of one agent share one lookup in the registry.
func TestConcurrentCallsShareOneLookup(t *testing.T) {
	r := newFixture(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			w := httptest.NewRecorder()
			r.h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/agents/team/weather/", nil))
			if w.Code != http.StatusOK {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	all.Wait()
	cards := 0
	for _, path := range r.asked {
		if strings.HasSuffix(path, "/card") {
			cards++
		}
	}
	if cards != 1 {
		t.Errorf("registry was asked %q", r.asked)
	}
}

// TestCallOfATurnThatHasEndedIsRefused checks that a request with the task of a turn that does not run reaches neither an agent nor the registry, and
// that the error names the header.
func TestCallOfATurnThatHasEndedIsRefused(t *testing.T) {
	f := newFixture(t)
	f.h.options.Turns = &delegation.Turns{}
	end := f.h.options.Turns.Begin("t-1", nil)
	if status, text, _ := f.get("/agents/team/weather/"); status != http.StatusOK {
		t.Errorf("in the turn: %d %s", status, text)
	}
	end()
	for _, path := range []string{"/agents/team/weather/", "/agents/team/echo/", "/agents/team/echo/.well-known/agent-card.json"} {
		if status, text, asked := f.get(path); status == http.StatusOK || !strings.Contains(text, "A2A-Task-Id names a task of which no turn runs") || len(asked) > 0 {
			t.Errorf("%s after the turn: %d %s, asked %q", path, status, text, asked)
		}
	}
	if len(f.served) != 1 {
		t.Errorf("calls of remote agents: %q", f.served)
	}
}

// TestCallOfATurnWhoseIDAHeaderCannotHold sends the header back that the container gets with the turn, for ids that clients of A2A 0.1 choose.
func TestCallOfATurnWhoseIDAHeaderCannotHold(t *testing.T) {
	subject := &a2a.Subject{Principal: "one", Owner: "one"}
	for _, id := range []string{"order 7", "ä", "50%", "%20", " a ", "a\nb"} {
		turns := &delegation.Turns{}
		turns.Begin(id, subject)
		f := newFixture(t)
		f.h.options.Turns = turns
		header := stream.Header(&backend.Turn{TaskID: id}, "")
		var toCancel *a2a.Subject
		f.h.Mount(Endpoints{MCP: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			toCancel = delegation.From(delegation.Canceling(r.Context()))
		})})
		for _, path := range []string{"/agents/team/weather/", MCPPath} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1"+path, strings.NewReader("{}"))
			r.Header.Set(headerTask, header["A2A-Task-Id"][0]) //nolint:staticcheck // the documented case
			w := httptest.NewRecorder()
			f.h.ServeHTTP(w, r)
			if w.Code != http.StatusOK {
				t.Errorf("a call of the turn of %q by %s: %d %s", id, path, w.Code, w.Body)
			}
		}
		if toCancel != subject {
			t.Errorf("the calls of tools of %q are canceled for %+v", id, toCancel)
		}
	}
}

// TestUsersOfRemoteAgents checks that Remotes learn of the subject only for an agent that needs a token of its users, also through headers of
// the container.
func TestUsersOfRemoteAgents(t *testing.T) {
	one := &a2a.Subject{Principal: "one", Owner: "one", Credential: "token-one"}
	for name, test := range map[string]struct {
		credential string
		task       string
		want       *a2a.Subject
	}{
		"one credential":       {`{"header":"X-K","value":"shared","expiresIn":60,"static":true}`, "task-of-one", nil},
		"none":                 {`{"expiresIn":60,"static":true}`, "task-of-one", nil},
		"one for each user":    {`{"header":"X-K","value":"for the client","expiresIn":60,"exchanges":true}`, "task-of-one", one},
		"without a turn":       {`{"header":"X-K","value":"for the client","expiresIn":60,"exchanges":true}`, "", nil},
		"an unreadable answer": {`<html>`, "task-of-one", one},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.h.options.Turns = &delegation.Turns{}
			defer f.h.options.Turns.Begin("task-of-one", one)()
			f.h.config.Load().CredentialURL = "http://registry:8444/v1/remote-credential"
			f.registry["/v1/remote-credential"] = test.credential
			f.intercept = func(r *http.Request) {
				if body, _ := io.ReadAll(r.Body); r.URL.Path == "/v1/remote-credential" && !strings.Contains(string(body), `"origin":"https://w.example"`) {
					t.Errorf("request for a credential: %s", body)
				}
			}
			served := false
			f.remote = func(_ http.ResponseWriter, r *http.Request) {
				served = true
				if got := delegation.From(r.Context()); !cmp.Equal(got, test.want) || r.Header.Get("A2A-Task-Id") != "" {
					t.Errorf("subject %+v and task %q, want %+v", got, r.Header.Get("A2A-Task-Id"), test.want)
				}
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/agents/team/weather/", strings.NewReader("{}"))
			r.Header.Set("A2A-Task-Id", test.task)
			f.h.ServeHTTP(httptest.NewRecorder(), r)
			if !served {
				t.Error("the call is not served")
			}
		})
	}
}
