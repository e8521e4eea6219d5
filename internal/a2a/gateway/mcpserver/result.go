// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/approval"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/agentclient"
	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
)

// The names of the tools.
const (
	ToolFind = "find_agents"
	ToolGet  = "get_agent"
	ToolCall = "call_agent"
)

// Outcome is the result of a call of a tool, for metrics.
type Outcome string

// The outcomes. OutcomeInputRequired means that the task waits for its client.
const (
	OutcomeSucceeded     Outcome = "succeeded"
	OutcomeFailed        Outcome = "failed"
	OutcomeInputRequired Outcome = "input_required"
	OutcomeCanceled      Outcome = "canceled"
	// OutcomeTask is the outcome of a call that returned a handle to the task, which still runs.
	OutcomeTask Outcome = "task"
)

// result is the result of a tool, with its outcome for metrics.
type result struct {
	*mcp.CallToolResult
	outcome Outcome
}

// structured returns a result with a JSON value as structured content, and the same JSON as text for models. It returns nil if
// the value is longer than a result may be.
func structured(value any) (*result, error) {
	text, err := plainjson.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	if jsonSize(string(text)) > maxOutput {
		return nil, nil
	}
	return &result{&mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}, StructuredContent: json.RawMessage(text),
	}, OutcomeSucceeded}, nil
}

func failed(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// facts are the last text in the result of call_agent. A client uses them to continue the
// task.
type facts struct {
	Agent     string `json:"agent"`
	TaskID    string `json:"taskId,omitempty"`
	ContextID string `json:"contextId,omitempty"`
	State     string `json:"state,omitempty" jsonschema:"The state of the task, such as completed or input-required."`
	// Next describes how to continue with a task that has not ended.
	Next string `json:"next,omitempty" jsonschema:"How to continue."`
	// Missing are the parts that the result lacks, and Note says what the result lacks.
	Missing []missingPart `json:"missing,omitempty" jsonschema:"Parts of the output that are not wholly in the result."`
	Note    string        `json:"note,omitempty"`
}

// callOutput is the structured content of the result of call_agent.
type callOutput struct {
	facts

	// Reason says why the output is incomplete.
	Reason    string           `json:"reason,omitempty" jsonschema:"Why the output is incomplete, or why no message was sent."`
	Message   []outputPart     `json:"message,omitempty" jsonschema:"The message of the agent, or of the last status of the task."`
	Artifacts []outputArtifact `json:"artifacts" jsonschema:"The output of the task."`
}

// next maps the states in which a task has not ended to descriptions of how to continue.
var next = map[a2a.State]string{
	a2a.StateInputRequired: "The agent waits for input: call " + ToolCall + " again with this taskId and the answer as message.",
	a2a.StateAuthRequired:  "The agent waits for an authorization outside of this call: once it is given, call " + ToolCall + " again with this taskId and no message.",
	a2a.StateSubmitted:     "The task still runs: call " + ToolCall + " again with this taskId and no message to wait for it.",
	a2a.StateWorking:       "The task still runs: call " + ToolCall + " again with this taskId and no message to wait for it.",
}

// callee is a called agent: its name, as namespace/name, and the URL of its base through the
// gateway.
type callee struct {
	agent, url string
}

// outcome returns the result for a task that has ended, waits for its client or still runs.
func (c *callee) outcome(r *agentclient.Result) *result {
	if r.Failure == nil {
		return c.task(r.Task, "")
	}
	note := "The task could not be read to its end: " + strings.TrimSuffix(r.Failure.Error(), ".") + ". The output is what the agent sent until then."
	if r.Truncated {
		note += " Parts of it are missing, because it is too large."
	}
	out := c.task(r.Task, note)
	if state := r.Task.Status.State; !state.Terminal() && !state.Interrupted() {
		out.IsError = true
		out.outcome = OutcomeFailed
	}
	return out
}

// task returns the result for a task. If note is not "", the result begins with it. The message of a task that failed is its
// reason, and comes before the output.
func (c *callee) task(t *a2a.Task, note string) *result {
	out := &result{&mcp.CallToolResult{}, OutcomeSucceeded}
	collected := &output{}
	value := &callOutput{Reason: note, Artifacts: []outputArtifact{}}
	if note != "" {
		collected.content = append(collected.content, &mcp.TextContent{Text: note})
	}
	state := t.Status.State
	fails := state == a2a.StateFailed || state == a2a.StateRejected || state == a2a.StateCanceled
	addMessage := func() {
		if t.Status.Message != nil {
			value.Message = collected.add(t.Status.Message.Parts, statusURI(c.agent, t.ID), "")
		}
	}
	if fails {
		addMessage()
	}
	for i := range t.Artifacts {
		a := &t.Artifacts[i]
		parts := collected.add(a.Parts, artifactURI(c.agent, t.ID, a.ID), a.Name)
		if !collected.fits(partCost + jsonSize(a.ID) + jsonSize(a.Name) + jsonSize(a.Description)) {
			continue // its parts are missing
		}
		value.Artifacts = append(value.Artifacts, outputArtifact{ArtifactID: a.ID, Name: a.Name, Description: a.Description, Parts: parts})
	}
	if !fails {
		addMessage()
	}
	switch {
	case fails:
		out.IsError = true
		out.outcome = OutcomeFailed
		if len(collected.content) == 0 {
			collected.content = append(collected.content, &mcp.TextContent{Text: "The task is " + state.String() + ", without a reason"})
		}
	case state.Interrupted():
		out.outcome = OutcomeInputRequired
	}
	value.facts = facts{TaskID: t.ID, ContextID: t.ContextID, State: state.String(), Next: next[state]}
	switch q := questionOf(t); {
	case q == nil:
	case approval.IsRequest(t.Status.Message):
		value.Next = "A person decides about calls of tools, in one of the ways that the text names. A message with " + ToolCall +
			" decides nothing. Once the person has decided, call " + ToolCall + " again with this taskId and no message."
	case q.sensitive:
		value.Next = "The agent waits for sensitive input, such as a password, which no model may see: do not ask for it, and do not send it with " + ToolCall +
			". A program sends it with an A2A client to " + c.url + ", in a message with this taskId. Then call " + ToolCall + " again with this taskId and no message."
	}
	value.Missing = collected.missing
	if len(collected.missing) > 0 {
		value.Note = "The output is longer than a result may be. Read the rest of each missing part by resources/read of its uri, or ask the agent for less."
	}
	if collected.unnamed > 0 {
		value.Note += " " + strconv.Itoa(collected.unnamed) + " further parts are missing."
	}
	return c.end(out, collected, value)
}

// message returns the result for an agent's message without a task. Nobody can read such a message again.
func (c *callee) message(m *a2a.Message) *result {
	collected := &output{}
	value := &callOutput{Artifacts: []outputArtifact{}, facts: facts{ContextID: m.ContextID}}
	value.Message = collected.add(m.Parts, "a2a://"+c.agent+"/messages/"+url.PathEscape(m.ID), "")
	if missing := len(collected.missing) + collected.unnamed; missing > 0 {
		value.Note = "The message is longer than a result may be. " + strconv.Itoa(missing) +
			" parts of it are lost, at least in part, because the agent made no task. Ask the agent for less."
	}
	return c.end(&result{&mcp.CallToolResult{}, OutcomeSucceeded}, collected, value)
}

// end completes a result with its content and its facts.
func (c *callee) end(out *result, collected *output, value *callOutput) *result {
	value.Agent = c.agent
	out.Content = collected.content
	if text, err := plainjson.Marshal(&value.facts); err == nil { // strings are always encoded
		out.Content = append(out.Content, &mcp.TextContent{Text: string(text)})
	}
	if encoded, err := plainjson.Marshal(value); err == nil { // so are values of JSON that were read
		out.StructuredContent = json.RawMessage(encoded)
	}
	return out
}

func fileContent(p *a2a.Part, uri string) mcp.Content {
	kind, _, _ := strings.Cut(p.MediaType, "/")
	switch kind {
	case "image":
		return &mcp.ImageContent{Data: p.Raw, MIMEType: p.MediaType}
	case "audio":
		return &mcp.AudioContent{Data: p.Raw, MIMEType: p.MediaType}
	default:
		return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: cmp.Or(p.MediaType, "application/octet-stream"), Blob: p.Raw}}
	}
}

// textOf returns the text of a message, or "" for nil or a message without text.
func textOf(m *a2a.Message) string {
	if m == nil {
		return ""
	}
	var texts []string
	for i := range m.Parts {
		if m.Parts[i].Content == a2a.ContentText {
			texts = append(texts, m.Parts[i].Text)
		}
	}
	return strings.Join(texts, "\n")
}
