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

// structured returns a result with a JSON value as structured content, and the same JSON as
// text for models.
func structured(value any) (*result, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
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
	State     string `json:"state,omitempty"`
	// Next describes how to continue with a task that has not ended.
	Next string `json:"next,omitempty"`
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

// task returns the result for a task. If note is not "", the result begins with it.
func (c *callee) task(t *a2a.Task, note string) *result {
	out := &result{&mcp.CallToolResult{}, OutcomeSucceeded}
	if note != "" {
		out.Content = append(out.Content, &mcp.TextContent{Text: note})
	}
	for i := range t.Artifacts {
		a := &t.Artifacts[i]
		out.Content = appendParts(out.Content, a.Parts, "a2a://"+c.agent+"/tasks/"+url.PathEscape(t.ID)+"/artifacts/"+url.PathEscape(a.ID), a.Name)
	}
	if m := t.Status.Message; m != nil {
		out.Content = appendParts(out.Content, m.Parts, "a2a://"+c.agent+"/tasks/"+url.PathEscape(t.ID)+"/status", "")
	}
	switch state := t.Status.State; {
	case state == a2a.StateFailed, state == a2a.StateRejected, state == a2a.StateCanceled:
		out.IsError = true
		out.outcome = OutcomeFailed
		if len(out.Content) == 0 {
			out.Content = append(out.Content, &mcp.TextContent{Text: "The task is " + state.String() + ", without a reason"})
		}
	case state.Interrupted():
		out.outcome = OutcomeInputRequired
	}
	f := &facts{TaskID: t.ID, ContextID: t.ContextID, State: t.Status.State.String(), Next: next[t.Status.State]}
	switch q := questionOf(t); {
	case q == nil:
	case approval.IsRequest(t.Status.Message):
		f.Next = "A person decides about calls of tools, in one of the ways that the text names. A message with " + ToolCall +
			" decides nothing. Once the person has decided, call " + ToolCall + " again with this taskId and no message."
	case q.sensitive:
		f.Next = "The agent waits for sensitive input, such as a password, which no model may see: do not ask for it, and do not send it with " + ToolCall +
			". A program sends it with an A2A client to " + c.url + ", in a message with this taskId. Then call " + ToolCall + " again with this taskId and no message."
	}
	return c.end(out, f)
}

// message returns the result for an agent's message without a task.
func (c *callee) message(m *a2a.Message) *result {
	out := &result{&mcp.CallToolResult{}, OutcomeSucceeded}
	out.Content = appendParts(out.Content, m.Parts, "a2a://"+c.agent+"/messages/"+url.PathEscape(m.ID), "")
	return c.end(out, &facts{ContextID: m.ContextID})
}

func (c *callee) end(out *result, f *facts) *result {
	f.Agent = c.agent
	if text, err := json.Marshal(f); err == nil { // strings are always encoded
		out.Content = append(out.Content, &mcp.TextContent{Text: string(text)})
	}
	return out
}

// appendParts appends the parts of an agent's message or artifact as MCP content. uri
// identifies the message or artifact, and is the beginning of the URIs of its embedded
// files. name is the name of files that have none.
func appendParts(dst []mcp.Content, parts []a2a.Part, uri, name string) []mcp.Content {
	for i := range parts {
		p := &parts[i]
		switch p.Content {
		case a2a.ContentText:
			dst = append(dst, &mcp.TextContent{Text: p.Text})
		case a2a.ContentData:
			dst = append(dst, &mcp.TextContent{Text: string(p.Data)})
		case a2a.ContentURL:
			dst = append(dst, &mcp.ResourceLink{URI: p.URL, Name: cmp.Or(p.Filename, name, "file"), MIMEType: p.MediaType})
		case a2a.ContentRaw:
			dst = append(dst, fileContent(p, uri+"/"+url.PathEscape(cmp.Or(p.Filename, name, strconv.Itoa(i)))))
		}
	}
	return dst
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
