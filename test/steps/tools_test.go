// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/test/exchangetest"
)

// replicaHeader has the number of the replica that calls a tool.
const replicaHeader = "X-Replica"

// tools returns the MCP server.
func (w *world) tools() http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}`)
	for name, annotations := range map[string]*mcp.ToolAnnotations{
		toolLook: {ReadOnlyHint: true}, toolPut: {IdempotentHint: true}, toolPay: nil, toolDeploy: nil,
	} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: schema, Annotations: annotations}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var arguments struct {
				Key string `json:"key"`
			}
			if err := json.Unmarshal(r.Params.Arguments, &arguments); err != nil {
				return nil, err
			}
			from, err := strconv.Atoi(r.Extra.Header.Get(replicaHeader))
			if err != nil {
				return nil, err
			}
			w.moved(tokens.FindString(arguments.Key), w.replicas[from])
			return w.call(name, arguments.Key)
		})
	}
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
}

var errKilled = fmt.Errorf("the caller or the server was killed")

func (w *world) call(tool, key string) (*mcp.CallToolResult, error) {
	token := tokens.FindString(key)
	if w.reach(beforeCall, token) {
		return nil, errKilled
	}
	if w.reach(serverAway, token) {
		return nil, errKilled
	}
	w.ran(key)
	if w.reach(beforeResult, token) || w.reach(serverInAnswer, token) {
		return nil, errKilled
	}
	go func() {
		pauseBriefly()
		w.reach(afterResult, token)
	}()
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: result(tool, key)}}}, nil
}

var keys = regexp.MustCompile(`conversation-\d+-\d+/\d+/\d+-\d+`)

// serveHelper is the container of the called agent.
func (w *world) serveHelper(rw http.ResponseWriter, r *http.Request) {
	var turn struct {
		Message json.RawMessage `json:"message"`
	}
	if err := json.NewDecoder(r.Body).Decode(&turn); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	key := string(keys.Find(turn.Message))
	token := tokens.FindString(key)
	w.ran(key)
	w.reach(callingAgent, token)
	rw.Header().Set("Content-Type", "application/x-ndjson")
	_, _ = fmt.Fprintf(rw, "{\"text\":%q}\n", result(toolHelper, key))
	_ = http.NewResponseController(rw).Flush()
	go func() {
		pauseBriefly()
		w.reach(calledAgent, token)
	}()
}

// serveRegistry lists the called agent.
func serveRegistry(rw http.ResponseWriter, r *http.Request) {
	if exchangetest.Serve(rw, r) {
		return
	}
	_, _ = io.WriteString(rw, `{"namespace":"team","name":"helper","url":"http://helper.team.svc/","description":"Helps"}`)
}
