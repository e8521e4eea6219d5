// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// TestTypeScriptMCPClientCallsAnAgent runs the official TypeScript clients: @modelcontextprotocol/sdk 1.32.2, which
// supports only sessions, and @modelcontextprotocol/client 2.4.0, with a session and without one.
func TestTypeScriptMCPClientCallsAnAgent(t *testing.T) {
	program, err := node()
	if err != nil {
		t.Skipf("SKIPPED: the TypeScript MCP clients do not run: %v", err)
	}
	for _, mode := range []string{"v1", "legacy", "auto", "2026-07-28"} {
		t.Run(mode, func(t *testing.T) {
			c := newCaller(t, sidecartest.AskingAgent)
			checkMCPSteps(t, runSteps(t, "js", program, "mcp.mjs", mode, c.Gateway+"/mcp"))
		})
	}
}

// checkMCPSteps checks what the programs client_mcp.py and mcp.mjs report with an agent that asks a question.
func checkMCPSteps(t *testing.T, got map[string]string) {
	t.Helper()
	got["error"], _, _ = strings.Cut(got["error"], ",")
	want := map[string]string{
		"tools": "call_agent find_agents get_agent", "find": "team/echo", "question": "Agent team/echo asks: Which?",
		"call": "That one", "progress": "some", "state": "completed", "error": "Agent team/nobody is not in the registry",
		"without a user": "input-required", "continued": "That one",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// runSteps runs a program in a directory, and returns what it reports by step.
func runSteps(t *testing.T, dir, program string, arguments ...string) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, program, arguments...)
	command.Dir = dir
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(arguments, " "), err, stderr.String())
	}
	got := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var one report
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatalf("%s wrote %q: %v", strings.Join(arguments, " "), lines.Text(), err)
		}
		got[one.Operation] = one.Got
	}
	return got
}
