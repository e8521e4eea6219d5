// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxEvent is the largest event that the official client for Python reads, in bytes.
const maxEvent = 1 << 20

// callOf calls a tool, and returns its result and the structured content. The result must fit into an event.
func callOf(t *testing.T, s *mcp.ClientSession, tool string, arguments map[string]any) (*mcp.CallToolResult, map[string]any) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if len(encoded) > maxEvent*3/4 {
		t.Errorf("the result of %s has %d bytes", tool, len(encoded))
	}
	value, _ := r.StructuredContent.(map[string]any)
	return r, value
}

// wholeOf reads all pieces of a resource.
func wholeOf(t *testing.T, s *mcp.ClientSession, uri string) []byte {
	t.Helper()
	var whole []byte
	for range 100 {
		r, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			t.Fatalf("read %s: %v", uri, err)
		}
		encoded, err := json.Marshal(r)
		if err != nil || len(encoded) > maxEvent {
			t.Errorf("a piece of %s has %d bytes", uri, len(encoded))
		}
		whole = append(append(whole, r.Contents[0].Text...), r.Contents[0].Blob...)
		next, more := r.Contents[0].Meta[metaNext].(string)
		if !more {
			return whole
		}
		uri = next
	}
	t.Fatalf("%s has no end", uri)
	return nil
}

// A result never exceeds what clients read. What it lacks can be read in pieces.
func TestLongOutputIsReadInPieces(t *testing.T) {
	text := strings.Repeat("日本語 \x01<&>\"\\ ", 40_000)
	raw := bytes.Repeat([]byte{0, 1, 2, 3, 255}, 100_000)
	many := strings.TrimSuffix(strings.Repeat(`{"text":""},`, 5000), ",")
	data := `{"rows":"` + strings.Repeat("x", 300_000) + `"}`
	task := `{"id":"t/1","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[` +
		`{"artifactId":"a b","name":"Report","parts":[{"text":"first"},{"text":` + quotedJSON(text) + `},{"data":` + data + `},` +
		`{"raw":"` + base64.StdEncoding.EncodeToString(raw) + `","filename":"x.bin"}]},{"artifactId":"many","parts":[` + many + `]}]}`
	agent := &script{responses: map[string][]string{"SendStreamingMessage": {"[" + `{"task":` + task + `}`}, "GetTask": {response(task)}}}
	for _, version := range []string{"", "2025-06-18"} {
		f := newFixture(t, agent.ServeHTTP)
		s := f.connect(t, version)
		r, value := callOf(t, s, ToolCall, map[string]any{"agent": "team/echo", "message": "x"})
		if r.IsError || value["state"] != "completed" || value["taskId"] != "t/1" || !strings.Contains(fmt.Sprint(value["note"]), "further parts are missing") {
			t.Fatalf("facts = %.300s", texts(r)[len(texts(r))-1])
		}
		shown := texts(r)[1]
		if texts(r)[0] != "first" || shown == "" || !strings.HasPrefix(text, shown) {
			t.Errorf("the result begins with %.40q, %.40q", texts(r)[0], shown)
		}
		missing := value["missing"].([]any)
		whole := [][]byte{[]byte(text), []byte(data), raw}
		for i, want := range whole {
			uri := missing[i].(map[string]any)["uri"].(string)
			if i == 0 {
				want = []byte(text[len(shown):])
			}
			if got := wholeOf(t, s, uri); !bytes.Equal(got, want) {
				t.Errorf("%s has %d bytes, want %d", uri, len(got), len(want))
			}
		}
		for _, uri := range []string{
			"a2a://team/echo/tasks/t%2F1/artifacts/a%20b/9", "a2a://team/echo/tasks/t%2F1/artifacts/a%20b/1?offset=2", "a2a://team/echo/tasks/t%2F1/artifacts/a%20b/0?offset=99",
			"a2a://team/echo/tasks/t%2F1/artifacts/a%20b/0?offset=-1", "a2a://team/echo/tasks/t%2F1/status/0", "a2a://team/echo/x", "a2a://TEAM/echo/card", "a2a://team/echo/tasks//status/0",
		} {
			if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil || !strings.Contains(err.Error(), "not found") {
				t.Errorf("%s: error %v, want not found", uri, err)
			}
		}
	}
}

// The reason of a failure comes before partial output.
func TestReasonOfAFailureComesFirst(t *testing.T) {
	task := `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_FAILED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"out of paper"}]}},` +
		`"artifacts":[{"artifactId":"a","name":"Half","parts":[{"text":"half"}]}]}`
	agent := &script{responses: map[string][]string{"SendStreamingMessage": {"[" + `{"task":` + task + `}`}, "GetTask": {response(task)}}}
	r, value := callOf(t, newFixture(t, agent.ServeHTTP).connect(t, ""), ToolCall, map[string]any{"agent": "team/echo", "message": "x"})
	if got := texts(r); !r.IsError || got[0] != "out of paper" || got[1] != "half" || value["artifacts"].([]any)[0].(map[string]any)["name"] != "Half" {
		t.Errorf("result = %q, %v", got, value)
	}
}

// Pages of find_agents end by bytes, and long entries and cards are resources.
func TestLongEntriesAreBounded(t *testing.T) {
	description := strings.Repeat("long ", 800)
	huge := strings.Repeat("<huge> ", 60_000)
	f := newFixture(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/agents"):
			n := 60
			_, _ = fmt.Sscan(r.URL.Query().Get("limit"), &n)
			from := 0
			_, _ = fmt.Sscan(r.URL.Query().Get("cursor"), &from)
			items := []string{}
			for i := from; i < min(from+n, 100); i++ {
				text := description
				if i == 99 {
					text = huge
				}
				items = append(items, fmt.Sprintf(`{"namespace":"team","name":"a%d","description":%s}`, i, quotedJSON(text)))
			}
			next := ""
			if from+len(items) < 100 {
				next = fmt.Sprint(from + len(items))
			}
			_, _ = io.WriteString(w, `{"items":[`+strings.Join(items, ",")+`],"nextCursor":"`+next+`","total":100}`)
		case strings.HasSuffix(r.URL.Path, "/card"):
			_, _ = io.WriteString(w, `{"name":"a","description":`+quotedJSON(huge)+`}`)
		default:
			_, _ = io.WriteString(w, `{"namespace":"team","name":"a","description":`+quotedJSON(huge)+`}`)
		}
	})
	s := f.connect(t, "")
	seen := 0
	cursor := ""
	for {
		arguments := map[string]any{"limit": 60}
		if cursor != "" {
			arguments["cursor"] = cursor
		}
		_, value := callOf(t, s, ToolFind, arguments)
		items := value["items"].([]any)
		for i := range items {
			if name := items[i].(map[string]any)["name"]; name != fmt.Sprintf("a%d", seen) {
				t.Fatalf("agent %d is %v", seen, name)
			}
			seen++
		}
		if last := items[len(items)-1].(map[string]any); seen == 100 && last["uri"] != "a2a://team/a99/entry" {
			t.Errorf("the last entry is %.200v", last)
		}
		cursor = value["nextCursor"].(string)
		if cursor == "" {
			break
		}
	}
	if seen != 100 {
		t.Errorf("the pages have %d agents, want 100", seen)
	}
	_, value := callOf(t, s, ToolGet, map[string]any{"agent": "team/a"})
	for _, uri := range []any{value["cardURI"], value["agent"].(map[string]any)["uri"]} {
		if got := wholeOf(t, s, fmt.Sprint(uri)); !json.Valid(got) || !bytes.Contains(got, []byte("huge")) {
			t.Errorf("%v has %.100s", uri, got)
		}
	}
}

// A skill that the card does not have is an error that lists its skills, and reaches no agent.
func TestUnknownSkillIsRefused(t *testing.T) {
	card := `{"name":"a","capabilities":{},"skills":[{"id":"sum"},{"id":"mean"}]}`
	task := `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}`
	agent := &script{responses: map[string][]string{"SendStreamingMessage": {"[" + `{"task":` + task + `}`}, "GetTask": {response(task)}}}
	f := newFixture(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/card") {
			_, _ = io.WriteString(w, card)
			return
		}
		agent.ServeHTTP(w, r)
	})
	s := f.connect(t, "")
	call := map[string]any{"agent": "team/echo", "message": "x", "skill": "some"}
	r, _ := callOf(t, s, ToolCall, call)
	if got := texts(r); !r.IsError || !strings.Contains(got[0], "skill") || !strings.Contains(got[0], "sum, mean") || agent.called() != "" {
		t.Errorf("result = %q, methods %s", got, agent.called())
	}
	call["skill"] = "mean"
	if r, _ := callOf(t, s, ToolCall, call); r.IsError {
		t.Errorf("a skill of the card is refused: %q", texts(r))
	}
}

func quotedJSON(text string) string {
	encoded, _ := json.Marshal(text) // strings have a JSON form
	return string(encoded)
}
