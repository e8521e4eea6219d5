// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/directory"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/agentclient"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/jsonweight"
	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
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
	callee
	agents  *agentclient.Client
	request *mcp.CallToolRequest
	call    *agentclient.Call
}

// callAgent implements the tool call_agent.
func (t *tools) callAgent(ctx context.Context, r *mcp.CallToolRequest) (*result, error) {
	arguments, err := readCall(r)
	if err != nil {
		return nil, err
	}
	agent, err := parseAgent(arguments.Agent)
	if err != nil {
		return nil, err
	}
	if !isProgressToken(r.Params.GetProgressToken()) {
		return nil, a2a.InvalidParams("_meta.progressToken", fmt.Sprintf("must be a number, or a text of at most %d bytes", maxProgressToken))
	}
	reservation := &limit.Reservation{}
	defer reservation.Release()
	notify := newProgress(ctx, r)
	defer notify.stop()
	to := callee{agent: agent.String(), url: originOf(r.Extra.Header) + "/agents/" + agent.String() + "/"}
	c := &conversation{callee: to, agents: t.agents, request: r, call: &agentclient.Call{
		URL: to.url, Header: forwarded(r.Extra.Header, r.Params.Meta), Observe: notify.event, Reservation: reservation,
	}}
	if c.sessionless() && hasTasks(r.ClientCapabilities()) {
		c.call.Wait = t.taskWait
	}
	if c.call.Message, err = arguments.message(); err != nil {
		return nil, err
	}
	if err := t.checkSkill(ctx, c, arguments.Skill); err != nil {
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

// checkSkill returns an error that lists the skills of the agent if its card does not have a skill. It does not check an agent
// whose card cannot be read or may lack some skills.
func (t *tools) checkSkill(ctx context.Context, c *conversation, skill string) error {
	if skill == "" {
		return nil
	}
	agent, _ := directory.ParseAgent(c.agent)
	text, err := t.registry.Card(ctx, originOf(c.request.Extra.Header), agent, "1.0")
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var card struct {
		Capabilities struct {
			Extended bool `json:"extendedAgentCard"`
		} `json:"capabilities"`
		Skills []struct {
			ID string `json:"id"`
		} `json:"skills"`
	}
	if err != nil || json.Unmarshal(text, &card) != nil || card.Capabilities.Extended || len(card.Skills) == 0 {
		return nil //nolint:nilerr // the agent judges the skill
	}
	ids := make([]string, 0, len(card.Skills))
	for _, s := range card.Skills {
		if s.ID == skill {
			return nil
		}
		ids = append(ids, s.ID)
	}
	return a2a.InvalidParams("skill", "is not a skill of "+c.agent+"; use one of "+safetext.Clip(strings.Join(ids, ", "), maxSkillIDs))
}

// maxSkillIDs bounds the ids of skills in an error, in bytes.
const maxSkillIDs = 1024

// run calls the agent until the task has ended, or until the task waits for an answer that
// the client cannot get from its user.
func (c *conversation) run(ctx context.Context) (*result, error) {
	var decided []string
	for round := 0; ; round++ {
		answer, err := c.agents.Do(ctx, c.call)
		if err != nil {
			return nil, err
		}
		if answer.Message != nil {
			return c.message(answer.Message), nil
		}
		if c.isLong(answer) {
			return c.handle(answer.Task), nil
		}
		q := questionOf(answer.Task)
		if q == nil || round == maxRounds || q.isAbout(decided) || !canAsk(q, c.request.ClientCapabilities()) {
			return c.outcome(answer), nil
		}
		decided = q.Calls
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
			// The client declared that it can ask the user, but asking has failed. The result
			// therefore leaves the answer to the model.
			return c.task(answer.Task, ""), nil //nolint:nilerr // the model answers instead of the user
		}
		message := q.reply(reply)
		if message == nil {
			return c.task(answer.Task, notAnswered), nil
		}
		if late, err := c.answer(ctx, q, message); late != nil || err != nil {
			return late, err
		}
	}
}

// answer makes the next round send the user's answer. It returns a result if the task no
// longer waits for this answer.
func (c *conversation) answer(ctx context.Context, q *question, message *a2a.Message) (*result, error) {
	c.call.Message = nil
	c.call.TaskID = q.TaskID
	task, err := c.now(ctx)
	if err != nil {
		return nil, err
	}
	if task != nil {
		asked := questionOf(task)
		if !q.same(asked) || !canAsk(asked, c.request.ClientCapabilities()) {
			return c.task(task, answeredLate), nil
		}
	}
	c.call.Message = message
	return nil, nil // the call goes on
}

// now returns the present task of the call, or nil if the agent does not return it. The error
// is the cause of the end of ctx.
func (c *conversation) now(ctx context.Context) (*a2a.Task, error) {
	task, err := c.agents.Read(ctx, c.call)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, nil //nolint:nilerr // a task that the agent does not return is no error; with any other cause, the message that follows fails, too
	}
	return task, nil
}

// refuseSensitive returns a result that refuses the call if its task waits for sensitive
// input, and nil otherwise. A model has written the message of the call, and a model must
// not see sensitive input.
func (c *conversation) refuseSensitive(ctx context.Context) (*result, error) {
	task, err := c.now(ctx)
	if err != nil || task == nil {
		return nil, err
	}
	if q := questionOf(task); q == nil || !q.sensitive {
		return nil, nil // the call goes on
	}
	refusal := c.task(task, "The message was not sent.")
	refusal.IsError = true
	refusal.outcome = OutcomeFailed
	return refusal, nil
}

// sessionless reports whether the client uses a version of MCP without sessions. Such a
// client receives a question in a result, and repeats its request with the answer.
func (c *conversation) sessionless() bool { return c.request.ProtocolVersion() >= sessionless }

// canAsk reports whether a client with these capabilities can ask its user the question. It returns false for a question
// that a form cannot show whole. It also returns false for sensitive input: MCP forbids asking for
// it by a form, and the other mode of MCP needs a web page, which the sidecar cannot serve to the
// user's browser.
func canAsk(q *question, capabilities *mcp.ClientCapabilities) bool {
	if q.sensitive || !q.wholeText || capabilities == nil || capabilities.Elicitation == nil {
		return false
	}
	// A client that declares neither the form mode nor the URL mode supports forms.
	return capabilities.Elicitation.Form != nil || capabilities.Elicitation.URL == nil
}

// suspend returns the result with the question for a client without a session. The client
// then repeats its request with the answer.
func (c *conversation) suspend(q *question) (*result, error) {
	state, err := plainjson.Marshal(q)
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
	state := []byte(c.request.Params.RequestState)
	if jsonweight.Of(state, maxWeight) > maxWeight || json.Unmarshal(state, &q) != nil || q.TaskID == "" {
		return nil, a2a.InvalidParams("requestState", "must be the requestState of the result that this request answers")
	}
	reply, ok := c.request.Params.InputResponses[answerName].(*mcp.ElicitResult)
	if !ok {
		return nil, a2a.InvalidParams("inputResponses", "must have the answer to "+answerName)
	}
	message := q.reply(reply)
	if message != nil {
		return c.answer(ctx, &q, message)
	}
	c.call.Message = nil
	c.call.TaskID = q.TaskID
	task, err := c.now(ctx)
	if err != nil {
		return nil, err
	}
	if task == nil {
		task = &a2a.Task{ID: q.TaskID, ContextID: q.ContextID, Status: a2a.Status{State: a2a.StateInputRequired}}
	}
	return c.task(task, notAnswered), nil
}

// forwardedHeaders are the headers of the client's request that are copied to the request
// to the called agent: the id of the calling agent's task, which links it to the task of
// the called agent, and the trace context.
var forwardedHeaders = []string{"A2A-Task-Id", "Traceparent", "Tracestate", "Baggage"}

// forwarded returns the headers for the request to the agent. A trace context in the
// request's _meta overrides the one in the headers of the HTTP request, which may be the
// same for a whole session.
func forwarded(header http.Header, meta mcp.Meta) http.Header {
	out := http.Header{}
	for _, name := range forwardedHeaders {
		if value := header.Get(name); value != "" {
			out.Set(name, value)
		}
	}
	if parent, ok := meta["traceparent"].(string); ok && isHeaderValue(parent) {
		out.Set("Traceparent", parent)
		out.Del("Tracestate")
		if state, ok := meta["tracestate"].(string); ok && isHeaderValue(state) {
			out.Set("Tracestate", state)
		}
	}
	return out
}

func isHeaderValue(text string) bool {
	return text != "" && len(text) <= 512 && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}
