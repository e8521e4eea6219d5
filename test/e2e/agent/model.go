// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// models serves a model server at /v1 and an MCP server at /mcp. The model follows a script. The text of the message is the name of the first tool
// to call, with an argument message for an agent: "look", "researcher Look it up". After the result of look, the model calls deploy. After
// another result, it answers with the result.
func models() http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	says := func(text string) mcp.ToolHandler {
		return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		}
	}
	schema := json.RawMessage(`{"type":"object"}`)
	server.AddTool(&mcp.Tool{Name: "look", Description: "Looks", InputSchema: schema, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, says("version 1.4.1"))
	server.AddTool(&mcp.Tool{Name: "deploy", Description: "Deploys", InputSchema: schema}, says("deployed 1.4.2"))
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	if keys := os.Getenv("A2A_TEST_TOKEN_KEYS"); keys != "" {
		mux.Handle("/callers/mcp", tokenVerifier{keys: keys, audience: os.Getenv("A2A_TEST_TOKEN_AUDIENCE"), next: callers()})
	}
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":[{"id":"script"}]}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", complete)
	return mux
}

func complete(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil || len(request.Messages) == 0 {
		http.Error(w, "expected messages", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(delta any, finish string) {
		choice := map[string]any{"index": 0, "delta": delta}
		if finish != "" {
			choice["finish_reason"] = finish
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", encode(map[string]any{"choices": []any{choice}}))
		_ = http.NewResponseController(w).Flush()
	}
	call := func(name string, arguments any) {
		function := map[string]any{"name": name, "arguments": string(encode(arguments))}
		chunk(map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": "c", "type": "function", "function": function}}}, "")
		chunk(map[string]any{}, "tool_calls")
	}
	last := request.Messages[len(request.Messages)-1]
	name, message, _ := strings.Cut(last.Content, " ")
	switch {
	case last.Role == "tool" && last.Content == "version 1.4.1":
		call("deploy", map[string]any{"version": "1.4.2"})
	case last.Role == "tool":
		for word := range strings.FieldsSeq(last.Content) {
			chunk(map[string]any{"content": word + " "}, "")
		}
		chunk(map[string]any{}, "stop")
	default:
		call(name, map[string]any{"message": message})
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// encode returns a value as JSON.
func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // the values of this program can be encoded
	}
	return text
}
