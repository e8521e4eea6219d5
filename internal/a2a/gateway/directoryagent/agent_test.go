// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package directoryagent

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/registryclient"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/inprocess"
)

// newAgent returns an agent in front of a fake registry, and the requests that the
// registry receives.
func newAgent(t *testing.T, registry http.HandlerFunc) (agent *Handler, asked *[]string) {
	t.Helper()
	asked = &[]string{}
	transport := &inprocess.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.Host+" "+r.RequestURI)
		registry(w, r)
	})}
	budget := limit.NewBudget(64<<20, time.Second)
	return New(Options{
		Registry: &registryclient.Client{Gateway: transport}, Version: "1.2.3", Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Limits: &httpcall.Limits{MaxBody: func() int64 { return 1 << 20 }, Bodies: budget, Answers: budget, WriteTimeout: time.Second, Now: time.Now},
	}), asked
}

func answering(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// do sends a request to the agent at 127.0.0.1:8643.
func do(t *testing.T, agent http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:8643"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	agent.ServeHTTP(w, r)
	return w
}

const found = `{"items":[{"namespace":"team","name":"echo","description":"Says things","url":"http://127.0.0.1:8643/agents/team/echo/","ready":true},` +
	`{"namespace":"team","name":"new"}],"nextCursor":"c2","total":7}`

const summary = `team/echo: Says things http://127.0.0.1:8643/agents/team/echo/\nteam/new (not ready)\n7 agents match in all: for more, search again with cursor c2`

// TestEveryVersionFindsAgents sends a search in each version and binding.
func TestEveryVersionFindsAgents(t *testing.T) {
	for name, test := range map[string]struct {
		path, body string
		headers    []string
	}{
		"JSON-RPC 0.1": {"/", `{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{"id":"t","message":{"role":"user","parts":[{"type":"text","text":"says things"}]}}}`, nil},
		"stream 0.1":   {"/", `{"jsonrpc":"2.0","id":1,"method":"tasks/sendSubscribe","params":{"id":"t","message":{"role":"user","parts":[{"type":"text","text":"says things"}]}}}`, nil},
		"JSON-RPC 0.3": {"/", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"says things"}]}}}`, nil},
		"JSON-RPC 1.0": {"/", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"says things"}]}}}`, []string{"A2A-Version", "1.0"}},
		"stream 0.3":   {"/", `{"jsonrpc":"2.0","id":1,"method":"message/stream","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"says things"}]}}}`, nil},
		"stream 1.0":   {"/", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"says things"}]}}}`, []string{"A2A-Version", "1.0"}},
		"REST 0.3":     {"/v1/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"says things"}]}}`, nil},
		"REST 1.0":     {"/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"says things"}]}}`, []string{"A2A-Version", "1.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			agent, asked := newAgent(t, answering(http.StatusOK, found))
			w := do(t, agent, "POST", test.path, test.body, test.headers...)
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), summary) || !strings.Contains(w.Body.String(), `"total":7`) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if len(*asked) != 1 || (*asked)[0] != "127.0.0.1:8643 /registry/v1/agents?q=says+things" {
				t.Errorf("the registry was asked %q", *asked)
			}
		})
	}
}

// message10 returns a request of 1.0 whose message has the given parts. more are the
// members that follow the parts.
func message10(parts, more string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[` + parts + `]` + more + `}}`
}

func TestMessagesBecomeRequestsOfTheRegistry(t *testing.T) {
	for name, test := range map[string]struct{ parts, more, asked, want string }{
		"nothing":            {`{"text":" "}`, `}`, "/registry/v1/agents?", `"total"`},
		"parameters":         {`{"data":{"skill":"echo","tag":["a","b"],"ready":true,"limit":3,"cursor":null}}`, `}`, "/registry/v1/agents?limit=3&ready=true&skill=echo&tag=a&tag=b", `"total"`},
		"data and text":      {`{"data":{"skill":"echo"}},{"text":"says"}`, `}`, "/registry/v1/agents?q=says&skill=echo", `"total"`},
		"a card by text":     {`{"text":"team/echo"}`, `,"metadata":{"a2a-operator.dev/skill":"get-card"}}`, "/registry/v1/agents/team/echo/card", `"items"`},
		"a card by data":     {`{"data":{"namespace":"team","name":"echo"}}`, `,"metadata":{"a2a-operator.dev/skill":"get-card"}}`, "/registry/v1/agents/team/echo/card", `"items"`},
		"only text accepted": {`{"text":"x"}`, `},"configuration":{"acceptedOutputModes":["text/*"]}`, "/registry/v1/agents?q=x", `"parts":[{"text":`},
		"no parameter":       {`{"data":{"skil":"x"}}`, `}`, "", "skil: is not a parameter of this search; use q, text, skill"},
		"a nested value":     {`{"data":{"skill":{"x":1}}}`, `}`, "", "skill: must be a string"},
		"no object":          {`{"data":[1]}`, `}`, "", "must be an object with parameters"},
		"two data parts":     {`{"data":{}},{"data":{}}`, `}`, "", "message.parts[1]: is a second data part"},
		"a file":             {`{"url":"https://example.com/x"}`, `}`, "", "message.parts[0]: is a file"},
		"no such skill":      {`{"text":"x"}`, `,"metadata":{"a2a-operator.dev/skill":"sing"}}`, "", "names no skill of the directory; use find-agents or get-card"},
		"no agent's name":    {`{"text":"../../x"}`, `,"metadata":{"a2a-operator.dev/skill":"get-card"}}`, "", "must name one agent, such as team/echo"},
		"a task":             {`{"text":"x"}`, `,"taskId":"t"}`, "", "Task not found"},
	} {
		t.Run(name, func(t *testing.T) {
			agent, asked := newAgent(t, answering(http.StatusOK, found))
			w := do(t, agent, "POST", "/", message10(test.parts, test.more), "A2A-Version", "1.0")
			got := strings.TrimPrefix(strings.Join(*asked, " "), "127.0.0.1:8643 ")
			if got != test.asked || !strings.Contains(w.Body.String(), test.want) {
				t.Errorf("asked %q; answered %s", got, w.Body)
			}
		})
	}
}

// TestRegistryFailuresAreErrorsOfTheProtocol makes the registry fail in each way, and
// checks the A2A errors.
func TestRegistryFailuresAreErrorsOfTheProtocol(t *testing.T) {
	for name, test := range map[string]struct {
		registry http.HandlerFunc
		reason   string
		text     string
	}{
		"bad parameter": {answering(http.StatusBadRequest, `{"error":{"code":"InvalidParameter","message":"must be 1 to 200","field":"limit"}}`), "INVALID_PARAMS", "limit: must be 1 to 200"},
		"unavailable":   {answering(http.StatusServiceUnavailable, `{"error":{"code":"Unavailable","message":"just started"}}`), "UNAVAILABLE", "just started"},
		"no JSON":       {answering(http.StatusOK, `<html>`), "UNAVAILABLE", "The registry sent an invalid response; try again"},
		"no page":       {answering(http.StatusOK, `{}`), "UNAVAILABLE", "The registry sent an invalid response; try again"},
		"a bare error":  {answering(http.StatusBadGateway, `x`), "UNAVAILABLE", "The registry sent an invalid response; try again"},
		"64 MB": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"items":["`)
			for chunk := []byte(strings.Repeat("x", 1<<20)); ; {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}, "UNAVAILABLE", "The registry sent an invalid response; try again"},
	} {
		t.Run(name, func(t *testing.T) {
			agent, _ := newAgent(t, test.registry)
			w := do(t, agent, "POST", "/", message10(`{"text":"x"}`, `}`), "A2A-Version", "1.0")
			if !strings.Contains(w.Body.String(), `"reason":"`+test.reason+`"`) || !strings.Contains(w.Body.String(), test.text) || !strings.Contains(w.Body.String(), `"error":{`) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
}

func TestCardHasURLsOfTheGateway(t *testing.T) {
	agent, _ := newAgent(t, answering(http.StatusInternalServerError, ""))
	for _, path := range []string{"/.well-known/agent-card.json", "/.well-known/agent.json", "/v1/card"} {
		w := do(t, agent, "GET", path, "")
		var card struct {
			Name, URL, Version  string
			SupportedInterfaces []struct{ URL string }
			Skills              []struct{ ID string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &card); err != nil || card.Name != "Agent directory" || card.Version != "1.2.3" || len(card.Skills) != 2 {
			t.Errorf("%s: %d %s, %v", path, w.Code, w.Body, err)
		}
		for _, i := range card.SupportedInterfaces {
			if !strings.HasPrefix(i.URL, "http://127.0.0.1:8643") {
				t.Errorf("%s: leads to %s", path, i.URL)
			}
		}
	}
}

func TestUnsupportedRequestsAreRejectedInTheFormOfTheProtocol(t *testing.T) {
	agent, _ := newAgent(t, answering(http.StatusInternalServerError, ""))
	for name, test := range map[string]struct {
		method, path, body string
		headers            []string
		status             int
		want               string
	}{
		"no such path":  {"GET", "/metrics", "", nil, 404, `"error":{"code":404`},
		"GET of /":      {"GET", "/", "", nil, 404, `"error":{"code":404`},
		"a task":        {"GET", "/tasks/t", "", []string{"A2A-Version", "1.0"}, 404, `"reason":"TASK_NOT_FOUND"`},
		"tasks":         {"GET", "/tasks", "", []string{"A2A-Version", "1.0"}, 200, `"tasks":[]`},
		"cancel":        {"POST", "/", `{"jsonrpc":"2.0","id":1,"method":"CancelTask","params":{"id":"t"}}`, []string{"A2A-Version", "1.0"}, 200, `"code":-32001`},
		"subscribe":     {"POST", "/", `{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"t"}}`, []string{"A2A-Version", "1.0"}, 200, `"code":-32001`},
		"a push config": {"POST", "/", `{"jsonrpc":"2.0","id":1,"method":"CreateTaskPushNotificationConfig","params":{"taskId":"t","url":"https://e.example"}}`, []string{"A2A-Version", "1.0"}, 200, `"code":-32003`},
		"extended card": {"POST", "/", `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard","params":{}}`, []string{"A2A-Version", "1.0"}, 200, `"code":-32004`},
	} {
		t.Run(name, func(t *testing.T) {
			w := do(t, agent, test.method, test.path, test.body, test.headers...)
			if w.Code != test.status || !strings.Contains(w.Body.String(), test.want) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:8643/lf.a2a.v1.A2AService/SendMessage", nil)
	r.Header.Set("Content-Type", "application/grpc")
	r.ProtoMajor = 2
	w := httptest.NewRecorder()
	agent.ServeHTTP(w, r)
	if !strings.Contains(w.Header().Get("Grpc-Message"), "JSON-RPC") && !strings.Contains(w.Result().Trailer.Get("Grpc-Message"), "JSON-RPC") {
		t.Errorf("gRPC: %v %v", w.Header(), w.Result().Trailer)
	}
}
