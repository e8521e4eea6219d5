// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/directory"
)

// findArguments are the arguments of find_agents, which are the parameters of the registry's
// search.
type findArguments struct {
	Q          string   `json:"q,omitempty" jsonschema:"What the agent must be able to do, in any words. The best matches come first."`
	Text       string   `json:"text,omitempty" jsonschema:"Words that all occur in the names, descriptions, ids, tags or examples of the agent and its skills."`
	Skill      []string `json:"skill,omitempty" jsonschema:"Ids of skills that the agent has."`
	Tag        []string `json:"tag,omitempty" jsonschema:"Tags that skills of the agent have."`
	InputMode  []string `json:"inputMode,omitempty" jsonschema:"Media types that a skill accepts, such as text/plain."`
	OutputMode []string `json:"outputMode,omitempty" jsonschema:"Media types that a skill returns, such as image/png."`
	Provider   []string `json:"provider,omitempty" jsonschema:"The organization that provides the agent."`
	Namespace  string   `json:"namespace,omitempty" jsonschema:"The namespace of the agent."`
	Ready      *bool    `json:"ready,omitempty" jsonschema:"True for agents that are ready for calls."`
	Remote     *bool    `json:"remote,omitempty" jsonschema:"True for remote agents, false for agents of the cluster."`
	Limit      int      `json:"limit,omitempty" jsonschema:"The maximum number of agents in the answer, 1 to 200; 20 if absent."`
	Cursor     string   `json:"cursor,omitempty" jsonschema:"nextCursor of the previous answer, for the next page."`
}

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
	URL       string `json:"url,omitempty" jsonschema:"The URL from which the agent reads the file; set data or url."`
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

// decode reads the arguments of a tool: an object in which each member has a reader and
// occurs once. Absent arguments are an empty object.
func decode(r *mcp.CallToolRequest, readers map[string]func(*jsonread.Reader)) error {
	if len(r.Params.Arguments) == 0 {
		return nil
	}
	in := jsonread.New(r.Params.Arguments)
	unknown := readObject(in, "is not an argument of this tool", readers)
	return cmp.Or(unknown, directory.Explain(r.Params.Arguments, in.End()))
}

// readObject reads an object by the readers of its members. It returns an error for the
// first member that has no reader. The errors of values are in the reader in.
func readObject(in *jsonread.Reader, problem string, readers map[string]func(*jsonread.Reader)) (unknown error) {
	for name := range in.Members() {
		if read := readers[string(name)]; read != nil {
			read(in)
		} else if unknown == nil {
			unknown = directory.UnknownMember(string(name), problem, slices.Sorted(maps.Keys(readers)))
		}
	}
	return unknown
}

// textInto returns a function that reads a string into to.
func textInto(to *string) func(*jsonread.Reader) {
	return func(in *jsonread.Reader) { *to = in.String() }
}

func parseAgent(text string) (directory.Agent, error) {
	agent, ok := directory.ParseAgent(text)
	if !ok {
		return agent, a2a.InvalidParams("agent", "must be namespace/name, such as team/echo; find_agents lists agents")
	}
	return agent, nil
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
			p.Content = a2a.ContentURL
			p.URL = f.URL
		default:
			p.Content = a2a.ContentRaw
			p.Raw = f.Data
		}
		m.Parts = append(m.Parts, p)
	}
	if len(m.Parts) == 0 {
		if a.TaskID == "" {
			return nil, a2a.InvalidParams("message", "is required, unless data or files are sent, or taskId names a task to wait for")
		}
		return nil, nil // nil is a valid result: no message
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
