// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// startMCPServer starts an MCP server with the tools look, which is read-only, and deploy. It returns its URL.
func startMCPServer(t *testing.T, deployed *atomic.Int32) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	says := func(text string, count *atomic.Int32) mcp.ToolHandler {
		return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			count.Add(1)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		}
	}
	schema := json.RawMessage(`{"type":"object"}`)
	server.AddTool(&mcp.Tool{Name: "look", InputSchema: schema, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, says("version 1.4.1", new(atomic.Int32)))
	server.AddTool(&mcp.Tool{Name: "deploy", InputSchema: schema}, says("deployed", deployed))
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(s.Close)
	return s.URL
}

// toolCaller is a model that calls look, then deploy, and then answers with the last result.
func toolCaller(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	call := func(name, arguments string) {
		_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":%q,\"arguments\":%q}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n", name, arguments)
	}
	switch {
	case strings.Contains(string(body), "deployed"):
		_, _ = io.WriteString(w, completion)
	case strings.Contains(string(body), "version 1.4.1"):
		call("deploy", `{"version":"1.4.2"}`)
	default:
		call("look", `{}`)
	}
}

// TestModelWithTools runs a model with an MCP server behind a whole sidecar: a call that needs approval pauses the task, a text does not
// decide, and the decision of the client runs the call once.
func TestModelWithTools(t *testing.T) {
	var deployed atomic.Int32
	model := httptest.NewServer(http.HandlerFunc(toolCaller))
	t.Cleanup(model.Close)
	o := standaloneOptions(t, respondHi)
	o.BackendURL = model.URL
	o.BackendProtocol = "ChatCompletions"
	o.ModelName = "m"
	o.MCPServers = []string{startMCPServer(t, &deployed)}
	o.MCPApproveWrites = true
	url := "http://" + standaloneWith(t, o).Addresses().Agent + "/"
	send := func(id, task, text, metadata string) (state, body string) {
		t.Helper()
		request := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","role":"user","messageId":%q,"taskId":%q,"parts":[{"kind":"text","text":%q}]%s}}}`, id, task, text, metadata)
		response, err := http.Post(url, "application/json", strings.NewReader(strings.Replace(request, `"taskId":"",`, "", 1)))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		all, _ := io.ReadAll(response.Body)
		var answer struct {
			Result struct {
				Status struct {
					State string `json:"state"`
				} `json:"status"`
			} `json:"result"`
		}
		if err := json.Unmarshal(all, &answer); err != nil {
			t.Fatalf("%s: %v", all, err)
		}
		return answer.Result.Status.State, string(all)
	}
	state, body := send("1", "", "Deploy the next version", "")
	if state != "input-required" || !strings.Contains(body, `\"version\": \"1.4.2\"`) || !strings.Contains(body, "MCP server http") {
		t.Fatalf("%s: %s", state, body)
	}
	between := func(before, after string) string {
		_, rest, _ := strings.Cut(body, before)
		value, _, _ := strings.Cut(rest, after)
		return value
	}
	task := between(`"taskId":"`, `"`)
	call := between(`"call_id":"`, `"`)
	if state, body := send("2", task, "Yes, I approve", ""); state != "input-required" || deployed.Load() != 0 {
		t.Fatalf("after a text: %s: %s", state, body)
	}
	decision := `,"extensions":["https://kagent.dev/extensions/hitl/v1"],"metadata":{"https://kagent.dev/extensions/hitl/v1":{"type":"tool_approval_response","approvals":[{"id":"` + call + `","approved":true}]}}`
	state, body = send("3", task, "approved", decision)
	if state != "completed" || deployed.Load() != 1 || !strings.Contains(body, `"text":"Hi"`) {
		t.Errorf("after the decision: %s, %d times deployed: %s", state, deployed.Load(), body)
	}
	if strings.Contains(body, "version 1.4.1") {
		t.Errorf("the result of a tool is on the wire: %s", body)
	}
}

// TestRequiredToolsWithAKey checks that a pod is not ready before a required MCP server has listed its tools, that the report has the cause,
// and that a rotated header takes effect without a restart.
func TestRequiredToolsWithAKey(t *testing.T) {
	const key = "Bearer mcp-secret-0123456789"
	var deployed atomic.Int32
	target, err := url.Parse(startMCPServer(t, &deployed))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	mcpURL := modelServerAt(t, nonLoopbackIP(t), nil, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != key {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.URL.Path = "/"
		r.Host = target.Host // the server serves no other host at a loopback address
		proxy.ServeHTTP(w, r)
	})
	modelURL := modelServerAt(t, nonLoopbackIP(t), nil, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			newCompletionServer()(w, r)
			return
		}
		toolCaller(w, r)
	})
	secrets := t.TempDir()
	write := func(value string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(secrets, "mcp"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(secrets, "mcp", "token"), []byte(value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := newPodWith(t, respondHi, func(c *sidecarconfig.Config) {
		calls(modelURL)(c)
		c.Backend.Model.MCP = []sidecarconfig.MCPServer{{
			URL: mcpURL, Required: true, Headers: []sidecarconfig.HeaderFile{{Name: "Authorization", File: "mcp/token"}},
			Allow: []string{"look", "missing"}, Deny: []string{}, Approval: []string{},
		}}
	}, func(o *settings.Options) { o.ModelSecrets = secrets })
	p.eventually("the missing Secret", func() bool { return strings.Contains(p.readiness(), "503 Tools: Missing") })
	write("Bearer another-key")
	p.eventually("the refused key", func() bool { return strings.Contains(p.readiness(), "503 Tools: AuthenticationFailed") })
	write(key)
	p.eventually("readiness", func() bool { return p.readiness() == "200 ok" })
	if got := p.turn(); !strings.Contains(got, `"state":"completed"`) && !strings.Contains(got, "not ended within") {
		t.Errorf("turn = %s", got)
	}
}
