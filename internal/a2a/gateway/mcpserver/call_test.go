// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// script is a fake agent. It returns the responses of each method in order, and repeats
// the last one. A response that begins with a bracket is a list of events.
type script struct {
	mu        sync.Mutex
	responses map[string][]string
	methods   []string
	// sent has the requests that send a message.
	sent []string
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	_, after, _ := strings.Cut(string(text), `"method":"`)
	method, _, _ := strings.Cut(after, `"`)
	s.mu.Lock()
	s.methods = append(s.methods, method)
	if method == "SendStreamingMessage" {
		s.sent = append(s.sent, string(text))
	}
	response := s.responses[method][0]
	if len(s.responses[method]) > 1 {
		s.responses[method] = s.responses[method][1:]
	}
	s.mu.Unlock()
	events, streams := strings.CutPrefix(response, "[")
	if !streams {
		_, _ = io.WriteString(w, response)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for line := range strings.Lines(events) {
		_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":"1","result":`+strings.TrimSpace(line)+"}\n\n")
	}
}

func (s *script) called() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.methods, " ")
}

// response returns a JSON-RPC response with a result.
func response(result string) string { return `{"jsonrpc":"2.0","id":"1","result":` + result + `}` }

const denied = `{"jsonrpc":"2.0","id":"1","error":{"code":-32603,"message":"The rules forbid it","data":[{"reason":"PERMISSION_DENIED"}]}}`

// texts returns the texts of a result.
func texts(r *mcp.CallToolResult) (all []string) {
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			all = append(all, text.Text)
		}
	}
	return all
}

// TestUnreadableTaskIsReported calls agents that do not return their task. The result
// contains the output so far, the id of the task, and the failure.
func TestUnreadableTaskIsReported(t *testing.T) {
	const (
		begin   = `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}` + "\n"
		pieces  = `{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"a","parts":[{"text":"hel"}]}}}` + "\n" + `{"artifactUpdate":{"taskId":"t","append":true,"artifact":{"artifactId":"a","parts":[{"text":"lo"},{"data":{"x":1}}]}}}` + "\n"
		other   = `{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"b","parts":[{"text":"draft"}]}}}` + "\n" + `{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"b","parts":[{"text":"bye"}]}}}` + "\n"
		end     = `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"done"}]}}}}` + "\n"
		facts   = `{"agent":"team/echo","taskId":"t","contextId":"c","state":"completed"}`
		forbids = "The task could not be read to its end: The rules forbid it. The output is what the agent sent until then."
	)
	large := `{"artifactUpdate":{"taskId":"t","append":true,"artifact":{"artifactId":"a","parts":[{"text":"` + strings.Repeat("x", 3<<20) + `"}]}}}` + "\n"
	for name, test := range map[string]struct {
		stream, get string
		failed      bool
		want        []string
	}{
		"rules forbid GetTask": {"[" + begin + pieces + other + end, denied, false, []string{forbids, "hello", `{"x":1}`, "bye", "done", facts}},
		"another task": {"[" + begin + end, response(`{"id":"other","status":{"state":"TASK_STATE_COMPLETED"}}`), false, []string{
			"The task could not be read to its end: The agent's answer is not a response of A2A 1.0. The output is what the agent sent until then.", "done", facts,
		}},
		"a broken stream": {"[" + begin + pieces, denied, true, []string{forbids, "hello", `{"x":1}`, `{"agent":"team/echo","taskId":"t","contextId":"c","state":"working",` +
			`"next":"The task still runs: call call_agent again with this taskId and no message to wait for it."}`}},
		"a large task": {"[" + begin + pieces + large + large + end, denied, false, []string{
			forbids + " Parts of it are missing, because it is too large.", "hello", `{"x":1}`, strings.Repeat("x", 1000), strings.TrimSuffix(facts, "}"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			agent := &script{responses: map[string][]string{"SendStreamingMessage": {test.stream}, "SubscribeToTask": {denied}, "GetTask": {test.get}}}
			f := newFixture(t, agent.ServeHTTP)
			s := f.connect(t, "")
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: ToolCall, Arguments: map[string]any{"agent": "team/echo", "message": "x"}})
			if err != nil || r.IsError != test.failed {
				t.Fatalf("%+v, %v", r, err)
			}
			got := texts(r)
			for i, text := range got { // long texts, and what the facts say about the rest of them
				before, _, _ := strings.Cut(text, `,"missing"`)
				got[i] = before[:min(len(before), 1000)]
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%.2000s", diff)
			}
			f.awaitRelease(t)
		})
	}
}

// waiting returns a task that waits for input. request is the id of its input request,
// and question the id of its message.
func waiting(request, question string, sensitive bool) string {
	return fmt.Sprintf(`{"id":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":%q}],`+
		`"metadata":{"inputRequest":{"requestId":%q,"sensitive":%t}}}}}`, question, request, sensitive)
}

// TestLateAnswerIsNotSent calls an agent that asks another question before the user has
// answered the first question. An agent may use the id of a question again.
func TestLateAnswerIsNotSent(t *testing.T) {
	for name, test := range map[string]struct{ version, later string }{
		"session": {"2025-11-25", "second"}, "session, one id": {"2025-11-25", "first"},
		"no session": {sessionless, "second"}, "no session, one id": {sessionless, "first"},
	} {
		t.Run(name, func(t *testing.T) {
			agent := &script{responses: map[string][]string{
				"SendStreamingMessage": {`[{"task":` + waiting("first", "Which?", false) + "}\n"},
				"GetTask":              {response(waiting("first", "Which?", false)), response(waiting(test.later, "How many?", false))},
			}}
			f := newFixture(t, agent.ServeHTTP)
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{answerName: "the red one"}}, nil
				},
			})
			s := f.connectAs(t, client, test.version)
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: ToolCall, Arguments: map[string]any{"agent": "team/echo", "message": "x"}})
			if err != nil || r.IsError {
				t.Fatalf("%+v, %v", r, err)
			}
			if got := texts(r); got[0] != answeredLate || got[1] != "How many?" || !strings.Contains(got[2], `"state":"input-required"`) {
				t.Errorf("%q", got)
			}
			if got := agent.called(); got != "SendStreamingMessage GetTask GetTask" {
				t.Errorf("the agent got %s", got)
			}
		})
	}
}

// TestSensitiveInputDoesNotPassThroughTheModel calls an agent that asks for a password.
func TestSensitiveInputDoesNotPassThroughTheModel(t *testing.T) {
	agent := &script{responses: map[string][]string{
		"SendStreamingMessage": {`[{"task":` + waiting("first", "Password?", true) + "}\n"}, "GetTask": {response(waiting("first", "Password?", true))},
	}}
	f := newFixture(t, agent.ServeHTTP)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			t.Error("the user is asked")
			return &mcp.ElicitResult{Action: "cancel"}, nil
		},
	})
	s := f.connectAs(t, client, "2025-11-25")
	instruction := "A program sends it with an A2A client to " + f.url + "/agents/team/echo/, in a message with this taskId."
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: ToolCall, Arguments: map[string]any{"agent": "team/echo", "message": "x"}})
	if err != nil || r.IsError {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := texts(r); len(got) != 2 || !strings.Contains(got[1], instruction) {
		t.Errorf("%q", got)
	}
	r, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: ToolCall, Arguments: map[string]any{"agent": "team/echo", "message": "hunter2", "taskId": "t"}})
	if err != nil || !r.IsError {
		t.Fatalf("the model's answer: %+v, %v", r, err)
	}
	if got := texts(r); len(got) != 3 || got[0] != "The message was not sent." || !strings.Contains(got[2], instruction) {
		t.Errorf("%q", got)
	}
	if got := agent.called(); got != "SendStreamingMessage GetTask GetTask" {
		t.Errorf("the agent got %s", got)
	}
}

const approvalExtension = "https://kagent.dev/extensions/hitl/v1"

// approving returns a task that waits for decisions about calls of tools.
func approving(tools string) string {
	return `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"Approve?"}],` +
		`"extensions":["` + approvalExtension + `"],"metadata":{"` + approvalExtension + `":{"type":"tool_approval_request","tools":` + tools + `}}}}}`
}

// TestApprovalIsLeftToAPerson calls an agent that asks for the approval of a call. The result does not lead the model to answer: a message
// decides nothing.
func TestApprovalIsLeftToAPerson(t *testing.T) {
	asked := approving(`[{"id":"x","call_id":"x","name":"deploy","args":{}}]`)
	agent := &script{responses: map[string][]string{"SendStreamingMessage": {`[{"task":` + asked + "}\n"}, "GetTask": {response(asked)}}}
	s := newFixture(t, agent.ServeHTTP).connect(t, "")
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: ToolCall, Arguments: map[string]any{"agent": "team/echo", "message": "x"}})
	if err != nil || r.IsError {
		t.Fatalf("%+v, %v", r, err)
	}
	got := texts(r)
	if len(got) != 2 || got[0] != "Approve?" || !strings.Contains(got[1], "A person decides") || strings.Contains(got[1], "answer as message") {
		t.Errorf("%q", got)
	}
}

// TestUserDecidesInAForm calls an agent that asks for the approval of two calls. The user of a client decides about each in a form. Another
// answer than approve or reject decides nothing.
func TestUserDecidesInAForm(t *testing.T) {
	asked := approving(`[{"id":"x1","call_id":"x1","name":"deploy","args":{"to":"shop"}},{"id":"x2","call_id":"x2","name":"undo","args":{}}]`)
	const done = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED","message":{"messageId":"n","role":"ROLE_AGENT","parts":[{"text":"deployed"}]}}}`
	for _, version := range []string{"2025-11-25", sessionless} {
		for name, test := range map[string]struct {
			content map[string]any
			second  string
			want    string
		}{
			"decided":     {map[string]any{"decision1": "approve", "decision2": "reject"}, done, "deployed"},
			"not allowed": {map[string]any{"decision1": "approve", "decision2": "reject"}, asked, "Approve?"},
			"a text":      {map[string]any{"answer": "approve all", "decision1": "yes", "decision2": "approve"}, done, ""},
			"one of two":  {map[string]any{"decision1": "approve"}, done, ""},
		} {
			if version == sessionless && name == "not allowed" {
				continue // the client of the test would be asked again without an end
			}
			t.Run(version+", "+name, func(t *testing.T) {
				agent := &script{responses: map[string][]string{
					"SendStreamingMessage": {`[{"task":` + asked + "}\n", `[{"task":` + test.second + "}\n"},
					"GetTask":              {response(asked)},
				}}
				if test.want == "deployed" {
					agent.responses["GetTask"] = []string{response(asked), response(asked), response(done)}
				}
				var form string
				client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
					ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						schema, err := json.Marshal(r.Params.RequestedSchema)
						form = string(schema)
						return &mcp.ElicitResult{Action: "accept", Content: test.content}, err
					},
				})
				s := newFixture(t, agent.ServeHTTP).connectAs(t, client, version)
				r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: ToolCall, Arguments: map[string]any{"agent": "team/echo", "message": "x"}})
				if test.want != "" && (err != nil || r.IsError || texts(r)[0] != test.want) {
					t.Fatalf("%+v, %v", r, err)
				}
				for _, shown := range []string{`"title":"deploy"`, `{\"to\":\"shop\"}`, `"enum":["approve","reject"]`, `"title":"undo"`} {
					if !strings.Contains(form, shown) {
						t.Errorf("the form lacks %s: %s", shown, form)
					}
				}
				agent.mu.Lock()
				defer agent.mu.Unlock()
				switch {
				case test.want == "" && len(agent.sent) != 1:
					t.Errorf("the agent got %s", agent.sent)
				case test.want != "" && (len(agent.sent) != 2 || !strings.Contains(agent.sent[1], `"approvals":[{"approved":true,"id":"x1"},{"approved":false,"id":"x2"}]`) ||
					!strings.Contains(agent.sent[1], `"extensions":["`+approvalExtension+`"]`)):
					t.Errorf("the agent got %s", agent.sent)
				}
			})
		}
	}
}
