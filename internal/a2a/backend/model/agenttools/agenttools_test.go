// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agenttools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/completions"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model/agenttools"
	"github.com/a2a-operator/a2a-operator/internal/a2a/directory"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/agentclient"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/registryclient"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// gateway answers each request with the next answer, and keeps the requests.
type gateway struct {
	// canceled gets the request of a cancellation.
	canceled chan string
	answers  []string
	requests []string
	headers  []http.Header
}

func (g *gateway) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	if strings.Contains(string(body), "CancelTask") {
		g.canceled <- r.URL.Path + " " + string(body)
		return nil, errors.New("no answer")
	}
	g.requests = append(g.requests, r.URL.Path+" "+string(body))
	g.headers = append(g.headers, r.Header)
	var asked struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(body, &asked)
	answer := strings.Replace(g.answers[0], `"id":1`, `"id":`+string(asked.ID), 1)
	g.answers = g.answers[1:]
	kind := "application/json"
	if strings.HasPrefix(answer, "data:") {
		kind = "text/event-stream"
	}
	return &http.Response{StatusCode: http.StatusOK, ContentLength: -1, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(answer))}, nil
}

// registry lists the agent researcher.
type registry struct{ isRemote bool }

func (g registry) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := `{"namespace":"team","name":"researcher","description":"Looks things up","skills":[{"name":"Tea","description":"Knows tea"}],"remote":` + strconv.FormatBool(g.isRemote) + `}`
	status := http.StatusOK
	switch {
	case strings.HasSuffix(r.URL.Path, "/v1/agents"):
		answer = `{"items":[` + answer + `],"total":1}`
	case !strings.HasSuffix(r.URL.Path, "/v1/agents/team/researcher"):
		status = http.StatusNotFound
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer))}, nil
}

// ends returns the answers of an agent whose task ends or pauses with a status.
func ends(status, artifacts string) []string {
	task := `{"id":"sub","contextId":"c","status":` + status + `,"artifacts":` + artifacts + `}`
	return []string{"data: " + `{"jsonrpc":"2.0","id":1,"result":{"task":` + task + `}}` + "\n\n", `{"jsonrpc":"2.0","id":1,"result":` + task + `}`}
}

func newAgents(g *gateway) *agenttools.Agents {
	return agenttools.New(agenttools.Options{
		Agents:    []agenttools.Agent{{Agent: directory.Agent{Namespace: "team", Name: "researcher"}}},
		Namespace: "team", Gateway: "http://gateway", Now: time.Now,
		Client:   agentclient.New(agentclient.Options{Gateway: g, Memory: limit.NewBudget(64<<20, time.Second), MaxWait: time.Minute}),
		Registry: &registryclient.Client{Gateway: registry{}},
	})
}

func newCall(t *testing.T, s *agenttools.Agents, owner a2a.Owner) *model.Call {
	t.Helper()
	tools, err := s.Tools(t.Context(), nil)
	if err != nil || len(tools) != 1 {
		t.Fatalf("Tools() = %v, %v", tools, err)
	}
	return &model.Call{
		ID: "call-1", Tool: tools[0], Arguments: json.RawMessage(`{"message":"What is tea?"}`),
		Turn: &backend.Turn{TaskID: "50%", ContextID: "chosen", Owner: owner, Number: 1, Trace: a2a.TraceContext{Parent: "00-1-2-01"}},
	}
}

func ignore(string) {}

func TestCallOfAgent(t *testing.T) {
	for name, tt := range map[string]struct {
		answers []string
		want    *model.Result
	}{
		"completed": {ends(`{"state":"TASK_STATE_COMPLETED"}`, `[{"artifactId":"a","parts":[{"text":"A leaf."},{"data":{"n":1}}]}]`), &model.Result{Text: "A leaf.\n{\"n\":1}"}},
		"failed": {
			ends(`{"state":"TASK_STATE_FAILED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"No tea."}]}}`, `[]`),
			&model.Result{Text: "No tea.\nThe task of the agent is failed", IsError: true},
		},
		"message": {[]string{"data: " + `{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"Hi"}]}}}` + "\n\n"}, &model.Result{Text: "Hi"}},
		"refused": {
			[]string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such agent"}}`},
			&model.Result{Text: "The agent did not do it: no such agent", IsError: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := &gateway{answers: tt.answers}
			s := newAgents(g)
			got, err := s.Call(t.Context(), newCall(t, s, "alice"), ignore)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("Call() error = %v (-want +got):\n%s", err, diff)
			}
			if !strings.HasPrefix(g.requests[0], "/agents/team/researcher/ ") || !strings.Contains(g.requests[0], `"What is tea?"`) || !strings.Contains(g.requests[0], `"call-1"`) {
				t.Errorf("request %s", g.requests[0])
			}
			if h := g.headers[0]; h.Get("A2A-Task-Id") != "50%25" || h.Get("Traceparent") != "00-1-2-01" || h.Get("A2A-Extensions") != model.Extension {
				t.Errorf("header %v", h)
			}
		})
	}
}

// TestQuestionOfAgent passes a request for approval on with its payload byte-equal, and the decision back.
func TestQuestionOfAgent(t *testing.T) {
	const payload = `{"` + model.Extension + `":{"type":"tool_approval_request","tools":[{"id":"x1","name":"deploy","args":{"v":1}}]}}`
	g := &gateway{answers: ends(`{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"Deploy?"}],"extensions":["`+model.Extension+`"],"metadata":`+payload+`}}`, `[]`)}
	s := newAgents(g)
	c := newCall(t, s, "alice")
	result, err := s.Call(t.Context(), c, ignore)
	if err != nil || result.Pause == nil {
		t.Fatalf("Call() = %+v, %v, want a pause", result, err)
	}
	asked := result.Pause.Message
	if string(asked.Metadata) != payload || asked.Parts[0].Text != "The agent team/researcher asks:" || asked.Parts[1].Text != "Deploy?" || result.Pause.State != a2a.StateInputRequired {
		t.Errorf("question %+v", asked)
	}
	const decision = `{"` + model.Extension + `":{"type":"tool_approval_response","approvals":[{"id":"x1","approved":true}]}}`
	g.answers = ends(`{"state":"TASK_STATE_COMPLETED"}`, `[{"artifactId":"a","parts":[{"text":"deployed"}]}]`)
	c.Resume = result.Pause.Resume
	c.Answer = &a2a.Message{Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("approved")}, Extensions: []string{model.Extension}, Metadata: a2a.Object(decision)}
	c.Turn.Number = 2
	result, err = s.Call(t.Context(), c, ignore)
	if err != nil || result.Text != "deployed" {
		t.Errorf("Call() = %+v, %v", result, err)
	}
	if last := g.requests[len(g.requests)-2]; !strings.Contains(last, decision) || !strings.Contains(last, `"sub"`) || !strings.Contains(last, `"call-1-2"`) {
		t.Errorf("request %s", last)
	}
}

// TestConversationsOfCallersAreApart calls an agent for two callers that chose the same id of their conversation.
func TestConversationsOfCallersAreApart(t *testing.T) {
	seen := map[string]bool{}
	for _, owner := range []a2a.Owner{"alice", "bob", "alice"} {
		g := &gateway{answers: ends(`{"state":"TASK_STATE_COMPLETED"}`, `[]`)}
		s := newAgents(g)
		if _, err := s.Call(t.Context(), newCall(t, s, owner), ignore); err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(g.requests[0], `"conversation-`)
		id, _, _ := strings.Cut(after, `"`)
		seen[id] = true
	}
	if len(seen) != 2 {
		t.Errorf("conversations %v, want one for each caller", seen)
	}
}

func TestCanceledCall(t *testing.T) {
	g := &gateway{answers: ends(`{"state":"TASK_STATE_COMPLETED"}`, `[]`)}
	s := newAgents(g)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(backend.ErrCanceled)
	if _, err := s.Call(ctx, newCall(t, s, "alice"), ignore); err == nil {
		t.Error("Call() of a canceled turn has no error")
	}
}

// TestCanceledWhilePaused cancels the task of an agent whose question waits for the client.
func TestCanceledWhilePaused(t *testing.T) {
	g := &gateway{canceled: make(chan string, 1)}
	s := newAgents(g)
	b, err := model.New(model.Options{Models: []*completions.Client{nil}, Toolsets: []model.Toolset{s}})
	if err != nil {
		t.Fatal(err)
	}
	b.Canceled(t.Context(), &a2a.Task{Note: `{"tool":"researcher","key":"team/researcher","resume":{"agent":"team/researcher","taskId":"sub"}}`})
	b.Canceled(t.Context(), &a2a.Task{Note: `{"tool":"other","key":"team/other","resume":{"taskId":"no"}}`})
	b.Canceled(t.Context(), &a2a.Task{Note: "{}"})
	if got := <-g.canceled; !strings.HasPrefix(got, "/agents/team/researcher/ ") || !strings.Contains(got, `"sub"`) {
		t.Errorf("request %s", got)
	}
}

// TestDescriptions reads the descriptions of tools from the registry, and does without for an agent that it does not list.
func TestDescriptions(t *testing.T) {
	s := agenttools.New(agenttools.Options{
		Agents: []agenttools.Agent{
			{Agent: directory.Agent{Namespace: "team", Name: "researcher"}, NeedsApproval: true}, {Agent: directory.Agent{Namespace: "other", Name: "writer"}},
		},
		Discover: true, Namespace: "team", Gateway: "http://gateway", Now: time.Now, Registry: &registryclient.Client{Gateway: registry{}},
	})
	tools, err := s.Tools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range tools {
		got = append(got, fmt.Sprintf("%s %t: %s", tool.Name, tool.NeedsApproval, tool.Description))
	}
	want := []string{
		"researcher true: Looks things up Skill Tea: Knows tea", "other_writer false: The agent other/writer.", "find_agents false: Finds agents, with what they can do.",
		"call_agent false: Sends a message to an agent that find_agents has found, and returns its answer.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDiscovery finds an agent and calls it, and refuses names that are none.
func TestDiscovery(t *testing.T) {
	g := &gateway{answers: ends(`{"state":"TASK_STATE_COMPLETED"}`, `[{"artifactId":"a","parts":[{"text":"A leaf."}]}]`)}
	s := agenttools.New(agenttools.Options{
		Discover: true, Namespace: "team", Gateway: "http://gateway", Now: time.Now, Registry: &registryclient.Client{Gateway: registry{}},
		Client: agentclient.New(agentclient.Options{Gateway: g, Memory: limit.NewBudget(64<<20, time.Second), MaxWait: time.Minute}),
	})
	tools, err := s.Tools(t.Context(), nil)
	if err != nil || len(tools) != 2 {
		t.Fatalf("Tools() = %v, %v", tools, err)
	}
	for _, tt := range []struct {
		tool      int
		arguments string
		want      *model.Result
	}{
		{0, `{"q":"tea"}`, &model.Result{Text: "- team/researcher: Looks things up Skill Tea: Knows tea"}},
		{1, `{"agent":"team/researcher","message":"What is tea?"}`, &model.Result{Text: "A leaf."}},
		{1, `{"agent":"../admin","message":"x"}`, &model.Result{Text: "the argument agent must be namespace/name, as find_agents returns it", IsError: true}},
	} {
		got, err := s.Call(t.Context(), &model.Call{ID: "call-1", Tool: tools[tt.tool], Arguments: json.RawMessage(tt.arguments), Turn: &backend.Turn{TaskID: "t"}}, ignore)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.arguments, err, diff)
		}
	}
	if len(g.requests) == 0 || !strings.HasPrefix(g.requests[0], "/agents/team/researcher/ ") {
		t.Errorf("requests %v", g.requests)
	}
}

// TestDiscoveryEvadesNoApproval calls an agent with a tool of its own, which needs an approval, by call_agent, which needs none.
func TestDiscoveryEvadesNoApproval(t *testing.T) {
	g := &gateway{}
	s := agenttools.New(agenttools.Options{
		Agents:   []agenttools.Agent{{Agent: directory.Agent{Namespace: "team", Name: "researcher"}, NeedsApproval: true}},
		Discover: true, Namespace: "team", Gateway: "http://gateway", Now: time.Now, Registry: &registryclient.Client{Gateway: registry{}},
		Client: agentclient.New(agentclient.Options{Gateway: g, Memory: limit.NewBudget(64<<20, time.Second), MaxWait: time.Minute}),
	})
	tools, err := s.Tools(t.Context(), nil)
	if err != nil || len(tools) != 3 {
		t.Fatalf("Tools() = %v, %v", tools, err)
	}
	got, err := s.Call(t.Context(), &model.Call{
		ID: "call-1", Tool: tools[2], Arguments: json.RawMessage(`{"agent":"team/researcher","message":"Pay."}`), Turn: &backend.Turn{TaskID: "t"},
	}, ignore)
	if err != nil || !got.IsError || !strings.Contains(got.Text, "Call that tool") || len(g.requests) > 0 {
		t.Errorf("Call() = %+v, %v, requests %v", got, err, g.requests)
	}
}

// TestOnlyAgentsOfTheClusterGetAMessageAgain checks which calls may be repeated: a remote agent, and an agent that the registry does not
// know, may run a message twice.
func TestOnlyAgentsOfTheClusterGetAMessageAgain(t *testing.T) {
	for name, test := range map[string]struct {
		registry http.RoundTripper
		agent    string
		want     bool
	}{
		"cluster": {registry{}, "researcher", true},
		"remote":  {registry{isRemote: true}, "researcher", false},
		"unknown": {registry{}, "nobody", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := agenttools.New(agenttools.Options{
				Agents: []agenttools.Agent{{Agent: directory.Agent{Namespace: "team", Name: test.agent}}}, Discover: true,
				Namespace: "team", Gateway: "http://gateway", Now: time.Now, Registry: &registryclient.Client{Gateway: test.registry},
			})
			tools, err := s.Tools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if tool := tools[0]; tool.IsRepeatable != test.want || test.want && tool.RepeatableFor == 0 {
				t.Errorf("%+v may be repeated, want %v", tool, test.want)
			}
			for _, tool := range tools[1:] {
				if tool.IsRepeatable != (tool.Name == "find_agents") {
					t.Errorf("%s may be repeated: %v", tool.Name, tool.IsRepeatable)
				}
			}
		})
	}
}

// TestManyPartsOfAnAgent reads many parts in a time that grows with their number, not with its square.
func TestManyPartsOfAnAgent(t *testing.T) {
	const count = 10_000
	g := &gateway{answers: []string{`data: {"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[` +
		strings.Repeat(`{"text":"x"},`, count) + `{"text":"end"}]}}}` + "\n\n"}}
	s := newAgents(g)
	asked := newCall(t, s, "alice")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := s.Call(t.Context(), asked, ignore)
	runtime.ReadMemStats(&after)
	if err != nil || len(got.Text) != 2*count+len("end") {
		t.Fatalf("Call() = %d bytes, %v", len(got.Text), err)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 64<<20 {
		t.Errorf("%d parts of a byte need %d MiB", count, allocated>>20)
	}
}
