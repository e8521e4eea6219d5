// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/directory"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/agentclient"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/registryclient"
)

// The names of the tools.
const (
	ToolFind = "find_agents"
	ToolGet  = "get_agent"
	ToolCall = "call_agent"
)

const instructions = "These tools reach the other agents of the Kubernetes cluster. Find an agent with find_agents, read its skills with get_agent if " +
	"find_agents did not say enough, and give it work with call_agent. An agent is named namespace/name."

// tools implements the tools.
type tools struct {
	options  Options
	registry *registryclient.Client
	agents   *agentclient.Client
	sessions *sessions
	requests *requests
	calls    chan struct{}
}

// findArguments are the arguments of find_agents, which are the parameters of the registry's
// search.
type findArguments struct {
	Q          string   `json:"q,omitempty" jsonschema:"What the agent must be able to do, in any words. The best matches come first."`
	Text       string   `json:"text,omitempty" jsonschema:"Words that all occur in the names, descriptions, ids, tags or examples of the agent and its skills."`
	Skill      []string `json:"skill,omitempty" jsonschema:"Ids of skills that the agent has."`
	Tag        []string `json:"tag,omitempty" jsonschema:"Tags that skills of the agent have."`
	InputMode  []string `json:"inputMode,omitempty" jsonschema:"Media types that a skill takes, such as text/plain."`
	OutputMode []string `json:"outputMode,omitempty" jsonschema:"Media types that a skill gives, such as image/png."`
	Provider   []string `json:"provider,omitempty" jsonschema:"The organization that provides the agent."`
	Namespace  string   `json:"namespace,omitempty" jsonschema:"The namespace of the agent."`
	Ready      *bool    `json:"ready,omitempty" jsonschema:"True for agents that take calls now."`
	Remote     *bool    `json:"remote,omitempty" jsonschema:"True for remote agents, false for agents of the cluster."`
	Limit      int      `json:"limit,omitempty" jsonschema:"The number of agents in the answer at most, 1 to 200; 20 if absent."`
	Cursor     string   `json:"cursor,omitempty" jsonschema:"nextCursor of the answer before, for the next page."`
}

// defaultLimit is the default number of agents in a result. It is smaller than the registry's
// default, because models read the result.
const defaultLimit = 20

type getArguments struct {
	Agent string `json:"agent" jsonschema:"The agent as namespace/name, such as team/echo."`
}

type callArguments struct {
	Agent     string          `json:"agent" jsonschema:"The agent as namespace/name, such as team/echo."`
	Message   string          `json:"message,omitempty" jsonschema:"The text for the agent: a task, or the answer to its question. Without message, data and files the call waits for the task taskId."`
	Data      json.RawMessage `json:"data,omitempty" jsonschema:"Structured input for the agent, any JSON value."`
	Files     []file          `json:"files,omitempty" jsonschema:"Files for the agent."`
	Skill     string          `json:"skill,omitempty" jsonschema:"The id of the agent's skill to use, if the agent has several."`
	TaskID    string          `json:"taskId,omitempty" jsonschema:"Continues this task, such as one that waits for input."`
	ContextID string          `json:"contextId,omitempty" jsonschema:"Continues this conversation with a new task."`
}

type file struct {
	Name      string `json:"name,omitempty" jsonschema:"The name of the file."`
	MediaType string `json:"mediaType,omitempty" jsonschema:"The media type of the file, such as image/png."`
	Data      []byte `json:"data,omitempty" jsonschema:"The content in base64; set data or url."`
	URL       string `json:"url,omitempty" jsonschema:"Where the agent finds the file; set data or url."`
}

func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
		reflect.TypeFor[[]string]():        {Type: "array", Items: &jsonschema.Schema{Type: "string"}},
		reflect.TypeFor[[]file]():          nil,
	}})
	if err != nil {
		panic(fmt.Sprintf("schema of %T: %v", *new(T), err)) // the types are fixed
	}
	return s
}

// addTo adds the tools to a server.
func (t *tools) addTo(s *mcp.Server) {
	no := false
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
		Name: ToolCall, Title: "Call agent", InputSchema: schemaOf[callArguments](),
		Description: "Sends a message to an agent, waits until its task has ended or needs input, and returns the output. The last text of the answer is an object with " +
			"taskId, contextId and state. If state is input-required, ask for what the agent wants and call again with taskId and the answer as message. " +
			"To go on with a conversation, call again with contextId.",
	}, t.handler(ToolCall, t.call))
}

// result is the result of a tool, with its outcome for metrics.
type result struct {
	*mcp.CallToolResult
	outcome Outcome
}

// handler returns the handler of a tool. It limits the number of running calls, cancels a
// call when its session or its HTTP request ends, and converts errors to results with an
// error, which models read.
func (t *tools) handler(name string, run func(context.Context, *mcp.CallToolRequest) (*result, error)) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case t.calls <- struct{}{}:
			defer func() { <-t.calls }()
		default:
			t.options.Observe(name, OutcomeFailed)
			return failed("Too many calls of tools are running; try again when one has ended"), nil
		}
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		defer context.AfterFunc(t.sessions.of(r.Session.ID()), func() { stop(errSessionEnded) })()                    //nolint:contextcheck // the session outlives the call
		defer context.AfterFunc(t.requests.of(r.Extra.Header.Get(headerRequest)), func() { stop(errRequestEnded) })() //nolint:contextcheck // the SDK's context outlives the request
		out, err := run(ctx, r)
		switch {
		case ctx.Err() != nil && err != nil:
			t.options.Observe(name, OutcomeCanceled)
			return nil, context.Cause(ctx)
		case err != nil:
			t.options.Observe(name, OutcomeFailed)
			return failed(t.explain(ctx, name, err)), nil
		}
		t.options.Observe(name, out.outcome)
		return out.CallToolResult, nil
	}
}

var (
	errSessionEnded = errors.New("the MCP session has ended")
	errRequestEnded = errors.New("the MCP request has ended")
)

// explain returns the text of an error for the model. It logs errors that are not *a2a.Error.
func (t *tools) explain(ctx context.Context, tool string, err error) string {
	problem, ok := errors.AsType[*a2a.Error](err)
	if !ok {
		t.options.Log.ErrorContext(ctx, "MCP tool failed", "tool", tool, "error", err)
		return "The sidecar failed; its log has the reason"
	}
	if problem.Error() == "" {
		return "The agent answered with error " + string(problem.Reason)
	}
	return problem.Error()
}

func failed(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// decode reads the arguments of a tool: an object in which each member has a reader and
// occurs once. Absent arguments are an empty object.
func decode(r *mcp.CallToolRequest, readers map[string]func(*jsonread.Reader)) error {
	if len(r.Params.Arguments) == 0 {
		return nil
	}
	in := jsonread.New(r.Params.Arguments)
	unknown := readObject(in, "is not an argument of this tool", readers)
	return cmp.Or(unknown, directory.Explain(r.Params.Arguments, in.End())) //nolint:wrapcheck // each is an *a2a.Error
}

// readObject reads an object. It returns an error for the first member without a reader.
// Errors of values are stored in the reader in.
func readObject(in *jsonread.Reader, problem string, readers map[string]func(*jsonread.Reader)) (unknown error) {
	for name := range in.Members() {
		if read := readers[string(name)]; read != nil {
			read(in)
		} else if unknown == nil {
			unknown = directory.UnknownMember(string(name), problem, slices.Sorted(maps.Keys(readers)))
		}
	}
	return unknown //nolint:wrapcheck // it is an *a2a.Error
}

// textInto returns a function that reads a string into to.
func textInto(to *string) func(*jsonread.Reader) {
	return func(in *jsonread.Reader) { *to = in.String() }
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

// originOf returns the URL of the gateway that the client has called.
func originOf(r *mcp.CallToolRequest) string { return r.Extra.Header.Get(headerOrigin) }

// findParameters are the names of the arguments of find_agents.
var findParameters = []string{"q", "text", "skill", "tag", "inputMode", "outputMode", "provider", "namespace", "ready", "remote", "limit", "cursor"}

func (t *tools) find(ctx context.Context, r *mcp.CallToolRequest) (*result, error) {
	arguments := r.Params.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	parameters, err := directory.Parameters(arguments, findParameters)
	if err != nil {
		return nil, err //nolint:wrapcheck // it is an *a2a.Error
	}
	if !parameters.Has("limit") {
		parameters.Set("limit", strconv.Itoa(defaultLimit))
	}
	page, err := t.registry.Find(ctx, originOf(r), parameters)
	if err != nil {
		return nil, err //nolint:wrapcheck // it is an *a2a.Error
	}
	return structured(page)
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
	entry, err := t.registry.Entry(ctx, originOf(r), agent)
	if err != nil {
		return nil, err //nolint:wrapcheck // it is an *a2a.Error
	}
	answer := map[string]json.RawMessage{"agent": entry}
	card, err := t.registry.Card(ctx, originOf(r), agent, "1.0")
	problem, _ := errors.AsType[*a2a.Error](err)
	switch {
	case err == nil:
		answer["card"] = card
	case problem == nil || problem.Reason != a2a.ReasonPermissionDenied:
		return nil, err //nolint:wrapcheck // it is an *a2a.Error
	}
	return structured(answer)
}

func parseAgent(text string) (directory.Agent, error) {
	agent, ok := directory.ParseAgent(text)
	if !ok {
		return agent, a2a.InvalidParams("agent", "must be namespace/name, such as team/echo; find_agents lists agents")
	}
	return agent, nil
}
