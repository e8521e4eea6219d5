// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/delegation"
	"github.com/a2a-operator/a2a-operator/internal/a2a/directory"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/agentclient"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/registryclient"
)

// maxCalls is the maximum number of calls of tools that run at a time. Further calls fail at
// once (load shedding). One request may contain many calls.
const maxCalls = 64

const instructions = "These tools reach the other agents of the Kubernetes cluster. Find an agent with find_agents, read its skills with get_agent if " +
	"find_agents did not return enough, and send it work with call_agent. An agent is named namespace/name."

// tools implements the tools.
type tools struct {
	observe  func(tool string, o Outcome)
	log      *slog.Logger
	registry *registryclient.Client
	agents   *agentclient.Client
	sessions *sessions
	requests *requests
	calls    chan struct{}
	taskWait time.Duration
	declined declined
}

// addTo adds the tools to a server.
func (t *tools) addTo(s *mcp.Server) error {
	no := false
	yes := true
	s.AddTool(&mcp.Tool{
		Name: ToolFind, Title: "Find agents", InputSchema: schemaOf[findArguments](),
		Description: "Finds agents of the cluster that this agent may see, ranked by q, and by words, skills, tags, media types, namespace and readiness; all conditions must hold. " +
			"Without arguments it lists all. The answer has the skills of each agent.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &no},
	}, t.handler(ToolFind, t.find))
	s.AddTool(&mcp.Tool{
		Name: ToolGet, Title: "Get agent", InputSchema: schemaOf[getArguments](),
		Description: "Returns the entry of an agent in the registry and its card, with all skills, examples and media types.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &no},
	}, t.handler(ToolGet, t.get))
	s.AddTool(&mcp.Tool{
		Name: ToolCall, Title: "Call agent", InputSchema: schemaOf[callArguments](), OutputSchema: schemaOf[callOutput](),
		Annotations: &mcp.ToolAnnotations{OpenWorldHint: &yes},
		Description: "Sends a message to an agent, waits until its task has ended or needs input, and returns the output. The last text of the answer is an object with " +
			"taskId, contextId and state. If state is input-required, get the input that the agent requests and call again with taskId and the answer as message. " +
			"To continue a conversation, call again with contextId.",
	}, t.handler(ToolCall, func(ctx context.Context, r *mcp.CallToolRequest) (*result, error) {
		t.requests.keepAlive(r.Extra.Header)
		return t.callAgent(ctx, r)
	}))
	t.addResources(s)
	return t.addTasks(s)
}

// handler returns the handler of a tool. It limits the number of running calls, cancels a
// call when its session or, without a session, its HTTP request ends, and converts errors to results with an
// error, which models read.
func (t *tools) handler(name string, run func(context.Context, *mcp.CallToolRequest) (*result, error)) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, end, ok := t.begin(ctx, r.Session.ID(), r.Extra.Header)
		if !ok {
			t.observe(name, OutcomeFailed)
			return failed(tooManyCalls), nil
		}
		defer end()
		out, err := run(ctx, r)
		switch {
		case ctx.Err() != nil && err != nil:
			t.observe(name, OutcomeCanceled)
			return nil, context.Cause(ctx)
		case err != nil:
			t.observe(name, OutcomeFailed)
			return failed(t.explain(ctx, name, err)), nil
		}
		t.observe(name, out.outcome)
		return out.CallToolResult, nil
	}
}

// tooManyCalls is the error of a call while maxCalls calls run.
const tooManyCalls = "Too many calls of tools are running; try again when one has ended"

// begin begins a call of the HTTP request with a header. Its context ends with its session or, without a session, with
// the request. The caller must call end. If maxCalls calls run, ok is false.
func (t *tools) begin(ctx context.Context, session string, header http.Header) (call context.Context, end func(), ok bool) {
	select {
	case t.calls <- struct{}{}:
	default:
		return nil, nil, false
	}
	call, stop := context.WithCancelCause(ctx)
	forgetSession := context.AfterFunc(t.sessions.of(session), func() { stop(errSessionEnded) })
	request, done := t.requests.use(header)
	call = delegation.Passed(call, request)
	forgetRequest := func() bool { return true }
	switch {
	case session == "":
		forgetRequest = context.AfterFunc(request, func() { stop(errRequestEnded) })
	case request.Err() != nil: // the request ended before its call began
		stop(errRequestEnded)
	}
	return call, func() {
		forgetSession()
		forgetRequest()
		stop(nil)
		done()
		<-t.calls
	}, true
}

var (
	errSessionEnded = errors.New("the MCP session has ended")
	errRequestEnded = errors.New("the MCP request has ended")
)

// explain returns the text of an error for the model. It logs errors that are not *a2a.Error.
func (t *tools) explain(ctx context.Context, tool string, err error) string {
	problem, ok := errors.AsType[*a2a.Error](err)
	if !ok {
		t.log.ErrorContext(ctx, "MCP tool failed", "tool", tool, "error", err)
		return "The sidecar failed; its log has the reason"
	}
	if problem.Error() == "" {
		return "The agent answered with error " + string(problem.Reason)
	}
	return problem.Error()
}

// defaultLimit is the default number of agents in a result. It is smaller than the registry's
// default, because models read the result.
const defaultLimit = 20

// findParameters are the names of the arguments of find_agents.
var findParameters = []string{"q", "text", "skill", "tag", "inputMode", "outputMode", "provider", "namespace", "ready", "remote", "limit", "cursor"}

func (t *tools) find(ctx context.Context, r *mcp.CallToolRequest) (*result, error) {
	arguments := r.Params.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	parameters, err := directory.Parameters(arguments, findParameters)
	if err != nil {
		return nil, err
	}
	if !parameters.Has("limit") {
		parameters.Set("limit", strconv.Itoa(defaultLimit))
	}
	for {
		page, err := t.registry.Find(ctx, originOf(r.Extra.Header), parameters)
		if err != nil {
			return nil, err
		}
		out, err := structured(page)
		if out != nil || err != nil {
			return out, err
		}
		// The page is too long. A page with fewer agents has the cursor at which the next page begins.
		if len(page.Items) > 1 {
			parameters.Set("limit", strconv.Itoa(len(page.Items)/2))
			continue
		}
		if page.Items[0], err = shortEntry(page.Items[0]); err != nil {
			return nil, err
		}
		return structured(page)
	}
}

// shortEntry returns the entry of an agent without its texts, and with the URI of the whole entry.
func shortEntry(entry json.RawMessage) (json.RawMessage, error) {
	var short struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		Ready     bool   `json:"ready"`
		Truncated bool   `json:"truncated"`
		URI       string `json:"uri"`
	}
	if err := json.Unmarshal(entry, &short); err != nil {
		return nil, fmt.Errorf("decode entry: %w", err)
	}
	short.Truncated = true
	short.URI = "a2a://" + short.Namespace + "/" + short.Name + "/entry"
	return json.Marshal(&short)
}

func (t *tools) get(ctx context.Context, r *mcp.CallToolRequest) (*result, error) {
	var arguments getArguments
	if err := decode(r, map[string]func(*jsonread.Reader){"agent": textInto(&arguments.Agent)}); err != nil {
		return nil, err
	}
	agent, err := parseAgent(arguments.Agent)
	if err != nil {
		return nil, err
	}
	entry, err := t.registry.Entry(ctx, originOf(r.Extra.Header), agent)
	if err != nil {
		return nil, err
	}
	answer := map[string]json.RawMessage{"agent": entry}
	card, err := t.registry.Card(ctx, originOf(r.Extra.Header), agent, "1.0")
	problem, _ := errors.AsType[*a2a.Error](err)
	switch {
	case err == nil:
		answer["card"] = card
	case problem == nil || problem.Reason != a2a.ReasonPermissionDenied:
		return nil, err
	}
	out, err := structured(answer)
	if out != nil || err != nil {
		return out, err
	}
	// The texts of the agent are too long. Nearly all of them are in the card, which is a resource.
	if answer["agent"], err = shortEntry(entry); err != nil {
		return nil, err
	}
	delete(answer, "card")
	if answer["cardURI"], err = json.Marshal("a2a://" + agent.String() + "/card"); err != nil {
		return nil, fmt.Errorf("encode uri: %w", err)
	}
	return structured(answer)
}
