// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/approval"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// maxWait bounds how long a call of an agent follows its task, and, separately, how long
// it waits for an answer of the user.
const maxWait = time.Hour

// question is the question of a task that waits for input. Its JSON is the request state
// that a client without a session sends back. A client may forge this state, but it then
// reaches only tasks that it could also name in the arguments of a call.
type question struct {
	TaskID    string `json:"taskId"`
	ContextID string `json:"contextId,omitempty"`
	// Key identifies the question: by the id of the agent's input request, or else by that of the message
	// with the question, and by what the user sees. An agent may use an id again.
	Key string `json:"key"`
	// Calls are the ids of the calls about which the user decides, none for a question that a text answers.
	Calls []string `json:"calls,omitempty"`

	// text has all parts of the question. wholeText is false if a form cannot show them.
	text      string
	wholeText bool
	sensitive bool
	// calls are those of Calls, while the question is asked.
	calls []approval.Call
	// timeout is how long the agent waits for the answer, but at most maxWait.
	timeout time.Duration
}

// questionOf returns the question of a task that waits for input, and nil for other tasks.
func questionOf(t *a2a.Task) *question {
	if t.Status.State != a2a.StateInputRequired {
		return nil
	}
	q := &question{TaskID: t.ID, ContextID: t.ContextID, timeout: maxWait}
	q.text, q.wholeText = formText(t.Status.Message)
	q.calls = approval.Requested(t.Status.Message)
	for _, call := range q.calls {
		q.Calls = append(q.Calls, call.ID)
	}
	id := ""
	if t.Status.Message != nil {
		id = t.Status.Message.ID
	}
	if request, ok := t.Status.Message.InputRequest(); ok {
		id = cmp.Or(request.ID, id)
		q.sensitive = request.Sensitive
		if request.Timeout > 0 {
			q.timeout = min(request.Timeout, maxWait)
		}
	}
	q.text = cmp.Or(q.text, "The agent asks for input.")
	sum := sha256.Sum256([]byte(id + "\x00" + q.text))
	q.Key = answerName + "-" + hex.EncodeToString(sum[:16])
	return q
}

// maxFormText is the maximum length of a question in a form, in bytes.
const maxFormText = 16 << 10

// formText returns the parts of a question as a text for a form: its texts, and its data as JSON, so
// that a user who is asked for an approval sees what is to be approved. whole is false if the text lacks
// something: a file, or the meaning that an extension gives to the message, or if it is too long for a
// form. A nil message has no text.
func formText(m *a2a.Message) (text string, whole bool) {
	if m == nil {
		return "", true
	}
	calls := approval.Requested(m)
	whole = len(m.Extensions) == 0 || len(calls) > 0 && len(m.Extensions) == 1
	size := 0
	for _, call := range calls {
		size += len(call.Tool) + len(call.Arguments)
	}
	var texts []string
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Content {
		case a2a.ContentText:
			texts = append(texts, p.Text)
		case a2a.ContentData:
			indented, ok := safetext.Indent(p.Data, "")
			whole = whole && ok
			texts = append(texts, string(indented))
		default:
			whole = false
		}
	}
	text = strings.Join(texts, "\n")
	return text, whole && len(text)+size <= maxFormText
}

// same reports whether other is the same question. other is nil if the task does not wait for
// input. An agent that has withdrawn a question, or asks another question, must not receive
// the answer.
func (q *question) same(other *question) bool { return other != nil && q.Key == other.Key }

// isAbout reports whether the question asks again about calls that the user has decided, because the agent does not accept the decisions of
// this caller.
func (q *question) isAbout(decided []string) bool {
	return len(q.Calls) > 0 && slices.Equal(q.Calls, decided)
}

// answerName is the name of the question in the result, and of the answer in the form.
const answerName = "answer"

// elicitation returns the form with the question. A form about calls has a choice for each of them, with all arguments.
func (q *question) elicitation(agent string) *mcp.ElicitParams {
	schema := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	for i, call := range q.calls {
		schema.Properties[decisionName(i)] = &jsonschema.Schema{
			Type: "string", Enum: []any{decisionApprove, decisionReject}, Title: safetext.Line(call.Tool), Description: safetext.Clean(string(call.Arguments)),
		}
		schema.Required = append(schema.Required, decisionName(i))
	}
	if len(q.calls) == 0 {
		schema.Properties[answerName] = &jsonschema.Schema{Type: "string", Title: "Answer"}
		schema.Required = []string{answerName}
	}
	return &mcp.ElicitParams{Mode: "form", Message: "Agent " + agent + " asks: " + q.text, RequestedSchema: schema}
}

// The values of a decision in a form. decisionName returns its name.
const (
	decisionApprove = "approve"
	decisionReject  = "reject"
)

func decisionName(i int) string { return "decision" + strconv.Itoa(i+1) }

// reply returns the message with the user's answer, nil if the user did not answer. A text never decides about a call.
func (q *question) reply(r *mcp.ElicitResult) *a2a.Message {
	if r.Action != "accept" {
		return nil
	}
	m := &a2a.Message{ID: uuid.NewString(), Role: a2a.RoleUser, TaskID: q.TaskID, ContextID: q.ContextID}
	if len(q.Calls) == 0 {
		text, ok := r.Content[answerName].(string)
		m.Parts = []a2a.Part{a2a.TextPart(text)}
		if !ok {
			return nil
		}
		return m
	}
	var decisions []map[string]any
	for i, id := range q.Calls {
		decision := r.Content[decisionName(i)]
		if decision != decisionApprove && decision != decisionReject {
			return nil
		}
		decisions = append(decisions, map[string]any{"id": id, "approved": decision == decisionApprove})
	}
	object := map[string]any{approval.Extension: map[string]any{"type": approval.TypeDecisions, "approvals": decisions}}
	m.Parts = []a2a.Part{a2a.TextPart("A person has decided.")}
	m.Extensions = []string{approval.Extension}
	m.Metadata, _ = json.Marshal(object) // strings and booleans have a JSON form
	return m
}
