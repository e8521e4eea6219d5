// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gallery

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/exchangetest"
	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/programs"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// manifests returns the Agents of an example without a program.
func manifests(t *testing.T, example string) (all []*a2av1alpha1.Agent) {
	t.Helper()
	for document := range strings.SplitSeq(readExample(t, example, "agent.yaml"), "\n---\n") {
		agent := &a2av1alpha1.Agent{}
		if err := yaml.UnmarshalStrict([]byte(document), agent); err != nil {
			t.Fatal(err)
		}
		if len(strings.Split(strings.TrimSpace(document), "\n")) > 20 {
			t.Errorf("%s has more than 20 lines", agent.Name)
		}
		all = append(all, agent)
	}
	return all
}

// caller is a model that calls a tool once, and then answers with its result.
func caller(t *testing.T, tool, arguments string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request completion
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &request); err != nil {
			t.Errorf("request to the model: %v", err)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		delta := map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": "c", "function": map[string]string{"name": tool, "arguments": arguments}}}}
		if last := len(request.Messages) - 1; request.Messages[last].Role == "tool" {
			delta = map[string]any{"content": "The tool says: " + request.text(last)}
		} else if !request.has(tool) {
			t.Errorf("the model has no tool %s", tool)
		}
		text, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"delta": delta, "finish_reason": "stop"}}})
		if err != nil {
			t.Error(err)
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", text)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// startStandalone starts a standalone sidecar for the model of an Agent.
func startStandalone(t *testing.T, agent *a2av1alpha1.Agent, model string, flags ...string) string {
	t.Helper()
	card := filepath.Join(t.TempDir(), "card.yaml")
	written, err := yaml.Marshal(map[string]any{
		"displayName": agent.Name, "description": agent.Spec.Description, "version": "1.0.0", "skills": agent.Spec.Skills,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(card, written, 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeport.Address(t)
	flags = append([]string{
		"--backend-url", model, "--backend-protocol", "ChatCompletions", "--model-name", agent.Spec.Model.Name,
		"--listen", address, "--card", card, "--anonymous",
	}, flags...)
	programs.Serve(t, exec.CommandContext(t.Context(), programs.Path("cmd/sidecar"), flags...), address, startTimeout)
	return "http://" + address
}

// TestModelWithToolsAndApprovals runs the example model-tools: the call waits for a person, and then runs once.
func TestModelWithToolsAndApprovals(t *testing.T) {
	agent := manifests(t, "model-tools")[0]
	var updated atomic.Int32
	server := mcp.NewServer(&mcp.Implementation{Name: "deployments", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "update_deployment", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			updated.Add(1)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "updated"}}}, nil
		})
	tools := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(tools.Close)
	flags := []string{"--mcp-server", tools.URL}
	for _, pattern := range agent.Spec.Model.Tools[0].MCP.Approval {
		flags = append(flags, "--mcp-approval", string(pattern))
	}
	url := startStandalone(t, agent, caller(t, "update_deployment", `{"version":"1.4.2"}`), flags...)
	asked := newClient(t, url).send(recipient{}, "Update the shop")
	if asked.Status.State != "input-required" || !strings.Contains(asked.statusText(), `"version": "1.4.2"`) || updated.Load() != 0 {
		t.Fatalf("%s, %d updates: %s", asked.Status.State, updated.Load(), asked.statusText())
	}
	output, err := exec.CommandContext(t.Context(), programs.Path("cmd/kubectl-a2a"), "approve", "--yes", "--url", url, asked.ID).CombinedOutput()
	if err != nil || updated.Load() != 1 || !strings.Contains(string(output), "The tool says: updated") {
		t.Errorf("approve: %v, %d updates: %s", err, updated.Load(), output)
	}
}

// TestModelThatCallsAnotherAgent runs the example model-team.
func TestModelThatCallsAnotherAgent(t *testing.T) {
	all := manifests(t, "model-team")
	called := all[0].Spec.Model.Tools[0].Agent.Name
	if called != all[1].Name {
		t.Fatalf("%s calls %s, and the manifest has %s", all[0].Name, called, all[1].Name)
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	researcher := startStandalone(t, all[1], startKeylessModel(t))
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !exchangetest.Serve(w, r) {
			_, _ = fmt.Fprintf(w, `{"namespace":"team","name":%q,"url":"http://%s.team.svc/","description":%q}`, called, called, all[1].Spec.Description)
		}
	}))
	t.Cleanup(registry.Close)
	model := caller(t, called, `{"message":"Why?"}`)
	f := sidecartest.Start(t, nil, func(_ *sidecartest.Fixture, c *sidecarconfig.Config) {
		c.Backend = sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolChatCompletions, URL: model, Model: sidecarconfig.Model{
			Name: "m", Agents: []sidecarconfig.AgentTool{{Namespace: "team", Name: called}},
		}}
		c.Gateway = &sidecarconfig.Gateway{RegistryURL: registry.URL, AgentURL: researcher, TokenFile: token}
	})
	got := newClient(t, f.URL).send(recipient{}, "Why was the shop slow?")
	if got.Status.State != "completed" || got.artifactText() != "The tool says: Good evening to you" {
		t.Errorf("%s %q: %s", got.Status.State, got.artifactText(), got.statusText())
	}
}

// startKeylessModel starts a model that answers with a greeting and needs no key.
func startKeylessModel(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"Good evening to you\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// TestModelWithASkill runs the example model-skills: the model loads the instructions of the skill.
func TestModelWithASkill(t *testing.T) {
	agent := manifests(t, "model-skills")[0]
	skill := &agent.Spec.Skills[0]
	skills := t.TempDir()
	if err := os.MkdirAll(filepath.Join(skills, string(skill.ID)), 0o700); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n%s", skill.ID, skill.Description, skill.Instructions)
	if err := os.WriteFile(filepath.Join(skills, string(skill.ID), "SKILL.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	skill.Instructions = "" // the card has none
	url := startStandalone(t, agent, caller(t, "load_skill", `{"skill":"`+string(skill.ID)+`"}`), "--skills", skills)
	got := newClient(t, url).send(recipient{}, "The shop answers with 500")
	if got.Status.State != "completed" || !strings.Contains(got.artifactText(), "Then name the last deployment.") {
		t.Errorf("%s %q: %s", got.Status.State, got.artifactText(), got.statusText())
	}
}
