// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gallery runs the programs of examples/ behind the sidecar, with a
// language model that is a stub, and holds their pages to what they can do.
package gallery

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/programs"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

func TestMain(m *testing.M) { os.Exit(programs.Built(m, "cmd/sidecar").Run()) }

// example is a folder of examples/ with a program, and what its framework can
// do. The table in examples/README.md says the same.
type example struct {
	name, framework string
	protocol        sidecarconfig.Protocol
	// stream: pieces arrive while the model still writes. cancel: the call of the
	// model ends when the task is cancelled. pause: a tool asks before it runs.
	// history: the model sees what was said before in the conversation.
	stream, cancel, pause, history, tools bool
	// reply is the message that answers a question with yes or no, where that is
	// more than the word.
	reply func(asked *task, answer string) part
	// uncut says why the example is not run while connections are cut.
	uncut string
}

var gallery = []example{
	{name: "fastapi", framework: "FastAPI", protocol: sidecarconfig.ProtocolEvents, stream: true, cancel: true, pause: true, history: true, tools: true},
	{name: "langgraph", framework: "LangGraph", protocol: sidecarconfig.ProtocolEvents, stream: true, cancel: true, pause: true, history: true, tools: true},
	{name: "openai-agents", framework: "OpenAI Agents SDK", protocol: sidecarconfig.ProtocolEvents, stream: true, cancel: true, pause: true, history: true, tools: true},
	{name: "pydantic-ai", framework: "Pydantic AI", protocol: sidecarconfig.ProtocolEvents, stream: true, cancel: true, pause: true, history: true, tools: true},
	{name: "mcp", framework: "MCP tools", protocol: sidecarconfig.ProtocolEvents, stream: true, cancel: true, pause: true, history: true, tools: true},
	{name: "agent-framework", framework: "Microsoft Agent Framework", protocol: sidecarconfig.ProtocolEvents, stream: true, cancel: true, pause: true, history: true, tools: true},
	{name: "adk", framework: "Google ADK", protocol: sidecarconfig.ProtocolA2A, stream: true, cancel: true, pause: true, history: true, tools: true, reply: confirmation},
	{
		name: "strands", framework: "Strands", protocol: sidecarconfig.ProtocolA2A, stream: true, cancel: true, pause: true, history: true, tools: true, reply: interruptResponse,
		uncut: "after a cut its server (a2a-sdk 0.3.26) may leave the task working for ever, and the turn then fails only after timeouts.idle, 5 min",
	},
	{name: "crewai", framework: "CrewAI", protocol: sidecarconfig.ProtocolEvents, stream: true, history: true, tools: true},
	{name: "model-server", framework: "vLLM, Ollama, llama.cpp", protocol: sidecarconfig.ProtocolChatCompletions, stream: true, cancel: true, history: true},
}

// backend runs what is behind the sidecar, and returns its URL: the program, or
// the model itself.
func (e *example) backend(t *testing.T, m *model, env ...string) string {
	t.Helper()
	if e.protocol == sidecarconfig.ProtocolChatCompletions {
		return m.URL + "/v1"
	}
	return start(t, e.name, m, env...)
}

// front runs a sidecar before a backend. It retries turns that break off if
// retry is true.
func (e *example) front(t *testing.T, url, key string, retry bool) *client {
	t.Helper()
	if e.protocol == sidecarconfig.ProtocolChatCompletions {
		return newClient(t, standalone(t, url, key, retry))
	}
	return newClient(t, sidecartest.Start(t, nil, func(_ *sidecartest.Fixture, c *sidecarconfig.Config) {
		c.Backend = sidecarconfig.Backend{Protocol: e.protocol, URL: url}
		if retry {
			c.Backend.OnInterruption = sidecarconfig.InterruptionRetry
		}
	}).URL)
}

func TestGallery(t *testing.T) {
	for _, e := range gallery {
		t.Run(e.name, func(t *testing.T) {
			selected(t, e.name)
			m := startModel(t)
			c := e.front(t, e.backend(t, m), modelKey, false)
			run := func(name string, can bool, test func(*testing.T, *client, *model)) {
				t.Run(name, func(t *testing.T) {
					if !can {
						t.Skipf("%s cannot: examples/README.md", e.framework)
					}
					test(t, &client{t: t, url: c.url, http: c.http, n: c.n + 100*len(name)}, m)
				})
			}
			run("sends", true, sends)
			run("streams", e.stream, streams)
			run("cancels", true, func(t *testing.T, c *client, m *model) { cancels(t, c, m, e.cancel) })
			run("remembers", e.history, remembers)
			run("pauses", e.pause, func(t *testing.T, c *client, _ *model) { pauses(t, c, e.reply) })
			if e.tools && !e.pause { // else the tool has run by now
				run("uses a tool", true, usesTool)
			}
			run("fails", true, fails)
		})
		t.Run(e.name+" with a wrong key", func(t *testing.T) {
			selected(t, e.name)
			url := e.backend(t, startModel(t), "OPENAI_API_KEY="+wrongKey)
			failed(t, e.front(t, url, wrongKey, false).send(to{}, "#count 3"), wrongKey)
		})
	}
}

// wrongKey is one that the model refuses, and repeats as it does so.
const wrongKey = "sk-wrong-key-0123456789"

func sends(t *testing.T, c *client, _ *model) {
	t.Helper()
	got := c.send(to{}, "Please #count 20")
	if want := strings.Join(numbered(20), " "); got.Status.State != "completed" || strings.TrimSpace(got.says()) != want {
		t.Errorf("answer = %s %q, want %q", got.Status.State, got.says(), want)
	}
}

// streams reads the first piece while the model holds back the second.
func streams(t *testing.T, c *client, m *model) {
	t.Helper()
	s := c.stream(to{}, "#gate")
	held := m.await(t)
	if !s.until(func() bool { return s.text() == "one" }) {
		t.Fatalf("stream ended with %q", s.text())
	}
	close(held.release)
	if s.rest(); s.state != "completed" || s.text() != "one two three" {
		t.Errorf("stream = %s %q", s.state, s.text())
	}
}

// cancels ends a task while the model works for it.
func cancels(t *testing.T, c *client, m *model, reaches bool) {
	t.Helper()
	s := c.stream(to{}, "#wait")
	held := m.await(t)
	if !s.until(func() bool { return s.task != "" }) {
		t.Fatal("the stream has no event")
	}
	if got := c.call("tasks/cancel", map[string]any{"id": s.task}); got.Status.State != "canceled" {
		t.Errorf("cancelled task = %s", got.Status.State)
	}
	if s.rest(); s.state != "canceled" {
		t.Errorf("stream ends with %s", s.state)
	}
	if reaches {
		select {
		case <-held.left:
		case <-time.After(20 * time.Second):
			t.Error("the model works on for a task that was cancelled")
		}
	}
	// The program is unharmed, and so is the conversation.
	if got := c.send(to{context: s.context}, "#count 2"); got.Status.State != "completed" || strings.TrimSpace(got.says()) != "w1 w2" {
		t.Errorf("next answer = %s %q", got.Status.State, got.says())
	}
}

// remembers asks for what was said before, in this conversation and in none
// other.
func remembers(t *testing.T, c *client, _ *model) {
	t.Helper()
	first := c.send(to{}, "My name is Ada.")
	other := c.send(to{}, "My name is Bob.")
	for name, test := range map[string]struct{ context, want, not string }{
		"Ada": {first.ContextID, "Ada", "Bob"},
		"Bob": {other.ContextID, "Bob", "Ada"},
	} {
		got := c.send(to{context: test.context}, "#recall")
		if got.Status.State != "completed" || !strings.Contains(got.says(), test.want) || strings.Contains(got.says(), test.not) {
			t.Errorf("%s: answer = %s %q", name, got.Status.State, got.says())
		}
	}
}

// pauses lets a tool ask, and goes on with either answer.
func pauses(t *testing.T, c *client, reply func(*task, string) part) {
	t.Helper()
	for answer, want := range map[string]string{"yes": "Booked Luigi for 4", "no": `user said no|rejected by user|CONFIRMATION_FAILED|rejected`} {
		asked := c.send(to{}, "Please #book")
		if asked.Status.State != "input-required" || !strings.Contains(asked.shows(), "Luigi") {
			t.Fatalf("answer = %s %q %q", asked.Status.State, asked.shows(), asked.says())
		}
		// Another conversation goes on beside it.
		if beside := c.send(to{}, "#count 1"); beside.Status.State != "completed" {
			t.Errorf("beside a paused task: %s", beside.Status.State)
		}
		p := part{Kind: "text", Text: answer}
		if reply != nil {
			p = reply(asked, answer)
		}
		got := c.call("message/send", c.params(to{context: asked.ContextID, task: asked.ID}, p))
		if got.ID != asked.ID || got.Status.State != "completed" || !regexp.MustCompile(want).MatchString(got.says()) || !strings.Contains(got.says(), "The tool says") {
			t.Errorf("after %q: %s %q %q", answer, got.Status.State, got.asks(), got.says())
		}
		if answer == "no" && strings.Contains(got.says(), "Booked") {
			t.Errorf("after no: %q", got.says())
		}
	}
}

// interruptResponse answers an interrupt of Strands, by its id.
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
	return data(nil, map[string]any{"interruptResponse": map[string]any{"interruptId": id, "response": answer}})
}

// confirmation answers ADK's call of the function that asks for one.
func confirmation(asked *task, answer string) part {
	var call struct{ ID, Name string }
	for _, p := range asked.Status.Message.Parts {
		_ = json.Unmarshal(p.Data, &call)
	}
	return data(map[string]any{"adk_type": "function_response"},
		map[string]any{"id": call.ID, "name": call.Name, "response": map[string]any{"confirmed": answer == "yes"}})
}

func data(metadata, value map[string]any) part {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return part{Kind: "data", Data: text, Metadata: metadata}
}

func usesTool(t *testing.T, c *client, _ *model) {
	t.Helper()
	got := c.send(to{}, "Please #book")
	if got.Status.State != "completed" || !strings.Contains(got.says(), "The tool says: ") || !strings.Contains(got.says(), "Booked Luigi for 4") {
		t.Errorf("answer = %s %q", got.Status.State, got.says())
	}
}

// fails has the model refuse, and break off.
func fails(t *testing.T, c *client, _ *model) {
	t.Helper()
	failed(t, c.send(to{}, "#fail"), modelKey)
	failed(t, c.send(to{}, "#break"), modelKey)
	if got := c.send(to{}, "#count 1"); got.Status.State != "completed" {
		t.Errorf("after failures: %s %q", got.Status.State, got.asks())
	}
}

func failed(t *testing.T, got *task, secret string) {
	t.Helper()
	if (got.Status.State != "failed" && got.Status.State != "rejected") || got.asks() == "" {
		t.Errorf("answer = %s %q %q, want failed or rejected, with a reason", got.Status.State, got.asks(), got.says())
	}
	if strings.Contains(got.asks()+got.says(), secret) {
		t.Errorf("the answer holds the key: %q %q", got.asks(), got.says())
	}
}
