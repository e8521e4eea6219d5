// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// question is the question of a task that waits for input. Its JSON is the request state for
// clients without sessions. A client that changes this state reaches no task that it could
// not also name in the arguments of a call.
type question struct {
	TaskID    string `json:"taskId"`
	ContextID string `json:"contextId,omitempty"`
	// InputID is the id of the agent's input request, "" for none. MessageID is the id of the
	// message with the question.
	InputID   string `json:"inputId,omitempty"`
	MessageID string `json:"messageId,omitempty"`

	text      string
	sensitive bool
	// timeout is how long the agent waits for the answer, but at most maxWait.
	timeout time.Duration
}

// questionOf returns the question of a task that waits for input, and nil for other tasks.
func questionOf(t *a2a.Task) *question {
	if t.Status.State != a2a.StateInputRequired {
		return nil
	}
	q := &question{TaskID: t.ID, ContextID: t.ContextID, text: textOf(t.Status.Message), timeout: maxWait}
	if t.Status.Message != nil {
		q.MessageID = t.Status.Message.ID
	}
	if request, ok := t.Status.Message.InputRequest(); ok {
		q.InputID, q.sensitive = request.ID, request.Sensitive
		if request.Timeout > 0 {
			q.timeout = min(request.Timeout, maxWait)
		}
	}
	if q.text == "" {
		q.text = "The agent asks for input."
	}
	return q
}

// same reports whether other is the same question. other is nil if the task does not wait for
// input. An agent that has withdrawn a question, or asks another question, must not receive
// the answer.
func (q *question) same(other *question) bool {
	switch {
	case other == nil:
		return false
	case q.InputID != "" || other.InputID != "":
		return q.InputID == other.InputID
	default:
		return q.MessageID == other.MessageID
	}
}

// sessionless reports whether the client uses a version of MCP without sessions. Such a
// client receives a question in a result, and repeats its request with the answer.
func (c *conversation) sessionless() bool { return c.request.ProtocolVersion() >= sessionless }

// canAsk reports whether the client can ask its user the question. It returns false for
// sensitive input: MCP forbids asking for it by a form, and the other mode of MCP needs a web
// page, which the sidecar cannot serve to the user's browser.
func (c *conversation) canAsk(q *question) bool {
	capabilities := c.request.ClientCapabilities()
	if q.sensitive || capabilities == nil || capabilities.Elicitation == nil {
		return false
	}
	// A client that declares neither the form mode nor the URL mode supports forms.
	return capabilities.Elicitation.Form != nil || capabilities.Elicitation.URL == nil
}

// answerName is the name of the question in the result, and of the answer in the form.
const answerName = "answer"

// elicitation returns the form with the question.
func (q *question) elicitation(agent string) *mcp.ElicitParams {
	return &mcp.ElicitParams{
		Mode: "form", Message: "Agent " + agent + " asks: " + q.text,
		RequestedSchema: &jsonschema.Schema{
			Type: "object", Required: []string{answerName},
			Properties: map[string]*jsonschema.Schema{answerName: {Type: "string", Title: "Answer"}},
		},
	}
}

// replyOf returns the text of the user's answer. accepted is false if the user did not
// answer.
func replyOf(r *mcp.ElicitResult) (text string, accepted bool) {
	text, ok := r.Content[answerName].(string)
	return text, ok && r.Action == "accept"
}

// reply returns the message with the user's answer.
func (q *question) reply(text string) *a2a.Message {
	m := &a2a.Message{ID: uuid.NewString(), Role: a2a.RoleUser, TaskID: q.TaskID, ContextID: q.ContextID}
	m.Parts = []a2a.Part{a2a.TextPart(text)}
	return m
}

// suspend returns the result with the question for a client without a session. The client
// then repeats its request with the answer.
func (c *conversation) suspend(q *question) (*result, error) {
	state, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("encode question: %w", err)
	}
	return &result{&mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{answerName: q.elicitation(c.agent)}, RequestState: string(state),
	}, OutcomeInputRequired}, nil
}

// resume reads the answer in the repeated request of a client without a session, and makes
// the call send it. It returns a result if the user did not answer, or answered too late.
func (c *conversation) resume(ctx context.Context) (*result, error) {
	var q question
	if json.Unmarshal([]byte(c.request.Params.RequestState), &q) != nil || q.TaskID == "" {
		return nil, a2a.InvalidParams("requestState", "must be that of the result to which this request answers")
	}
	reply, ok := c.request.Params.InputResponses[answerName].(*mcp.ElicitResult)
	if !ok {
		return nil, a2a.InvalidParams("inputResponses", "must have the answer to "+answerName)
	}
	text, accepted := replyOf(reply)
	if !accepted {
		return c.task(&a2a.Task{ID: q.TaskID, ContextID: q.ContextID, Status: a2a.Status{State: a2a.StateInputRequired}},
			notAnswered), nil
	}
	return c.answer(ctx, &q, text)
}
