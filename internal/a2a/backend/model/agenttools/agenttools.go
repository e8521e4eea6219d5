// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agenttools offers other agents to a model as tools, through the gateway.
//
// A question of a called agent pauses the task of this agent, with the payload of the question unchanged, and the answer goes back in the
// same way, through any number of agents. A called agent keeps a conversation for each conversation of this agent.
package agenttools

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/agentclient"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// Agent is an agent that the model may call.
type Agent struct {
	// ToolName is how the model calls it.
	ToolName string
	// Namespace and Name are those of the Agent.
	Namespace, Name string
	// Description says what the agent does, with its skills.
	Description   string
	NeedsApproval bool
}

// Options configure the tools. All fields are required.
type Options struct {
	Agents []Agent
	// Gateway is the base URL of the gateway, such as http://127.0.0.1:8642.
	Gateway string
	Client  *agentclient.Client
}

// Agents are the agents that a model may call. It is safe for concurrent use.
type Agents struct{ options Options }

var (
	_ model.Toolset  = (*Agents)(nil)
	_ model.Canceler = (*Agents)(nil)
)

// New returns the tools.
func New(o Options) *Agents { return &Agents{options: o} }

// parameters is the schema of the arguments of every agent.
const parameters = `{"type":"object","properties":{"message":{"type":"string","description":"What the agent should do, with all that it needs to know: it does not see this conversation."}},"required":["message"]}`

// Tools implements model.Toolset.
func (s *Agents) Tools(context.Context, *backend.Turn) ([]*model.Tool, error) {
	tools := make([]*model.Tool, 0, len(s.options.Agents))
	for i := range s.options.Agents {
		agent := &s.options.Agents[i]
		tools = append(tools, &model.Tool{
			Name: agent.ToolName, Description: agent.Description, Parameters: a2a.Object(parameters), NeedsApproval: agent.NeedsApproval,
			Source: "agent " + agent.Namespace + "/" + agent.Name, Key: agent.Namespace + "/" + agent.Name, Toolset: s,
			// The message of a repeated call has the same id, and the agent deduplicates it.
			IsRepeatable: true,
		})
	}
	return tools, nil
}

// resume is what a call needs to go on after a question.
type resume struct {
	TaskID    string `json:"taskId"`
	ContextID string `json:"contextId"`
}

// Call implements model.Toolset. If ctx ends, the called agent cancels its task.
func (s *Agents) Call(ctx context.Context, c *model.Call, progress func(string)) (*model.Result, error) {
	message, err := messageFor(c)
	if err != nil {
		return &model.Result{Text: err.Error(), IsError: true}, nil
	}
	reservation := &limit.Reservation{}
	defer reservation.Release()
	answer, err := s.options.Client.Do(ctx, &agentclient.Call{
		URL: s.options.Gateway + "/agents/" + c.Tool.Key + "/", Header: header(c.Turn), Message: message, Reservation: reservation,
		Observe: func(e *a2a.Event) {
			if text := statusText(e); text != "" {
				progress(text)
			}
		},
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if problem, ok := errors.AsType[*a2a.Error](err); ok {
		return &model.Result{Text: "The agent did not do it: " + problem.Error(), IsError: true}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("call agent %s: %w", c.Tool.Key, err)
	}
	if answer.Message != nil {
		result := &model.Result{}
		addParts(result, answer.Message.Parts)
		return result, nil
	}
	return resultOf(c, answer)
}

// Canceled implements model.Canceler: it cancels the task of the agent.
func (s *Agents) Canceled(ctx context.Context, tool string, state json.RawMessage) {
	var asked resume
	if json.Unmarshal(state, &asked) != nil || asked.TaskID == "" {
		return
	}
	go s.options.Client.Cancel(ctx, &agentclient.Call{URL: s.options.Gateway + "/agents/" + tool + "/", TaskID: asked.TaskID})
}

// messageFor returns the message to the agent: the one that the model wrote, or the answer of the client to the agent's question.
func messageFor(c *model.Call) (*a2a.Message, error) {
	if c.Resume != nil {
		var asked resume
		if err := json.Unmarshal(c.Resume, &asked); err != nil {
			return nil, fmt.Errorf("read the question of the agent: %w", err)
		}
		return &a2a.Message{
			ID: fmt.Sprintf("%s-%d", c.ID, c.Turn.Number), TaskID: asked.TaskID, ContextID: asked.ContextID, Role: a2a.RoleUser,
			Parts: c.Answer.Parts, Metadata: c.Answer.Metadata, Extensions: c.Answer.Extensions,
		}, nil
	}
	var arguments struct {
		Message string `json:"message"`
	}
	if err := json.Unmarshal(c.Arguments, &arguments); err != nil || arguments.Message == "" {
		return nil, errors.New("the argument message must be a text that is not empty")
	}
	return &a2a.Message{ID: c.ID, ContextID: contextOf(c.Turn), Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(arguments.Message)}}, nil
}

// contextOf returns the id of the conversation with called agents. It depends on the caller, because callers choose the ids of their
// conversations, and for the called agent all of them are this agent.
func contextOf(t *backend.Turn) string {
	sum := sha256.Sum256([]byte(string(t.Owner) + "\x00" + t.Tenant + "\x00" + t.ContextID))
	return "conversation-" + hex.EncodeToString(sum[:16])
}

// header returns the header of requests: the task that a call belongs to, its trace, and the extension of questions.
func header(t *backend.Turn) http.Header {
	h := http.Header{"A2a-Task-Id": {t.TaskID}, "A2a-Extensions": {model.Extension}}
	if t.Trace.Parent != "" {
		h.Set("Traceparent", t.Trace.Parent)
	}
	if t.Trace.State != "" {
		h.Set("Tracestate", t.Trace.State)
	}
	if t.Trace.Baggage != "" {
		h.Set("Baggage", t.Trace.Baggage)
	}
	return h
}

// resultOf returns the result of a task.
func resultOf(c *model.Call, answer *agentclient.Result) (*model.Result, error) {
	task := answer.Task
	if task.Status.State.Interrupted() && answer.Failure == nil {
		return pauseOf(c, task)
	}
	result := &model.Result{IsError: task.Status.State != a2a.StateCompleted}
	for i := range task.Artifacts {
		addParts(result, task.Artifacts[i].Parts)
	}
	if m := task.Status.Message; m != nil {
		addParts(result, m.Parts)
	}
	if answer.Failure != nil {
		result.IsError = true
		addText(result, "The task of the agent could not be read to its end: "+answer.Failure.Error())
	}
	if result.IsError {
		addText(result, "The task of the agent is "+task.Status.State.String())
	}
	return result, nil
}

// pauseOf returns the question of an agent, with its payload unchanged. The text names the agent, because people must see who asks.
func pauseOf(c *model.Call, task *a2a.Task) (*model.Result, error) {
	state, err := json.Marshal(resume{TaskID: task.ID, ContextID: task.ContextID})
	if err != nil {
		return nil, fmt.Errorf("store the question of an agent: %w", err)
	}
	question := &a2a.Message{Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("The agent " + safetext.Line(c.Tool.Key) + " asks:")}}
	if asked := task.Status.Message; asked != nil {
		question.Parts = append(question.Parts, asked.Parts...)
		question.Metadata = asked.Metadata
		question.Extensions = asked.Extensions
	}
	return &model.Result{Pause: &model.Pause{State: task.Status.State, Message: question, Resume: state}}, nil
}

// addParts adds parts to a result: text and data for the model, and files for the client.
func addParts(result *model.Result, parts []a2a.Part) {
	for _, part := range parts {
		switch part.Content {
		case a2a.ContentText:
			addText(result, part.Text)
		case a2a.ContentData:
			addText(result, string(part.Data))
		case a2a.ContentRaw, a2a.ContentURL:
			result.Files = append(result.Files, part)
			addText(result, "(a file for the client: "+cmp.Or(part.Filename, part.MediaType, "without a name")+")")
		}
	}
}

func addText(result *model.Result, text string) {
	if result.Text != "" {
		result.Text += "\n"
	}
	result.Text += text
}

// statusText returns the text of a status, "" for other events.
func statusText(e *a2a.Event) string {
	if e.Status == nil || e.Status.Status.Message == nil {
		return ""
	}
	var texts []string
	for _, part := range e.Status.Status.Message.Parts {
		if part.Content == a2a.ContentText {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n")
}
