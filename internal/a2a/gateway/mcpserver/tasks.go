// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/directory"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/agentclient"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// tasksExtension is the extension of MCP with which a client gets a handle to a long call, and polls it
// (SEP-2663). The handle names the task of the agent, so the gateway stores nothing, and any replica and
// any later process of the sidecar can serve it.
const tasksExtension = "io.modelcontextprotocol/tasks"

const (
	// taskWait is how long a call waits for the end of the agent's task before it returns a handle.
	taskWait = 10 * time.Second
	// taskPoll is the interval in which clients should poll.
	taskPoll = 5 * time.Second
	// maxDeclined is the maximum number of declined questions that are remembered.
	maxDeclined = 1024
	// maxTaskID is the maximum length of the id of a handle, in bytes.
	maxTaskID = 1024
	// maxStatus is the maximum length of a status message, in bytes.
	maxStatus = 2048
)

// task is a CreateTaskResult or a GetTaskResult.
type task struct {
	mcp.ResultBase
	ResultType    string              `json:"resultType"`
	TaskID        string              `json:"taskId"`
	Status        string              `json:"status"`
	StatusMessage string              `json:"statusMessage,omitempty"`
	CreatedAt     time.Time           `json:"createdAt"`
	LastUpdatedAt time.Time           `json:"lastUpdatedAt"`
	TTL           *int64              `json:"ttlMs"` // null: the agent determines how long it keeps its task
	PollInterval  int64               `json:"pollIntervalMs"`
	InputRequests mcp.InputRequestMap `json:"inputRequests,omitempty"`
	Result        *mcp.CallToolResult `json:"result,omitempty"`
}

// acknowledgement is an UpdateTaskResult or a CancelTaskResult.
type acknowledgement struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

// taskParams are the params of tasks/get, tasks/update and tasks/cancel.
type taskParams struct {
	mcp.ParamsBase
	TaskID         string               `json:"taskId"`
	InputResponses mcp.InputResponseMap `json:"inputResponses,omitempty"`
}

// hasTasks reports whether a client declares tasksExtension.
func hasTasks(c *mcp.ClientCapabilities) bool {
	if c == nil {
		return false
	}
	_, ok := c.Extensions[tasksExtension]
	return ok
}

// isLong reports whether the client gets a handle, because it supports tasks and the task still runs.
func (c *conversation) isLong(r *agentclient.Result) bool {
	state := r.Task.Status.State
	return c.call.Wait > 0 && r.Failure == nil && !state.Terminal() && !state.Interrupted()
}

// handle returns the result of a call whose task still runs. withTasks replaces it by the task.
func (c *conversation) handle(t *a2a.Task) *result {
	id := c.agent + "/" + url.PathEscape(t.ID) + "/" + rand.Text()
	return &result{&mcp.CallToolResult{StructuredContent: newTask("task", id, t)}, OutcomeTask}
}

// newTask returns the handle of a task that works.
func newTask(resultType, id string, t *a2a.Task) *task {
	out := &task{
		ResultType: resultType, TaskID: id, Status: "working", StatusMessage: safetext.Clip(textOf(t.Status.Message), maxStatus),
		CreatedAt: t.Status.Time.UTC(), LastUpdatedAt: t.Status.Time.UTC(), PollInterval: taskPoll.Milliseconds(),
	}
	// The engine's ids have the time at which the task was created.
	if made, err := uuid.Parse(t.ID); err == nil && made.Version() == 7 {
		seconds, nanoseconds := made.Time().UnixTime()
		out.CreatedAt = time.Unix(seconds, nanoseconds).UTC()
	}
	return out
}

// taskCall is one call of a method of tasksExtension.
type taskCall struct {
	callee
	id           string
	capabilities *mcp.ClientCapabilities
	call         *agentclient.Call
	// found is the task of the agent.
	found *a2a.Task
}

// headerKey is the key of the header of the HTTP request in the context of a method of tasksExtension.
type headerKey struct{}

// addTasks adds the methods of tasksExtension. The error is nil, because none of them is a method of MCP
// itself.
func (t *tools) addTasks(s *mcp.Server) error {
	s.AddReceivingMiddleware(withTasks)
	done := func(err error) (*acknowledgement, error) { return &acknowledgement{ResultType: "complete"}, err }
	return cmp.Or(
		mcp.AddReceivingCustomMethod(s, "tasks/get", func(ctx context.Context, ss *mcp.ServerSession, p *taskParams) (out *task, err error) {
			err = t.onTask(ctx, ss, p, func(_ context.Context, c *taskCall) error {
				out = t.describe(c)
				return nil
			})
			return out, err
		}),
		mcp.AddReceivingCustomMethod(s, "tasks/update", func(ctx context.Context, ss *mcp.ServerSession, p *taskParams) (*acknowledgement, error) {
			return done(t.onTask(ctx, ss, p, func(ctx context.Context, c *taskCall) error { return t.update(ctx, c, p.InputResponses) }))
		}),
		mcp.AddReceivingCustomMethod(s, "tasks/cancel", func(ctx context.Context, ss *mcp.ServerSession, p *taskParams) (*acknowledgement, error) {
			return done(t.onTask(ctx, ss, p, func(ctx context.Context, c *taskCall) error {
				t.agents.Cancel(ctx, c.call)
				return nil
			}))
		}),
	)
}

// withTasks returns the task in place of the result of a call that returns a handle, and passes the
// header of the HTTP request to the methods of tasksExtension.
func withTasks(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if extra := r.GetExtra(); extra != nil && strings.HasPrefix(method, "tasks/") {
			ctx = context.WithValue(ctx, headerKey{}, extra.Header)
		}
		out, err := next(ctx, method, r)
		if call, ok := out.(*mcp.CallToolResult); ok && err == nil {
			if started, ok := call.StructuredContent.(*task); ok {
				return started, nil
			}
		}
		return out, err
	}
}

// onTask reads the task of a method of tasksExtension, and calls serve. Its errors are those of JSON-RPC.
func (t *tools) onTask(ctx context.Context, ss *mcp.ServerSession, p *taskParams, serve func(context.Context, *taskCall) error) error {
	capabilities := (&mcp.ServerRequest[*taskParams]{Session: ss, Params: p}).ClientCapabilities()
	if !hasTasks(capabilities) {
		return missingTasks()
	}
	namespace, rest, _ := strings.Cut(p.TaskID, "/")
	name, rest, _ := strings.Cut(rest, "/")
	escaped, _, _ := strings.Cut(rest, "/")
	agent, ok := directory.ParseAgent(namespace + "/" + name)
	id, err := url.PathUnescape(escaped)
	if !ok || err != nil || id == "" || len(p.TaskID) > maxTaskID {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Task not found"}
	}
	header, _ := ctx.Value(headerKey{}).(http.Header)
	ctx, end, ok := t.begin(ctx, ss.ID(), header)
	if !ok {
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: tooManyCalls}
	}
	defer end()
	reservation := &limit.Reservation{}
	defer reservation.Release()
	to := callee{agent: agent.String(), url: originOf(header) + "/agents/" + agent.String() + "/"}
	c := &taskCall{callee: to, id: p.TaskID, capabilities: capabilities, call: &agentclient.Call{
		URL: to.url, Header: forwarded(header, p.Meta), TaskID: id, Reservation: reservation,
	}}
	c.found, err = t.agents.Read(ctx, c.call)
	if err == nil {
		err = serve(ctx, c)
	}
	problem, isProblem := errors.AsType[*a2a.Error](err)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case isProblem && problem.Reason == a2a.ReasonTaskNotFound:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Task not found"}
	default:
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: t.explain(ctx, ToolCall, err)}
	}
}

// missingTasks returns the error for a client that does not declare tasksExtension.
func missingTasks() error {
	required := &mcp.ClientCapabilities{}
	required.AddExtension(tasksExtension, nil)
	data, err := json.Marshal(&mcp.MissingRequiredClientCapabilityData{RequiredCapabilities: required})
	if err != nil {
		return fmt.Errorf("encode required capabilities: %w", err)
	}
	return &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "The client must declare " + tasksExtension, Data: data}
}

// describe returns the state of a task. A task that waits for what the client cannot ask its user for is
// completed: its result says how to go on, as the result of a call without tasksExtension does.
func (t *tools) describe(c *taskCall) *task {
	out := newTask("complete", c.id, c.found)
	q := questionOf(c.found)
	declined := q != nil && t.declined.has(c.id, q.Key)
	switch state := c.found.Status.State; {
	case state == a2a.StateCanceled:
		out.Status = "cancelled"
	case q != nil && !declined && canAsk(q, c.capabilities):
		out.Status = "input_required"
		out.InputRequests = mcp.InputRequestMap{q.Key: q.elicitation(c.agent)}
	case state.Terminal() || state.Interrupted():
		note := ""
		if declined {
			note = notAnswered
		}
		out.Status = "completed"
		out.Result = c.task(c.found, note).CallToolResult
	}
	return out
}

// update sends the answer of the user to the agent. It ignores answers to other questions than the one
// for which the task waits, and to one for which the client cannot ask its user: see canAsk.
func (t *tools) update(ctx context.Context, c *taskCall, responses mcp.InputResponseMap) error {
	q := questionOf(c.found)
	if q == nil || !canAsk(q, c.capabilities) {
		return nil
	}
	reply, ok := responses[q.Key].(*mcp.ElicitResult)
	if !ok {
		return nil
	}
	message := q.reply(reply)
	if message == nil {
		t.declined.add(c.id, q.Key)
		return nil
	}
	c.call.Message = message
	c.call.Wait = time.Millisecond // the client polls the task
	_, err := t.agents.Do(ctx, c.call)
	return err
}

// declined are the questions that users have declined, by the ids of tasks. If there are maxDeclined, all
// are forgotten, and the users are asked again. It is safe for concurrent use.
type declined struct {
	mu  sync.Mutex
	all map[[2]string]bool
}

func (d *declined) add(task, question string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil || len(d.all) >= maxDeclined {
		d.all = map[[2]string]bool{}
	}
	d.all[[2]string{task, question}] = true
}

func (d *declined) has(task, question string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all[[2]string{task, question}]
}
