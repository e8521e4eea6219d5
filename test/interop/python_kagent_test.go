// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/programs"
	"github.com/a2a-operator/a2a-operator/test/redistest"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// kagentModel is a model server that answers with the texts of all messages of the user. It calls the tool delete after the text
// "ask", if the request has tools, and answers with the result of the tool.
func kagentModel(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Messages []struct {
			Role    string
			Content any
		}
		Tools []any
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Messages) == 0 {
		http.Error(w, "no messages", http.StatusBadRequest)
		return
	}
	var said []string
	for _, m := range in.Messages {
		if text, isText := m.Content.(string); isText && m.Role == "user" {
			said = append(said, text)
		}
	}
	message := map[string]any{"role": "assistant", "content": "heard: " + strings.Join(said, ", ")}
	switch last := in.Messages[len(in.Messages)-1]; {
	case last.Role == "tool":
		message["content"] = "the tool answered"
	case last.Content == "ask" && len(in.Tools) > 0:
		call := map[string]any{"id": "call-1", "type": "function", "function": map[string]any{"name": "delete", "arguments": `{"file":"a"}`}}
		message = map[string]any{"role": "assistant", "tool_calls": []any{call}}
	}
	w.Header().Set("Content-Type", "application/json")
	text, err := json.Marshal(message)
	if err != nil {
		panic(err) // fails the request, and the message is then missing in the test
	}
	_, _ = w.Write(slices.Concat([]byte(`{"id":"1","object":"chat.completion","created":1,"model":"stub","choices":[{"index":0,"finish_reason":"stop","message":`),
		text, []byte(`}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)))
}

// kagentAgent is an agent with an SDK of kagent behind a sidecar with tasks in Redis. Each of the two is a process that the test kills.
type kagentAgent struct {
	t       *testing.T
	url     string
	sidecar []string
	agent   func() *pythonServer

	running  *pythonServer
	process  *exec.Cmd
	messages int
}

// startSidecar starts the sidecar.
func (a *kagentAgent) startSidecar() {
	a.t.Helper()
	a.process = exec.CommandContext(a.t.Context(), programs.Path("cmd/sidecar"), a.sidecar...)
	programs.Serve(a.t, a.process, strings.TrimPrefix(a.url, "http://"), time.Minute)
}

// restartAgent kills the container of the agent and starts another one.
func (a *kagentAgent) restartAgent() {
	a.t.Helper()
	if a.running != nil {
		a.running.kill()
	}
	a.running = a.agent()
}

// said is an answer of the agent.
type said struct {
	ID     string
	Status struct {
		State   string
		Message struct{ Parts []struct{ Text string } }
	}
	Artifacts []struct{ Parts []struct{ Text string } }
}

// text returns the text of the answer.
func (s *said) text() string {
	var all strings.Builder
	for _, artifact := range s.Artifacts {
		for _, part := range artifact.Parts {
			all.WriteString(part.Text)
		}
	}
	return all.String()
}

// send sends a part to the agent in one context, and checks the answer.
func (a *kagentAgent) send(task string, part map[string]any, state, text string) *said {
	a.t.Helper()
	a.messages++
	message := map[string]any{"kind": "message", "messageId": strconv.Itoa(a.messages), "contextId": "c", "role": "user", "parts": []any{part}}
	if task != "" {
		message["taskId"] = task
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": map[string]any{"message": message}})
	if err != nil {
		a.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, a.url+"/", strings.NewReader(string(body)))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := sidecartest.Client(a.t).Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var got struct {
		Result said
		Error  any
	}
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil || got.Error != nil {
		a.t.Fatalf("message/send = %v, %v", got.Error, err)
	}
	if got.Result.Status.State != state || got.Result.text() != text {
		a.t.Fatalf("answer %q, %q, %+v; want %q, %q", got.Result.Status.State, got.Result.text(), got.Result.Status.Message, state, text)
	}
	return &got.Result
}

func textPart(text string) map[string]any { return map[string]any{"kind": "text", "text": text} }

// TestPythonKagent runs agents that are built with the SDKs of kagent 0.10, unchanged from PyPI. Their conversations and their paused
// tasks survive kills of the container, and with Redis of the sidecar.
func TestPythonKagent(t *testing.T) {
	for name, sdk := range map[string]struct {
		environment, program string
		// decided is the answer after the approval.
		decided string
	}{
		"kagent-langgraph 0.10.4": {"kagent-langgraph", "kagent_langgraph.py", "decided: approve"},
		"kagent-adk 0.10.4":       {filepath.Join("large", "kagent-adk"), "kagent_adk.py", "the tool answered"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			python := environment(t, sdk.environment)
			a := newKagentAgent(t, python, sdk.program)
			a.startSidecar()
			a.restartAgent()
			a.send("", textPart("one"), "completed", "heard: one")
			paused := a.send("", textPart("ask"), "input-required", "")

			if err := a.process.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			a.restartAgent()
			a.startSidecar()
			a.send(paused.ID, map[string]any{"kind": "data", "data": map[string]any{"decision_type": "approve"}}, "completed", sdk.decided)
			got := a.send("", textPart("two"), "completed", "heard: one, ask, two")
			if got.ID == paused.ID {
				t.Error("the message continued an ended task")
			}
		})
	}
}

// newKagentAgent returns an agent that does not run yet.
func newKagentAgent(t *testing.T, python, program string) *kagentAgent {
	t.Helper()
	model := httptest.NewServer(http.HandlerFunc(kagentModel))
	t.Cleanup(model.Close)
	card := filepath.Join(t.TempDir(), "card.yaml")
	const text = "{displayName: X, description: d, version: '1', skills: [{id: s, name: S, description: d, tags: [t]}]}"
	if err := os.WriteFile(card, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	address, gateway, backend := freeport.Address(t), freeport.Address(t), freeport.Address(t)
	port := backend[strings.LastIndexByte(backend, ':')+1:]
	variables := []string{"KAGENT_URL=http://" + gateway, "KAGENT_NAME=echo", "KAGENT_NAMESPACE=team"}
	a := &kagentAgent{t: t, url: "http://" + address, sidecar: []string{
		"--card", card, "--anonymous", "--listen", address, "--gateway-listen", gateway, "--store", "redis://" + redistest.Start(t).Address(), "--store-name", "team/echo",
		"--backend-protocol", "A2A", "--backend-url", "http://" + backend, "--backend-a2a-session-api", "Kagent",
	}}
	a.agent = func() *pythonServer {
		return startPythonWith(t, slices.Concat(os.Environ(), variables), python, program, port, model.URL+"/v1")
	}
	return a
}
