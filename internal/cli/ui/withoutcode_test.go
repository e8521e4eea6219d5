// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// oncallModel is a model server: it calls look, then find and deploy, and then streams an answer with the last result.
func oncallModel(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	results := 0
	last := ""
	for _, m := range in.Messages {
		if m.Role == "tool" {
			results++
			last = m.Content
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(delta string) {
		_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", delta)
		w.(http.Flusher).Flush()
	}
	call := func(i int, name, arguments string) {
		chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":%q,"arguments":%q}}]}`, i, i, name, arguments))
	}
	switch results {
	case 0:
		chunk(`{"content":"I look first."}`)
		call(0, "look", `{}`)
	case 1:
		call(0, "find", `{"q":"<b>1.4.2</b>"}`)
		call(1, "deploy", `{"version":"<b>1.4.2</b>"}`)
	default:
		for word := range strings.FieldsSeq("It is done: " + last) {
			text, _ := json.Marshal(map[string]string{"content": word + " "}) // a text has a JSON form
			chunk(string(text))
		}
	}
	_, _ = fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

// TestTheBrowserApprovesACallOfAnAgentWithoutCode lets a person talk to an agent of a model and an MCP server: the page shows the steps and
// the request with its arguments, a text decides nothing, the button runs the call once, and the opened task shows all of it.
func TestTheBrowserApprovesACallOfAnAgentWithoutCode(t *testing.T) {
	var deployed atomic.Int32
	tools := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	for _, name := range []string{"look", "find", "deploy"} {
		tools.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if name == "deploy" {
				deployed.Add(1)
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "result of " + name}}}, nil
		})
	}
	toolServer := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools }, nil))
	t.Cleanup(toolServer.Close)
	model := httptest.NewServer(http.HandlerFunc(oncallModel))
	t.Cleanup(model.Close)
	p := startPage(t)
	p.set("oncall", map[string]any{"url": "http://oncall.team.svc.cluster.local/"})
	p.sidecars["oncall"] = sidecartest.Start(t, sidecartest.TextAgent, func(_ *sidecartest.Fixture, c *sidecarconfig.Config) {
		c.Backend = sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolChatCompletions, URL: model.URL, Model: sidecarconfig.Model{
			Name: "m", MCP: []sidecarconfig.MCPServer{{URL: toolServer.URL, Allow: []string{}, Deny: []string{}, Approval: []string{"deploy"}}},
		}}
	}).URL
	b := startBrowser(t)
	b.run(t, chromedp.Navigate(p.base+"agents/team/oncall"), chromedp.WaitVisible("#message"), chromedp.SendKeys("#message", "Deploy it\r"))
	b.awaitText(t, "#log", "Approve deploy?")
	for _, shown := range []string{"I look first.", "MCP server " + toolServer.URL, `"version": "\u003cb\u003e1.4.2\u003c/b\u003e"`} {
		b.awaitText(t, "#log", strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(shown))
	}
	b.awaitText(t, ".steps li", "look")
	b.run(t, chromedp.Evaluate(`document.getElementById('submit').disabled || (() => { throw 'a text can be sent' })()`, nil))
	if deployed.Load() != 0 {
		t.Error("the call ran without a decision")
	}
	b.run(t, chromedp.Click(`form.ask button[value="approve"]`))
	b.awaitText(t, "#log", "It is done: result of deploy")
	if deployed.Load() != 1 {
		t.Errorf("deployed %d times", deployed.Load())
	}
	b.awaitText(t, "#tasks", "completed")
	b.run(t, chromedp.Click("#fresh"), chromedp.WaitNotVisible("#log"), chromedp.Click("#tasks button.open"))
	b.awaitText(t, "#log", "It is done: result of deploy")
	b.awaitText(t, "#log", "Deploy it")
	b.awaitText(t, ".steps summary", "the last: ")
	if deployed.Load() != 1 {
		t.Errorf("deployed %d times after the task was opened", deployed.Load())
	}
	b.clean(t)
}
