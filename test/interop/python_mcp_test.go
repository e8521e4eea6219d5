// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"testing"

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
			checkMCPSteps(t, runSteps(t, "python", program, "-u", "client_mcp.py", mode, c.Gateway+"/mcp"))
		})
	}
}

// TestPythonFrameworkCallsAnAgentByMCP gives the MCP client of the OpenAI Agents SDK only the URL
// of the gateway. The program contains no A2A code. `make gallery` installs its packages.
func TestPythonFrameworkCallsAnAgentByMCP(t *testing.T) {
	program := pyenv.Python(t, filepath.Join("..", "..", "examples", "mcp", "requirements.txt"))
	c := newCaller(t, func(w http.ResponseWriter, r *http.Request) {
		var turn struct {
			Message struct{ Parts []struct{ Text string } }
		}
		if err := json.NewDecoder(r.Body).Decode(&turn); err != nil || len(turn.Message.Parts) != 1 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, "The agent heard "+turn.Message.Parts[0].Text)
	})
	message := rand.Text()
	got := runSteps(t, "python", program, "-u", "framework_mcp.py", c.Gateway+"/mcp", message)
	if want := "call_agent find_agents get_agent"; got["tools"] != want {
		t.Errorf("the model gets the tools %q, want %q", got["tools"], want)
	}
	if want := "The agent heard " + message; got["output"] != want {
		t.Errorf("the output is %q, want %q", got["output"], want)
	}
}
