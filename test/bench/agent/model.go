// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// steps is the number of calls in a turn of the model. The last answer has none.
const steps = 10

// complete is a language model: it calls the tool look in each of the steps, and then answers. It calls change, which needs approval, if the
// message says so.
func complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	done := bytes.Count(body, []byte(`"role":"tool"`))
	tool := "look"
	if bytes.Contains(body, []byte("needs approval")) {
		tool = "change"
	}
	if done < steps {
		_, _ = fmt.Fprintf(w, `data: {"choices":[{"delta":{"content":"I look at %d."}}]}`+"\n\n"+
			`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c%d","function":{"name":%q,"arguments":"{\"n\":%d}"}}]}}]}`+"\n\n", done, done, tool, done)
	} else {
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"That is all."}}]}`+"\n\n")
	}
	finish := "tool_calls"
	if done == steps {
		finish = "stop"
	}
	_, _ = fmt.Fprintf(w, `data: {"choices":[{"delta":{},"finish_reason":%q}],"usage":{"prompt_tokens":%d,"completion_tokens":9}}`+"\n\ndata: [DONE]\n\n", finish, len(body)/4)
}

// tools is an MCP server with the tools look and change.
func tools() http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
	for _, name := range []string{"look", "change"} {
		server.AddTool(&mcp.Tool{Name: name, Description: "Looks at a thing", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "A thing of 200 bytes. " + filler}}}, nil
			})
	}
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
}

const filler = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
