// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command steploop is a lower bound for the cost of an agent without code in Go: for each request, it asks the model, calls the tool that the
// model wants, and repeats this until the model answers without a call. It stores nothing and tells its client nothing meanwhile.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/test/bench/process"
)

func main() {
	agent := flag.String("agent", "", "base `URL` of the model and the tools")
	process.Serve(func() http.Handler {
		transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
		l := &loop{url: *agent, http: &http.Client{Transport: transport}}
		session, err := mcp.NewClient(&mcp.Implementation{Name: "loop", Version: "1"}, nil).Connect(context.Background(),
			&mcp.StreamableClientTransport{Endpoint: *agent + "mcp", HTTPClient: l.http}, nil)
		if err != nil {
			log.Fatal(err)
		}
		l.session = session
		listed, err := session.ListTools(context.Background(), nil)
		if err != nil {
			log.Fatal(err)
		}
		for _, each := range listed.Tools {
			l.tools = append(l.tools, tool{Type: "function", Function: function{Name: each.Name, Description: each.Description, Parameters: each.InputSchema}})
		}
		return l
	})
}

type loop struct {
	url     string
	http    *http.Client
	session *mcp.ClientSession
	tools   []tool
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Parameters  any    `json:"parameters,omitempty"`
	Arguments   string `json:"arguments,omitempty"`
}

type call struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Calls   []call `json:"tool_calls,omitempty"`
	CallID  string `json:"tool_call_id,omitempty"`
}

// ServeHTTP implements http.Handler.
func (l *loop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	messages := []message{{Role: "user", Content: string(body)}}
	for {
		answer, err := l.ask(r.Context(), messages)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		if len(answer.Calls) == 0 {
			_, _ = fmt.Fprintf(w, `{"text":%q,"state":"TASK_STATE_COMPLETED"}`, answer.Content)
			return
		}
		messages = append(messages, *answer)
		for _, each := range answer.Calls {
			result, err := l.session.CallTool(r.Context(), &mcp.CallToolParams{Name: each.Function.Name, Arguments: json.RawMessage(each.Function.Arguments)})
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
			messages = append(messages, message{Role: "tool", CallID: each.ID, Content: result.Content[0].(*mcp.TextContent).Text})
		}
	}
}

// ask requests an answer as a stream.
func (l *loop) ask(ctx context.Context, messages []message) (*message, error) {
	body, err := json.Marshal(map[string]any{"model": "m", "stream": true, "messages": messages, "tools": l.tools})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+"v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := l.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer := &message{Role: "assistant"}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		data, isData := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !isData || string(data) == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
					Calls   []call `json:"tool_calls"`
				} `json:"delta"`
			} `json:"choices"`
		}
		if err := json.Unmarshal(data, &chunk); err != nil {
			return nil, err
		}
		for _, choice := range chunk.Choices {
			answer.Content += choice.Delta.Content
			for _, each := range choice.Delta.Calls {
				each.Type = "function"
				answer.Calls = append(answer.Calls, each)
			}
		}
	}
	return answer, nil
}
