// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gallery runs the programs of examples/ behind the sidecar, with a stub in
// place of the language model. It also runs the commands of their pages, and checks
// the table of examples/README.md.
package gallery

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/programs"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

func TestMain(m *testing.M) { os.Exit(programs.Built(m, "cmd/sidecar", "cmd/kubectl-a2a").Run()) }

// example is a folder of examples/ and what its framework supports.
// examples/README.md has the same table.
type example struct {
	name, framework string
	protocol        sidecarconfig.Protocol
	// stream: text reaches the client while the model still writes. cancel: when the
	// task is canceled, the call of the model ends. pause: a tool asks for input before
	// it runs. history: the model gets the earlier messages of the conversation.
	stream, cancel, pause, history, tools bool
	// reply returns the part that answers a question with "yes" or "no"; nil for a text
	// part.
	reply func(asked *task, answer string) part
}

var examples = []example{
	{name: "fastapi", framework: "FastAPI", protocol: sidecarconfig.ProtocolEvents, stream: true, cancel: true, pause: true, history: true, tools: true},
	{name: "langgraph", framework: "LangGraph", protocol: sidecarconfig.ProtocolEvents, stream: true, cancel: true, pause: true, history: true, tools: true},
	{name: "openai-agents", framework: "OpenAI Agents SDK", protocol: sidecarconfig.ProtocolEvents, stream: true, cancel: true, pause: true, history: true, tools: true},
	{name: "pydantic-ai", framework: "Pydantic AI", protocol: sidecarconfig.ProtocolEvents, stream: true, cancel: true, pause: true, history: true, tools: true},
	{name: "mcp", framework: "MCP tools", protocol: sidecarconfig.ProtocolEvents, stream: true, cancel: true, pause: true, history: true, tools: true},
	{name: "agent-framework", framework: "Microsoft Agent Framework", protocol: sidecarconfig.ProtocolEvents, stream: true, cancel: true, pause: true, history: true, tools: true},
	{name: "adk", framework: "Google ADK", protocol: sidecarconfig.ProtocolA2A, stream: true, cancel: true, pause: true, history: true, tools: true, reply: confirmation},
	{name: "strands", framework: "Strands", protocol: sidecarconfig.ProtocolA2A, stream: true, cancel: true, pause: true, history: true, tools: true, reply: interruptResponse},
	{name: "crewai", framework: "CrewAI", protocol: sidecarconfig.ProtocolEvents, stream: true, history: true, tools: true},
	{name: "model-server", framework: "vLLM, Ollama, llama.cpp", protocol: sidecarconfig.ProtocolChatCompletions, stream: true, cancel: true, history: true},
}

// startBackend starts what the sidecar calls, and returns its URL: the example's
// program, or the model itself.
func (e *example) startBackend(t *testing.T, m *model, env ...string) string {
	t.Helper()
	if e.protocol == sidecarconfig.ProtocolChatCompletions {
		return m.URL + "/v1"
	}
	return startProgram(t, e.name, m, env...)
}

// startSidecar starts a sidecar in front of a backend, and returns a client of it. key is the API key of the model.
// retry sets onInterruption to Retry.
func (e *example) startSidecar(t *testing.T, backend, key string, retry bool) *client {
	t.Helper()
	if e.protocol == sidecarconfig.ProtocolChatCompletions {
		return newClient(t, startSidecar(t, backend, key, retry))
	}
	return newClient(t, sidecartest.Start(t, nil, func(_ *sidecartest.Fixture, c *sidecarconfig.Config) {
		c.Backend = sidecarconfig.Backend{Protocol: e.protocol, URL: backend}
		if retry {
			c.Backend.OnInterruption = sidecarconfig.InterruptionRetry
		}
	}).URL)
}

// TestExamplesMatchTheFeatureTable runs every example that GALLERY names.
func TestExamplesMatchTheFeatureTable(t *testing.T) {
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			skipUnlessSelected(t, e.name)
			m := startModel(t)
			c := e.startSidecar(t, e.startBackend(t, m), modelKey, false)
			run := func(name string, supported bool, test func(*testing.T, *client, *model)) {
				t.Run(name, func(t *testing.T) {
					if !supported {
						t.Skipf("%s does not support it: examples/README.md", e.framework)
					}
					test(t, &client{t: t, url: c.url, http: c.http, messages: 100 * len(name)}, m)
				})
			}
			run("sends", true, testSend)
			run("streams", e.stream, testStream)
			run("cancels", true, func(t *testing.T, c *client, m *model) { testCancel(t, c, m, e.cancel) })
			run("remembers", e.history, testHistory)
			run("pauses", e.pause, func(t *testing.T, c *client, _ *model) { testPause(t, c, e.reply) })
			if e.tools && !e.pause { // testPause runs the tool of the others
				run("uses a tool", true, testTool)
			}
			run("fails", true, testFailure)
		})
		t.Run(e.name+" with a wrong key", func(t *testing.T) {
			skipUnlessSelected(t, e.name)
			backend := e.startBackend(t, startModel(t), "OPENAI_API_KEY="+wrongKey)
			checkFailed(t, e.startSidecar(t, backend, wrongKey, false).send(recipient{}, "#count 3"), wrongKey)
		})
	}
}

// wrongKey is a key that the model refuses. The model's error message quotes it.
const wrongKey = "sk-wrong-key-0123456789"

func testSend(t *testing.T, c *client, _ *model) {
	t.Helper()
	got := c.send(recipient{}, "Please #count 20")
	if want := strings.Join(numbered(20), " "); got.Status.State != "completed" || got.artifactText() != want {
		t.Errorf("answer = %s %q, want %q", got.Status.State, got.artifactText(), want)
	}
}

// testStream reads the first word of the answer while the model holds back the rest.
func testStream(t *testing.T, c *client, m *model) {
	t.Helper()
	s := c.stream(recipient{}, "#gate")
	held := m.nextHeldCall(t)
	if !s.readUntil(func() bool { return s.text() == "one" }) {
		t.Fatalf("stream ended with %q", s.text())
	}
	close(held.release)
	if s.readAll(); s.state != "completed" || s.text() != "one two three" {
		t.Errorf("stream = %s %q", s.state, s.text())
	}
}

// testCancel cancels a task while the model works for it. If endsCall is true, the
// call of the model must end.
func testCancel(t *testing.T, c *client, m *model, endsCall bool) {
	t.Helper()
	s := c.stream(recipient{}, "#wait")
	held := m.nextHeldCall(t)
	if !s.readUntil(func() bool { return s.task != "" }) {
		t.Fatal("the stream has no event")
	}
	if got := c.call("tasks/cancel", map[string]any{"id": s.task}); got.Status.State != "canceled" {
		t.Errorf("canceled task = %s", got.Status.State)
	}
	if s.readAll(); s.state != "canceled" {
		t.Errorf("stream ends with %s", s.state)
	}
	if endsCall {
		select {
		case <-held.ended:
		case <-time.After(20 * time.Second):
			t.Error("the model still works for the canceled task")
		}
	}
	// The conversation goes on.
	if got := c.send(recipient{context: s.context}, "#count 2"); got.Status.State != "completed" || got.artifactText() != "w1 w2" {
		t.Errorf("next answer = %s %q", got.Status.State, got.artifactText())
	}
}

// testHistory asks in two conversations for their earlier messages.
func testHistory(t *testing.T, c *client, _ *model) {
	t.Helper()
	first := c.send(recipient{}, "My name is Ada.")
	other := c.send(recipient{}, "My name is Bob.")
	for name, test := range map[string]struct{ context, want, not string }{
		"Ada": {first.ContextID, "Ada", "Bob"},
		"Bob": {other.ContextID, "Bob", "Ada"},
	} {
		got := c.send(recipient{context: test.context}, "#recall")
		if text := got.artifactText(); got.Status.State != "completed" || !strings.Contains(text, test.want) || strings.Contains(text, test.not) {
			t.Errorf("%s: answer = %s %q", name, got.Status.State, text)
		}
	}
}

// testPause answers the question of a tool with yes, and with no.
func testPause(t *testing.T, c *client, reply func(*task, string) part) {
	t.Helper()
	for answer, want := range map[string]string{"yes": "Booked Luigi for 4", "no": `user said no|rejected by user|CONFIRMATION_FAILED|rejected`} {
		asked := c.send(recipient{}, "Please #book")
		if asked.Status.State != "input-required" || !strings.Contains(asked.statusContent(), "Luigi") {
			t.Fatalf("answer = %s %q %q", asked.Status.State, asked.statusContent(), asked.artifactText())
		}
		if beside := c.send(recipient{}, "#count 1"); beside.Status.State != "completed" {
			t.Errorf("another conversation while the task is paused: %s", beside.Status.State)
		}
		p := part{Kind: "text", Text: answer}
		if reply != nil {
			p = reply(asked, answer)
		}
		got := c.call("message/send", c.params(recipient{context: asked.ContextID, task: asked.ID}, p))
		text := got.artifactText()
		if got.ID != asked.ID || got.Status.State != "completed" || !regexp.MustCompile(want).MatchString(text) || !strings.Contains(text, "The tool says") {
			t.Errorf("after %q: %s %q %q", answer, got.Status.State, got.statusText(), text)
		}
		if answer == "no" && strings.Contains(text, "Booked") {
			t.Errorf("after no: %q", text)
		}
	}
}

// interruptResponse answers an interrupt of Strands by its id.
func interruptResponse(asked *task, answer string) part {
	id := ""
	for _, p := range asked.Status.Message.Parts {
		var data struct {
			Interrupts []struct{ InterruptID string }
		}
		if json.Unmarshal(p.Data, &data) == nil && len(data.Interrupts) > 0 {
			id = data.Interrupts[0].InterruptID
		}
	}
	return dataPart(nil, map[string]any{"interruptResponse": map[string]any{"interruptId": id, "response": answer}})
}

// confirmation answers the function call by which ADK asks for confirmation.
func confirmation(asked *task, answer string) part {
	var call struct{ ID, Name string }
	for _, p := range asked.Status.Message.Parts {
		_ = json.Unmarshal(p.Data, &call)
	}
	return dataPart(map[string]any{"adk_type": "function_response"},
		map[string]any{"id": call.ID, "name": call.Name, "response": map[string]any{"confirmed": answer == "yes"}})
}

func dataPart(metadata, value map[string]any) part {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return part{Kind: "data", Data: text, Metadata: metadata}
}

func testTool(t *testing.T, c *client, _ *model) {
	t.Helper()
	got := c.send(recipient{}, "Please #book")
	if text := got.artifactText(); got.Status.State != "completed" || !strings.Contains(text, "The tool says: ") || !strings.Contains(text, "Booked Luigi for 4") {
		t.Errorf("answer = %s %q", got.Status.State, text)
	}
}

// testFailure makes the model refuse a call, and end the connection in the middle of an answer.
func testFailure(t *testing.T, c *client, _ *model) {
	t.Helper()
	checkFailed(t, c.send(recipient{}, "#fail"), modelKey)
	checkFailed(t, c.send(recipient{}, "#break"), modelKey)
	if got := c.send(recipient{}, "#count 1"); got.Status.State != "completed" {
		t.Errorf("after failures: %s %q", got.Status.State, got.statusText())
	}
}

// checkFailed checks that a task failed or was rejected with a reason, and that it
// does not contain a secret.
func checkFailed(t *testing.T, got *task, secret string) {
	t.Helper()
	reason, text := got.statusText(), got.artifactText()
	if (got.Status.State != "failed" && got.Status.State != "rejected") || reason == "" {
		t.Errorf("answer = %s %q %q, want failed or rejected, with a reason", got.Status.State, reason, text)
	}
	if strings.Contains(reason+text, secret) {
		t.Errorf("the answer contains the key: %q %q", reason, text)
	}
}
