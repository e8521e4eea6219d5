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
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
	"github.com/a2a-operator/a2a-operator/internal/a2a/delegation"
	"github.com/a2a-operator/a2a-operator/internal/a2a/directory"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/agentclient"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/registryclient"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/headervalue"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// Agent is an agent that the model may call.
type Agent struct {
	directory.Agent
	// NeedsApproval is true if a person must approve each call.
	NeedsApproval bool
}

// Options configure the tools.
type Options struct {
	// Agents are those that are tools with their own names.
	Agents []Agent
	// Discover adds the tools find_agents and call_agent, for all agents that this agent may see. With DiscoverNeedsApproval, a person
	// must approve each call of call_agent.
	Discover, DiscoverNeedsApproval bool
	// Namespace is that of this agent. The tools of its agents have the names of the agents, and those of others begin with the namespace.
	Namespace string
	// Gateway is the base URL of the gateway, such as http://127.0.0.1:8642. Client and Registry call it.
	Gateway  string
	Client   *agentclient.Client
	Registry *registryclient.Client
	// Now returns the time.
	Now func() time.Time
}

// Agents are the agents that a model may call. It is safe for concurrent use.
type Agents struct {
	options      Options
	descriptions descriptions
}

var (
	_ model.Toolset  = (*Agents)(nil)
	_ model.Canceler = (*Agents)(nil)
)

// New returns the tools.
func New(o Options) *Agents { return &Agents{options: o, descriptions: descriptions{options: &o}} }

// The tools of Discover.
const (
	toolFind = "find_agents"
	toolCall = "call_agent"
)

// The schemas of the arguments.
const (
	messageSchema   = `{"type":"string","description":"What the agent should do, with all that it needs to know: it does not see this conversation."}`
	agentParameters = `{"type":"object","properties":{"message":` + messageSchema + `},"required":["message"]}`
	callParameters  = `{"type":"object","properties":{"agent":{"type":"string","description":"namespace/name, as find_agents returns it"},"message":` + messageSchema + `},"required":["agent","message"]}`
	findParameters  = `{"type":"object","properties":{"q":{"type":"string","description":"What the agent should be able to do, in a few words. Without it, all agents are listed."}}}`
)

// Tools implements model.Toolset.
func (s *Agents) Tools(ctx context.Context, _ *backend.Turn) ([]*model.Tool, error) {
	tools := make([]*model.Tool, 0, len(s.options.Agents)+2)
	for _, agent := range s.options.Agents {
		name := agent.Name
		if agent.Namespace != s.options.Namespace {
			name = agent.Namespace + "_" + name
		}
		described := s.descriptions.of(ctx, agent.Agent)
		tools = append(tools, &model.Tool{
			Name: model.ToolName(name), Description: described.text, Parameters: a2a.Object(agentParameters), NeedsApproval: agent.NeedsApproval,
			Source: "agent " + agent.String(), Key: agent.String(), Toolset: s,
			// The message of a repeated call has the same id, and an agent of the cluster recognizes it for a while.
			IsRepeatable: described.recognizes, RepeatableFor: recognizedFor,
		})
	}
	if s.options.Discover {
		tools = append(tools, &model.Tool{
			Name: toolFind, Description: "Finds agents, with what they can do.", Parameters: a2a.Object(findParameters),
			Source: "the registry of agents", Key: toolFind, Toolset: s, IsRepeatable: true,
		}, &model.Tool{
			Name: toolCall, Description: "Sends a message to an agent that find_agents has found, and returns its answer.", Parameters: a2a.Object(callParameters),
			NeedsApproval: s.options.DiscoverNeedsApproval, Source: "an agent that the argument names", Key: toolCall, Toolset: s,
		})
	}
	return tools, nil
}

// recognizedFor is how long after an interruption a message may be sent again. An agent recognizes a message for a minute after its end
// (spec.protocol.messageDeduplication), and the last status of the task, from which the time counts, may be older than the interruption.
const recognizedFor = 45 * time.Second

// resume is what a call needs to go on after a question.
type resume struct {
	Agent     string `json:"agent"`
	TaskID    string `json:"taskId"`
	ContextID string `json:"contextId"`
}

// Call implements model.Toolset. If ctx ends, the called agent cancels its task.
func (s *Agents) Call(ctx context.Context, c *model.Call, progress func(string)) (*model.Result, error) {
	if c.Tool.Key == toolFind {
		return s.find(ctx, c)
	}
	agent, message, err := messageFor(c)
	if err != nil {
		return &model.Result{Text: err.Error(), IsError: true}, nil
	}
	if c.Tool.Key == toolCall && s.hasOwnTool(agent) {
		return &model.Result{Text: "The agent " + agent + " has a tool of its own. Call that tool.", IsError: true}, nil
	}
	reservation := &limit.Reservation{}
	defer reservation.Release()
	answer, err := s.options.Client.Do(delegation.With(ctx, c.Turn.Subject), &agentclient.Call{
		URL: s.url(agent), Header: header(c.Turn), Message: message, Reservation: reservation,
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
		return nil, fmt.Errorf("call agent %s: %w", agent, err)
	}
	if answer.Message != nil {
		result := &output{}
		result.addParts(answer.Message.Parts)
		return result.result(false), nil
	}
	return resultOf(agent, answer)
}

// hasOwnTool reports whether an agent is a tool with its own name, which may need an approval that call_agent does not need.
func (s *Agents) hasOwnTool(agent string) bool {
	return slices.ContainsFunc(s.options.Agents, func(own Agent) bool { return own.String() == agent })
}

// find runs a call of find_agents.
func (s *Agents) find(ctx context.Context, c *model.Call) (*model.Result, error) {
	var arguments struct {
		Query string `json:"q"`
	}
	if json.Unmarshal(c.Arguments, &arguments) != nil {
		return &model.Result{Text: "the argument q must be a text", IsError: true}, nil //nolint:nilerr // the mistake of the model
	}
	parameters := url.Values{"limit": {"20"}}
	if arguments.Query != "" {
		parameters.Set("q", arguments.Query)
	}
	page, err := s.options.Registry.Find(ctx, s.options.Gateway, parameters)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return &model.Result{Text: "The agents cannot be listed: " + err.Error(), IsError: true}, nil //nolint:nilerr // the model learns it
	}
	result := &output{}
	for _, item := range page.Items {
		entry := readEntry(item)
		result.addText("- " + entry.Namespace + "/" + entry.Name + ": " + entry.describe())
	}
	if len(page.Items) == 0 {
		result.addText("No agent was found.")
	}
	return result.result(false), nil
}

// url returns the URL of an agent at the gateway.
func (s *Agents) url(agent string) string { return s.options.Gateway + "/agents/" + agent + "/" }

// Canceled implements model.Canceler: it cancels the task of the agent.
func (s *Agents) Canceled(ctx context.Context, _ string, state json.RawMessage) {
	var asked resume
	if json.Unmarshal(state, &asked) != nil || asked.TaskID == "" {
		return
	}
	go s.options.Client.Cancel(ctx, &agentclient.Call{URL: s.url(asked.Agent), TaskID: asked.TaskID})
}

// messageFor returns the agent of a call, and the message to it: the one that the model wrote, or the answer of the client to the agent's
// question.
func messageFor(c *model.Call) (agent string, m *a2a.Message, err error) {
	if c.Resume != nil {
		var asked resume
		if err := json.Unmarshal(c.Resume, &asked); err != nil {
			return "", nil, fmt.Errorf("read the question of the agent: %w", err)
		}
		return asked.Agent, &a2a.Message{
			ID: fmt.Sprintf("%s-%d", c.ID, c.Turn.Number), TaskID: asked.TaskID, ContextID: asked.ContextID, Role: a2a.RoleUser,
			Parts: c.Answer.Parts, Metadata: c.Answer.Metadata, Extensions: c.Answer.Extensions,
		}, nil
	}
	var arguments struct {
		Agent   string `json:"agent"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(c.Arguments, &arguments); err != nil || arguments.Message == "" {
		return "", nil, errors.New("the argument message must be a text that is not empty")
	}
	agent = c.Tool.Key
	if agent == toolCall {
		named, ok := directory.ParseAgent(arguments.Agent)
		if !ok {
			return "", nil, errors.New("the argument agent must be namespace/name, as find_agents returns it")
		}
		agent = named.String()
	}
	return agent, &a2a.Message{ID: c.ID, ContextID: contextOf(c.Turn), Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(arguments.Message)}}, nil
}

// contextOf returns the id of the conversation with called agents. It depends on the caller, because callers choose the ids of their
// conversations, and for the called agent all of them are this agent.
func contextOf(t *backend.Turn) string {
	sum := sha256.Sum256([]byte(string(t.Owner) + "\x00" + t.Tenant + "\x00" + t.ContextID))
	return "conversation-" + hex.EncodeToString(sum[:16])
}

// header returns the header of requests: the task that a call belongs to, its trace, and the extension of questions.
func header(t *backend.Turn) http.Header {
	h := http.Header{"A2a-Task-Id": {headervalue.Encode(t.TaskID)}, "A2a-Extensions": {model.Extension}}
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
func resultOf(agent string, answer *agentclient.Result) (*model.Result, error) {
	task := answer.Task
	if task.Status.State.Interrupted() && answer.Failure == nil {
		return pauseOf(agent, task)
	}
	result := &output{}
	for i := range task.Artifacts {
		result.addParts(task.Artifacts[i].Parts)
	}
	if m := task.Status.Message; m != nil {
		result.addParts(m.Parts)
	}
	if answer.Failure != nil {
		result.addText("The task of the agent could not be read to its end: " + answer.Failure.Error())
	}
	isError := answer.Failure != nil || task.Status.State != a2a.StateCompleted
	if isError {
		result.addText("The task of the agent is " + task.Status.State.String())
	}
	return result.result(isError), nil
}

// pauseOf returns the question of an agent, with its payload unchanged. The text names the agent, because people must see who asks.
func pauseOf(agent string, task *a2a.Task) (*model.Result, error) {
	state, err := json.Marshal(resume{Agent: agent, TaskID: task.ID, ContextID: task.ContextID})
	if err != nil {
		return nil, fmt.Errorf("store the question of an agent: %w", err)
	}
	question := &a2a.Message{Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("The agent " + safetext.Line(agent) + " asks:")}}
	if asked := task.Status.Message; asked != nil {
		question.Parts = append(question.Parts, asked.Parts...)
		question.Metadata = asked.Metadata
		question.Extensions = asked.Extensions
	}
	return &model.Result{Pause: &model.Pause{State: task.Status.State, Message: question, Resume: state}}, nil
}

// output is what an agent has sent: text and data for the model, and files for the client.
type output struct {
	text  strings.Builder
	files []a2a.Part
}

func (o *output) addParts(parts []a2a.Part) {
	for _, part := range parts {
		switch part.Content {
		case a2a.ContentText:
			o.addText(part.Text)
		case a2a.ContentData:
			o.addText(string(part.Data))
		case a2a.ContentRaw, a2a.ContentURL:
			o.files = append(o.files, part)
			o.addText("(a file for the client: " + cmp.Or(part.Filename, part.MediaType, "without a name") + ")")
		}
	}
}

func (o *output) addText(text string) {
	if o.text.Len() > 0 {
		o.text.WriteByte('\n')
	}
	o.text.WriteString(text)
}

func (o *output) result(isError bool) *model.Result {
	return &model.Result{Text: o.text.String(), Files: o.files, IsError: isError}
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
