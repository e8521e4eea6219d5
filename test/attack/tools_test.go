// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// callsTools is a model server: it asks for calls of tools at a message of the attacker, and then answers.
func callsTools(names []string) http.HandlerFunc {
	var all []string
	for i, name := range names {
		all = append(all, fmt.Sprintf(`{"index":%d,"id":"c%d","type":"function","function":{"name":%q,"arguments":"{}"}}`, i, i, name))
	}
	ask := `{"choices":[{"message":{"tool_calls":[` + strings.Join(all, ",") + `]},"finish_reason":"tool_calls"}]}`
	return func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(string(text), "attack") && !strings.Contains(string(text), `"role":"tool"`) {
			_, _ = io.WriteString(w, ask)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}`)
	}
}

// large is a text of 1.9 MB. Parts of it are base64, or shorter texts.
var large = strings.Repeat("x", 1900<<10)

// hostileAnswers are answers of an MCP server to the call of a tool with an id.
var hostileAnswers = map[string]func(w http.ResponseWriter, r *http.Request, id string){
	"texts of 1.9 MB": func(w http.ResponseWriter, _ *http.Request, id string) {
		result(w, id, `{"type":"text","text":"`+large+`"}`)
	},
	"answers of 10 MB": func(w http.ResponseWriter, _ *http.Request, id string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"result":{"content":[{"type":"text","text":"`)
		for range 6 {
			_, _ = io.WriteString(w, large)
		}
	},
	"files of 700 KB": func(w http.ResponseWriter, _ *http.Request, id string) {
		result(w, id, `{"type":"image","mimeType":"image/png","data":"`+large[:700<<10]+`"}`)
	},
	"progress without an end": func(w http.ResponseWriter, r *http.Request, _ string) {
		events(w, r, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t%d","progress":1,"message":"`+large[:32<<10]+`"}}`)
	},
	"pings without an end": func(w http.ResponseWriter, r *http.Request, _ string) {
		events(w, r, `{"jsonrpc":"2.0","id":"p%d","method":"ping","params":{"_meta":{"x":"`+large[:32<<10]+`"}}}`)
	},
	"silence": func(_ http.ResponseWriter, r *http.Request, _ string) { <-r.Context().Done() },
}

func result(w http.ResponseWriter, id, content string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"result":{"content":[`+content+`]}}`)
}

// events sends numbered messages without an end.
func events(w http.ResponseWriter, r *http.Request, message string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i := 0; r.Context().Err() == nil; i++ {
		if _, err := fmt.Fprintf(w, "event: message\ndata: "+message+"\n\n", i); err != nil {
			return
		}
	}
}

// hostileLists are answers of an MCP server to the list of its tools: many turns ask for them at once, because no list is stored.
var hostileLists = map[string]func(w http.ResponseWriter, r *http.Request, id string){
	"lists of 4 MB": func(w http.ResponseWriter, _ *http.Request, id string) {
		var all []string
		for i := range 64 {
			all = append(all, fmt.Sprintf(`{"name":"t%d","description":%q,"inputSchema":{"type":"object","description":%q}}`, i, large[:15<<10], large[:45<<10]))
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s],"nextCursor":"more"}}`, id, strings.Join(all, ","))
	},
	"lists in events without an end": func(w http.ResponseWriter, r *http.Request, _ string) {
		events(w, r, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"x":"%d`+large[:32<<10]+`"}}}`)
	},
	"lists that do not end": func(_ http.ResponseWriter, r *http.Request, _ string) { <-r.Context().Done() },
}

// hostileServer is an MCP server whose answers of a kind are hostile. It never reads the answers to its pings.
func hostileServer(t *testing.T, tool, kind string) string {
	t.Helper()
	return toolServer(t, []string{tool}, func(w http.ResponseWriter, r *http.Request, method, id string) bool {
		switch {
		case method == "tools/call" && hostileAnswers[kind] != nil:
			hostileAnswers[kind](w, r, id)
		case method == "tools/list" && hostileLists[kind] != nil:
			hostileLists[kind](w, r, id)
		case method == "" && r.Method == http.MethodPost:
			<-r.Context().Done()
		default:
			return false
		}
		return true
	})
}

// toolServer is an MCP server with tools. answer may answer a request in its place.
func toolServer(t *testing.T, names []string, answer func(w http.ResponseWriter, r *http.Request, method, id string) bool) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
	for _, name := range names {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	}
	session := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	tools := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		var request struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.Unmarshal(text, &request)
		if !answer(w, r, request.Method, string(request.ID)) {
			r.Body = io.NopCloser(bytes.NewReader(text))
			session.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(tools.Close)
	t.Cleanup(tools.CloseClientConnections)
	return tools.URL
}

// TestHostileTools attacks an agent without code by the answers of MCP servers, while many callers make its model call them. In the long
// form, one server attacks after the other.
func TestHostileTools(t *testing.T) {
	besideOthers(t)
	kinds := slices.Sorted(maps.Keys(hostileAnswers))
	lists := slices.Sorted(maps.Keys(hostileLists))
	runs := [][]string{kinds, lists}
	if full {
		runs = slices.Collect(slices.Chunk(append(kinds, lists...), 1))
	}
	for _, run := range runs {
		t.Run(strings.Join(run, " and "), func(t *testing.T) {
			var servers []sidecarconfig.MCPServer
			var calls []string
			for i, kind := range run {
				name := fmt.Sprintf("hostile-%d", i)
				servers = append(servers, sidecarconfig.MCPServer{
					URL: hostileServer(t, name, kind), Timeout: sidecarconfig.Duration(lasts / 2),
				})
				calls = append(calls, slices.Repeat([]string{name}, 8/len(run))...)
			}
			s := startSidecar(t, callsTools(calls), func(c *sidecarconfig.Config) {
				c.Backend.Protocol = sidecarconfig.ProtocolChatCompletions
				c.Backend.Model.Name = "m"
				c.Backend.Model.MCP = servers
			})
			subject := s.subject(t, "sidecar")
			subject.usual += 14 << 20 // the tasks stay in their share of the memory (docs/reference/limits.md)
			subject.withstands(t, "48 callers whose model calls MCP servers: "+strings.Join(run, ", "), 2*lasts, func(ctx context.Context) string {
				return crowd(ctx, 48, 1000, func(ctx context.Context) string {
					status, _ := s.post(ctx, fmt.Sprintf(message, rand.Text(), "attack"))
					return strconv.Itoa(status)
				})
			})
		})
	}
}
