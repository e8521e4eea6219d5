// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/test/pyenv"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// TestPythonMCPClientCallsAnAgent runs the official Python client, mcp 2.3.0, with a session and
// without one.
func TestPythonMCPClientCallsAnAgent(t *testing.T) {
	program := environment(t, "mcp")
	for _, mode := range []string{"legacy", "auto", "2026-07-28"} {
		t.Run(mode, func(t *testing.T) {
			c := newCaller(t, sidecartest.AskingAgent)
			got := runMCP(t, program, "client_mcp.py", mode, c.Gateway+"/mcp")
			missing, _, _ := strings.Cut(got["error"], ",")
			got["error"] = missing
			want := map[string]string{
				"tools": "call_agent find_agents get_agent", "find": "team/echo", "question": "Agent team/echo asks: Which?",
				"call": "That one", "progress": "some", "state": "completed", "error": "Agent team/nobody is not in the registry",
				"without a user": "input-required", "continued": "That one",
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPythonFrameworkCallsAnAgentByMCP gives the MCP client of the OpenAI Agents SDK the URL of
// the gateway, and nothing of A2A. `make gallery` installs its packages.
func TestPythonFrameworkCallsAnAgentByMCP(t *testing.T) {
	program := pyenv.Python(t, filepath.Join("..", "..", "examples", "mcp", "requirements.txt"))
	c := newCaller(t, sidecartest.TextAgent)
	got := runMCP(t, program, "framework_mcp.py", c.Gateway+"/mcp")
	if !strings.Contains(got["output"], "Hello world") {
		t.Errorf("the output is %q", got["output"])
	}
}

// runMCP runs a program of the directory python, and returns what it reports by step.
func runMCP(t *testing.T, program string, arguments ...string) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, program, append([]string{"-u"}, arguments...)...)
	command.Dir = "python"
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Errorf("%s: %v\n%s", arguments[0], err, stderr.String())
	}
	got := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var one report
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatalf("%s wrote %q: %v", arguments[0], lines.Text(), err)
		}
		got[one.Operation] = one.Got
	}
	return got
}
