// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/agentclient"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// maxRounds is the maximum number of questions to the user in one call.
const maxRounds = 8

// notAnswered is the note for a question that the user declined or did not answer in time.
const notAnswered = "The user did not answer the question of the agent."

// answeredLate is the note for an answer to a question that the agent has withdrawn in the
// meantime.
const answeredLate = "The agent does not wait for the answer any more. It was not sent."

// conversation is one call of the tool call_agent: a message, and the user's answers to the
// agent's questions.
type conversation struct {
	tools   *tools
	request *mcp.CallToolRequest
	// agent is the agent's name, as namespace/name.
	agent string
	call  *agentclient.Call
}

// call implements the tool call_agent.
func (t *tools) call(ctx context.Context, r *mcp.CallToolRequest) (*result, error) {
	arguments, err := readCall(r)
	if err != nil {
		return nil, err
	}
	agent, err := parseAgent(arguments.Agent)
	if err != nil {
		return nil, err
	}
	reservation := &limit.Reservation{}
	defer reservation.Release()
	notify := newProgress(ctx, r)
	defer notify.stop()
	c := &conversation{tools: t, request: r, agent: agent.String(), call: &agentclient.Call{
		URL: originOf(r) + "/agents/" + agent.String() + "/", Header: forwarded(r), Observe: notify.event, Reservation: reservation,
	}}
	if c.call.Message, err = arguments.message(); err != nil {
		return nil, err
	}
	c.call.TaskID = arguments.TaskID
	if c.call.Message != nil && arguments.TaskID != "" && r.Params.RequestState == "" {
		if refusal, err := c.refuseSensitive(ctx); refusal != nil || err != nil {
			return refusal, err
		}
	}
	if r.Params.RequestState != "" {
		answered, err := c.resume(ctx)
		if err != nil || answered != nil {
			return answered, err
		}
	}
	return c.run(ctx)
}

// maxFiles is the maximum number of files in one call.
const maxFiles = 1000

// readCall reads the arguments of call_agent.
func readCall(r *mcp.CallToolRequest) (*callArguments, error) {
	a := &callArguments{}
	var unknown error
	readFile := func(in *jsonread.Reader) {
		var f file
		unknown = cmp.Or(unknown, readObject(in, "is not a member of a file", map[string]func(*jsonread.Reader){
			"name": textInto(&f.Name), "mediaType": textInto(&f.MediaType), "url": textInto(&f.URL),
			"data": func(in *jsonread.Reader) { f.Data = in.Bytes() },
		}))
		a.Files = append(a.Files, f)
	}
	err := decode(r, map[string]func(*jsonread.Reader){
		"agent":     textInto(&a.Agent),
		"message":   textInto(&a.Message),
		"skill":     textInto(&a.Skill),
		"taskId":    textInto(&a.TaskID),
		"contextId": textInto(&a.ContextID),
		"data":      func(in *jsonread.Reader) { a.Data = json.RawMessage(in.Value()) },
		"files": func(in *jsonread.Reader) {
			for i := range in.Elements() {
				if i == maxFiles {
					in.TooMany(maxFiles)
					return
				}
				readFile(in)
			}
		},
	})
	return a, cmp.Or(err, unknown)
}

// run calls the agent until the task has ended, or until the task waits for an answer that
// the client cannot get from its user.
func (c *conversation) run(ctx context.Context) (*result, error) {
	for round := 0; ; round++ {
		answer, err := c.tools.agents.Do(ctx, c.call)
		if err != nil {
			return nil, err //nolint:wrapcheck // an *a2a.Error, or the cause of ctx
		}
		if answer.Message != nil {
			return c.message(answer.Message), nil
		}
		q := questionOf(answer.Task)
		if q == nil || round == maxRounds || !c.canAsk(q) {
			return c.outcome(answer), nil
		}
		if c.sessionless() {
			return c.suspend(q)
		}
		asking, stop := context.WithTimeout(ctx, q.timeout)
		reply, err := c.request.Session.Elicit(asking, q.elicitation(c.agent))
		late := asking.Err() != nil
		stop()
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil && late:
			return c.task(answer.Task, notAnswered), nil //nolint:nilerr // the result reports that the user has not answered
		case err != nil:
			// The client declared that it can ask the user, and failed. The model has to answer.
			return c.task(answer.Task, ""), nil //nolint:nilerr // the model answers instead of the user
		}
		text, accepted := replyOf(reply)
		if !accepted {
			return c.task(answer.Task, notAnswered), nil
		}
		if late, err := c.answer(ctx, q, text); late != nil || err != nil {
			return late, err
		}
	}
}

// answer makes the next round send the user's answer. It returns a result if the task no
// longer waits for this answer.
func (c *conversation) answer(ctx context.Context, q *question, text string) (*result, error) {
	c.call.Message, c.call.TaskID = nil, q.TaskID
	task, err := c.now(ctx)
	if err != nil {
		return nil, err
	}
	if task != nil && !q.same(questionOf(task)) {
		return c.task(task, answeredLate), nil
	}
	c.call.Message = q.reply(text)
	return nil, nil //nolint:nilnil // the call goes on
}

// now returns the present task of the call, or nil if the agent does not return it. The error
// is the cause of the end of ctx.
func (c *conversation) now(ctx context.Context) (*a2a.Task, error) {
	task, err := c.tools.agents.Read(ctx, c.call)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // a task that the agent does not return is no error; with any other cause, the message that follows fails, too
	}
	return task, nil
}

// refuseSensitive returns a result that refuses the call if its task waits for sensitive
// input. The message of the call was written by a model, which must not see sensitive input.
func (c *conversation) refuseSensitive(ctx context.Context) (*result, error) {
	task, err := c.now(ctx)
	if err != nil || task == nil {
		return nil, err
	}
	if q := questionOf(task); q == nil || !q.sensitive {
		return nil, nil //nolint:nilnil // the call goes on
	}
	refusal := c.task(task, "The message was not sent.")
	refusal.IsError, refusal.outcome = true, OutcomeFailed
	return refusal, nil
}

// forwardedHeaders are the headers of the client's request that are copied to the request to
// the agent: the id of the calling task, which links it to the sub-agent's task, and the
// trace context.
var forwardedHeaders = []string{"A2A-Task-Id", "Traceparent", "Tracestate", "Baggage"}

// forwarded returns the headers for the request to the agent. The trace context in the
// request's _meta overrides the trace context in the HTTP request, which may be the same for
// a whole session.
func forwarded(r *mcp.CallToolRequest) http.Header {
	out := http.Header{}
	for _, name := range forwardedHeaders {
		if value := r.Extra.Header.Get(name); value != "" {
			out.Set(name, value)
		}
	}
	if parent, ok := r.Params.Meta["traceparent"].(string); ok && isHeaderValue(parent) {
		out.Set("Traceparent", parent)
		out.Del("Tracestate")
		if state, ok := r.Params.Meta["tracestate"].(string); ok && isHeaderValue(state) {
			out.Set("Tracestate", state)
		}
	}
	return out
}

func isHeaderValue(text string) bool {
	if text == "" || len(text) > 512 {
		return false
	}
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// message returns the message for the agent. It is nil if the call only waits for a task.
func (a *callArguments) message() (*a2a.Message, error) {
	m := &a2a.Message{ID: uuid.NewString(), Role: a2a.RoleUser, TaskID: a.TaskID, ContextID: a.ContextID}
	if a.Message != "" {
		m.Parts = append(m.Parts, a2a.TextPart(a.Message))
	}
	if len(a.Data) > 0 {
		m.Parts = append(m.Parts, a2a.Part{Content: a2a.ContentData, Data: a2a.Value(a.Data)})
	}
	for i, f := range a.Files {
		p := a2a.Part{Filename: f.Name, MediaType: f.MediaType}
		switch {
		case (len(f.Data) > 0) == (f.URL != ""):
			return nil, a2a.InvalidParams(fmt.Sprintf("files[%d]", i), "must have data or url, and not both")
		case f.URL != "":
			p.Content, p.URL = a2a.ContentURL, f.URL
		default:
			p.Content, p.Raw = a2a.ContentRaw, f.Data
		}
		m.Parts = append(m.Parts, p)
	}
	if len(m.Parts) == 0 {
		if a.TaskID == "" {
			return nil, a2a.InvalidParams("message", "is required, unless data or files are sent, or taskId names a task to wait for")
		}
		return nil, nil //nolint:nilnil // nil is a valid result: no message
	}
	if a.Skill != "" {
		skill, err := json.Marshal(map[string]string{a2a.SkillName: a.Skill})
		if err != nil {
			return nil, fmt.Errorf("encode skill: %w", err)
		}
		m.Metadata = skill
	}
	return m, nil
}
