// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// callTool calls a tool with arguments, which may be invalid JSON, and returns the text
// of the result.
func callTool(t *testing.T, f *fixture, tool, arguments string) (text string, isError bool) {
	t.Helper()
	s := f.connect(t, "")
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return err.Error(), true
	}
	if len(r.Content) != 1 {
		t.Fatalf("content = %+v", r.Content)
	}
	return r.Content[0].(*mcp.TextContent).Text, r.IsError
}

// A mistake in the arguments is an error of the tool, which names the argument and reaches
// neither the registry nor an agent.
func TestMistakesInArgumentsAreErrorsOfTheTool(t *testing.T) {
	f := newFixture(t, func(http.ResponseWriter, *http.Request) { t.Error("a request is sent") })
	for name, test := range map[string]struct{ tool, arguments, want string }{
		"unknown argument of find":       {ToolFind, `{"skil":"x"}`, "skil: is not a parameter of this search; use q, text"},
		"parameter that is no argument":  {ToolFind, `{"minRevision":"1-1"}`, "minRevision: is not a parameter"},
		"another case":                   {ToolFind, `{"Skill":["x"]}`, "Skill: is not a parameter"},
		"repeated argument":              {ToolFind, `{"limit":1,"limit":2}`, "limit: is repeated; use it once"},
		"object as a value":              {ToolFind, `{"q":{"x":1}}`, "q: must be a string"},
		"list of lists":                  {ToolFind, `{"skill":[["x"]]}`, "must be a string"},
		"list as arguments":              {ToolFind, `["x"]`, "object"},
		"oversized arguments":            {ToolFind, `{"tag":"` + strings.Repeat("x", 1<<20) + `"}`, "shorten them"},
		"too many values":                {ToolFind, `{"skill":["x"],"tag":[` + strings.Repeat("1,", 1<<19) + `1]}`, "tag: has more values"},
		"oversized name":                 {ToolFind, `{"` + strings.Repeat("x", 1<<20) + `":1}`, "xxx…: is not a parameter"},
		"unknown argument of get":        {ToolGet, `{"agent":"team/echo","version":"1"}`, "version: is not an argument of this tool; use agent"},
		"wrong type of agent":            {ToolGet, `{"agent":["team/echo"]}`, "agent: must be a string"},
		"no agent":                       {ToolGet, `{}`, "agent: must be namespace/name"},
		"empty agent":                    {ToolGet, `{"agent":""}`, "agent: must be namespace/name"},
		"agent that is a path":           {ToolGet, `{"agent":"team/../../etc"}`, "agent: must be namespace/name"},
		"repeated agent":                 {ToolGet, `{"agent":"team/a","agent":"team/b"}`, "agent: is repeated; use it once"},
		"unknown argument of call":       {ToolCall, `{"agent":"team/echo","message":"x","history":1}`, "history: is not an argument of this tool"},
		"wrong type of message":          {ToolCall, `{"agent":"team/echo","message":{"text":"x"}}`, "message: must be a string"},
		"no message":                     {ToolCall, `{"agent":"team/echo"}`, "message: is required"},
		"empty message":                  {ToolCall, `{"agent":"team/echo","message":""}`, "message: is required"},
		"repeated message":               {ToolCall, `{"agent":"team/echo","message":"x","message":"y"}`, "message: is repeated"},
		"repeated member of data":        {ToolCall, `{"agent":"team/echo","data":{"a":1,"a":2}}`, "data.a: is repeated"},
		"files that are no list":         {ToolCall, `{"agent":"team/echo","files":{"url":"https://a.example/"}}`, "files: must be an array"},
		"too many files":                 {ToolCall, `{"agent":"team/echo","files":[` + strings.Repeat(`{"url":"u"},`, maxFiles) + `{"url":"u"}]}`, "exceeds the limit of 1000"},
		"unknown member of a file":       {ToolCall, `{"agent":"team/echo","files":[{"uri":"https://a.example/"}]}`, "uri: is not a member of a file; use data, mediaType, name, url"},
		"file without content":           {ToolCall, `{"agent":"team/echo","files":[{"name":"x"}]}`, "files[0]: must have data or url"},
		"file with two contents":         {ToolCall, `{"agent":"team/echo","files":[{"url":"u","data":"AAAA"}]}`, "files[0]: must have data or url"},
		"file that is no base64":         {ToolCall, `{"agent":"team/echo","files":[{"data":"%"}]}`, "files[0].data: must be a base64 string"},
		"agent of the call that is null": {ToolCall, `{"agent":null,"message":"x"}`, "agent: must be namespace/name"},
	} {
		t.Run(name, func(t *testing.T) {
			text, isError := callTool(t, f, test.tool, test.arguments)
			if !isError || !strings.Contains(text, test.want) || len(text) > 1024 || strings.Contains(text, "Go ") {
				t.Errorf("error %t: %.300s, want %s", isError, text, test.want)
			}
		})
	}
}

// Mistakes that the registry finds are errors of the tool with the text of the registry.
func TestMistakesThatTheRegistryFindsAreErrorsOfTheTool(t *testing.T) {
	var mu sync.Mutex
	var query string
	f := newFixture(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		query = r.URL.RawQuery
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"code":"InvalidParameter","message":"limit: must be a number from 1 to 200","field":"limit"}}`)
	})
	for arguments, want := range map[string]string{
		`{"limit":0}`: "limit=0", `{"limit":"ten"}`: "limit=ten", `{"cursor":"M3RlYW0vYQ"}`: "cursor=M3RlYW0vYQ&limit=20", `{"q":["a","b"]}`: "limit=20&q=a&q=b",
		// Models send null and "" for arguments that they do not use.
		`{"q":"","skill":[""],"ready":null,"limit":null}`: "limit=20", `{}`: "limit=20",
	} {
		text, isError := callTool(t, f, ToolFind, arguments)
		mu.Lock()
		if !isError || !strings.Contains(text, "limit: must be a number from 1 to 200") || query != want {
			t.Errorf("%s: query %s, want %s; error %t: %s", arguments, query, want, isError, text)
		}
		mu.Unlock()
	}
}

func TestTheSchemaOfFindAgentsHasItsArguments(t *testing.T) {
	want, got := slices.Sorted(slices.Values(findParameters)), slices.Sorted(maps.Keys(schemaOf[findArguments]().Properties))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arguments (-read +described):\n%s", diff)
	}
}
