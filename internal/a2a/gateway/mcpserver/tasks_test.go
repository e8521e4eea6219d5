// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// taskClient sends requests of MCP 2026-07-28.
type taskClient struct {
	*fixture
	t            *testing.T
	capabilities string
}

// call sends a request, and returns its response without the envelope: the result or the error.
func (c *taskClient) call(method, name, params string) map[string]any {
	c.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":%s}}}`, method, params, c.capabilities)
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for key, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", headerVersion: sessionless, "Mcp-Method": method, "Mcp-Name": name,
	} {
		r.Header.Set(key, value)
	}
	response, err := c.client.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	if _, data, ok := strings.Cut(string(text), "data: "); ok {
		text = []byte(strings.SplitN(data, "\n", 2)[0])
	}
	var answer struct{ Result, Error map[string]any }
	if err := json.Unmarshal(text, &answer); err != nil {
		c.t.Fatalf("%s: %d %s", method, response.StatusCode, text)
	}
	if answer.Error != nil {
		return answer.Error
	}
	return answer.Result
}

const declares = `{"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{"form":{}}}`

// slowAgent is an agent whose task has a state that a test sets.
type slowAgent struct {
	mu    sync.Mutex
	state string // the status of the task in JSON
	sent  []string
}

func (a *slowAgent) set(state string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state = state
}

func (a *slowAgent) got() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.sent, " ")
}

func (a *slowAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	var request struct {
		Method string
		Params struct {
			ID      string
			Message struct{ Parts []struct{ Text string } }
		}
	}
	_ = json.Unmarshal(text, &request)
	a.mu.Lock()
	if request.Method != "GetTask" {
		a.sent = append(a.sent, request.Method)
		for _, p := range request.Params.Message.Parts {
			a.sent = append(a.sent, p.Text)
		}
	}
	task := `{"id":"t/1","contextId":"c","status":` + a.state + `,"artifacts":[{"artifactId":"a","parts":[{"text":"42"}]}]}`
	a.mu.Unlock()
	switch {
	case request.Method == "SendStreamingMessage":
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":"1","result":{"task":`+task+"}}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case request.Params.ID != "t/1":
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","error":{"code":-32001,"message":"no"}}`)
	default:
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":`+task+`}`)
	}
}

const (
	stateWorking   = `{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05Z","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"looking"}]}}`
	stateCompleted = `{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:04:06Z"}`
	stateCanceled  = `{"state":"TASK_STATE_CANCELED"}`
	stateAsks      = `{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"q1","role":"ROLE_AGENT","parts":[{"text":"Which?"}]}}`
)

// TestLongCallBecomesATask follows a call by the methods of tasksExtension to its end.
func TestLongCallBecomesATask(t *testing.T) {
	agent := &slowAgent{state: stateWorking}
	c := &taskClient{fixture: newFixture(t, agent.ServeHTTP), t: t, capabilities: declares}
	c.taskWait = time.Millisecond
	started := c.call("tools/call", ToolCall, `"name":"call_agent","arguments":{"agent":"team/echo","message":"x"}`)
	id, _ := started["taskId"].(string)
	if started["resultType"] != "task" || started["status"] != "working" || started["statusMessage"] != "looking" || !strings.HasPrefix(id, "team/echo/t%2F1/") ||
		started["createdAt"] != "2026-01-02T03:04:05Z" || started["lastUpdatedAt"] != "2026-01-02T03:04:05Z" || started["pollIntervalMs"] != 5000.0 {
		t.Fatalf("handle = %v", started)
	}
	if _, ok := started["ttlMs"]; !ok || c.seen() != "call_agent task" {
		t.Errorf("handle = %v, outcomes = %s", started, c.seen())
	}
	param := fmt.Sprintf(`"taskId":%q`, id)
	get := func() map[string]any { return c.call("tasks/get", id, param) }
	if got := get(); got["resultType"] != "complete" || got["status"] != "working" || got["taskId"] != id {
		t.Errorf("tasks/get = %v", got)
	}
	agent.set(stateAsks)
	requests := fmt.Sprint(get()["inputRequests"])
	key, asks, _ := strings.Cut(strings.TrimPrefix(requests, "map["), ":")
	if !strings.HasPrefix(asks, "map[method:elicitation/create params:map[message:Agent team/echo asks: Which?") {
		t.Errorf("inputRequests = %s", requests)
	}
	answer := func(key, action string) {
		t.Helper()
		got := c.call("tasks/update", id, param+`,"inputResponses":{"`+key+`":{"action":"`+action+`","content":{"answer":"the red one"}}}`)
		if got["resultType"] != "complete" {
			t.Errorf("tasks/update = %v", got)
		}
	}
	answer("other", "accept")
	if got := agent.got(); got != "SendStreamingMessage x" {
		t.Errorf("the agent got %s", got)
	}
	// The client has seen none of these questions, or must not ask its user.
	for _, other := range []string{
		strings.Replace(stateAsks, "Which?", "Delete all?", 1),
		strings.Replace(stateAsks, `"parts"`, `"metadata":{"inputRequest":{"requestId":"q1","sensitive":true}},"parts"`, 1),
		strings.Replace(stateAsks, `"parts"`, `"extensions":["https://example.com/approval"],"parts"`, 1),
	} {
		agent.set(other)
		answer(key, "accept")
		answer("q1", "accept")
		if got := agent.got(); got != "SendStreamingMessage x" {
			t.Errorf("the agent asks %s, and got %s", other, got)
		}
	}
	agent.set(stateAsks)
	answer(key, "accept")
	if got := agent.got(); got != "SendStreamingMessage x SendStreamingMessage the red one" {
		t.Errorf("the agent got %s", got)
	}
	answer(key, "decline")
	if got := get(); got["status"] != "completed" || !strings.Contains(fmt.Sprint(got["result"]), notAnswered) {
		t.Errorf("tasks/get after the user has declined = %v", got)
	}
	agent.set(stateCompleted)
	if got := get(); got["status"] != "completed" || !strings.HasPrefix(fmt.Sprint(got["result"]), "map[content:[map[text:42 type:text]") || got["inputRequests"] != nil {
		t.Errorf("tasks/get = %v", got)
	}
	agent.set(stateCanceled)
	if got := get(); got["status"] != "cancelled" || got["result"] != nil {
		t.Errorf("tasks/get = %v", got)
	}
	if got := c.call("tasks/cancel", id, param); got["resultType"] != "complete" || !strings.HasSuffix(agent.got(), " CancelTask") {
		t.Errorf("tasks/cancel = %v, the agent got %s", got, agent.got())
	}
	c.awaitRelease(t)
}

// TestTasksNeedTheExtension checks that a client that does not declare the extension gets no handle and
// no task, and that other tasks do not exist.
func TestTasksNeedTheExtension(t *testing.T) {
	agent := &slowAgent{state: stateAsks}
	c := &taskClient{fixture: newFixture(t, agent.ServeHTTP), t: t, capabilities: "{}"}
	c.taskWait = time.Millisecond
	if got := c.call("tools/call", ToolCall, `"name":"call_agent","arguments":{"agent":"team/echo","message":"x"}`); got["resultType"] != "complete" {
		t.Errorf("tools/call = %v", got)
	}
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		c.capabilities = "{}"
		got := c.call(method, "team/echo/t%2F1/x", `"taskId":"team/echo/t%2F1/x","inputResponses":{}`)
		if got["code"] != -32021.0 || !strings.Contains(fmt.Sprint(got["data"]), tasksExtension) {
			t.Errorf("%s without the extension = %v", method, got)
		}
		c.capabilities = declares
		for _, id := range []string{"", "x", "team/echo", "team/echo/", "team/echo/%zz", "Team_/echo/t", "team/echo/other/x", "team/echo/t%2F1/" + strings.Repeat("x", maxTaskID)} {
			if got := c.call(method, id, fmt.Sprintf(`"taskId":%q,"inputResponses":{}`, id)); got["code"] != -32602.0 {
				t.Errorf("%s of %.40q = %v", method, id, got)
			}
		}
	}
	if got := c.call("server/discover", "", `"x":1`); !strings.Contains(fmt.Sprint(got["capabilities"]), tasksExtension) {
		t.Errorf("server/discover = %v", got)
	}
}

// TestShortCallIsNoTask checks that a call that ends in time has its result.
func TestShortCallIsNoTask(t *testing.T) {
	agent := &slowAgent{state: stateCompleted}
	c := &taskClient{fixture: newFixture(t, agent.ServeHTTP), t: t, capabilities: declares}
	got := c.call("tools/call", ToolCall, `"name":"call_agent","arguments":{"agent":"team/echo","message":"x"}`)
	if got["resultType"] != "complete" || !strings.HasPrefix(fmt.Sprint(got["content"]), "[map[text:42 type:text]") {
		t.Errorf("tools/call = %v", got)
	}
}
