// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/cutclient"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// numberedTurn is the text of a message that asks for numbered parts, such as "turn t-7 5".
var numberedTurn = regexp.MustCompile(`turn (\S+) (\d+)`)

// numberedParts returns the parts that a message asks for, and nil for every other message.
func numberedParts(text string) []string {
	match := numberedTurn.FindStringSubmatch(text)
	if match == nil {
		return nil
	}
	n, _ := strconv.Atoi(match[2])
	var parts []string
	for i := range n {
		parts = append(parts, fmt.Sprintf("%s/%d ", match[1], i))
	}
	return parts
}

// spoken writes the events of an answer, and flushes each of them.
func spoken(w http.ResponseWriter, format string, events ...string) {
	for _, e := range events {
		_, _ = fmt.Fprintf(w, format, e)
		_ = http.NewResponseController(w).Flush()
		time.Sleep(time.Millisecond) // some connections break while the agent still writes
	}
}

// scripted is an agent with one form of answers.
type scripted struct {
	name string
	// events returns the answer in JSON of 0.3. An agent of the Events protocol sends it as lines, and an A2A server as a stream.
	events func(parts []string) []string
	// head is the number of parts that are not in an artifact, but in the message of the last status; -1 for all. A turn
	// with direct set has no task.
	head   int
	direct bool
}

func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func textMessage(text string) string {
	return `{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":` + quoted(text) + `}]}`
}

func textArtifact(id, text string, more bool) string {
	return fmt.Sprintf(`{"kind":"artifact-update","taskId":"T","contextId":"C","append":%t,"artifact":{"artifactId":%q,"parts":[{"kind":"text","text":%s}]}}`, more, id, quoted(text))
}

const (
	begun = `{"kind":"status-update","taskId":"T","contextId":"C","final":false,"status":{"state":"working"}}`
	ended = `{"kind":"status-update","taskId":"T","contextId":"C","final":true,"status":{"state":"completed"}}`
)

// scripts are the forms of answers that agents have: what a message begins, what only the history has, and chunks.
var scripts = []scripted{
	{name: "chunks of an artifact", events: func(parts []string) []string {
		all := []string{begun}
		for i, p := range parts {
			all = append(all, textArtifact("a", p, i > 0))
		}
		return append(all, ended)
	}},
	{name: "an artifact for each part", events: func(parts []string) []string {
		all := []string{begun}
		for i, p := range parts {
			all = append(all, textArtifact(fmt.Sprintf("a-%02d", i), p, false))
		}
		return append(all, ended)
	}},
	{name: "a message, then artifacts", head: 1, events: func(parts []string) []string {
		all := []string{textMessage(parts[0])}
		for i, p := range parts[1:] {
			all = append(all, textArtifact("a", p, i > 0))
		}
		return append(all, ended)
	}},
	{name: "artifacts, then a message", head: 1, events: func(parts []string) []string {
		var all []string
		for i, p := range parts[1:] {
			all = append(all, textArtifact("a", p, i > 0))
		}
		return append(all, `{"kind":"status-update","taskId":"T","contextId":"C","final":true,"status":{"state":"completed","message":`+textMessage(parts[0])+`}}`)
	}},
	{name: "chunks of one message", events: func(parts []string) []string {
		all := []string{}
		for _, p := range parts {
			all = append(all, textMessage(p))
		}
		return append(all, ended)
	}},
	{name: "in the history only", head: -1, events: func(parts []string) []string {
		return []string{
			`{"kind":"task","id":"T","contextId":"C","status":{"state":"completed"},"history":[` +
				`{"kind":"message","messageId":"u","role":"user","parts":[{"kind":"text","text":"turn"}]},` + textMessage(strings.Join(parts, "")) + `]}`,
		}
	}},
	{name: "a direct answer", head: -1, direct: true, events: func(parts []string) []string {
		return []string{textMessage(strings.Join(parts, ""))}
	}},
}

// asEvents serves a script in the Events protocol.
func (s *scripted) asEvents(t *testing.T) *sidecartest.Fixture {
	t.Helper()
	return sidecartest.Start(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/x-ndjson")
		spoken(w, "%s\n", s.events(numberedParts(string(body)))...)
	})
}

// asServer serves a script as an A2A server of 0.3.
func (s *scripted) asServer(t *testing.T) *sidecartest.Fixture {
	t.Helper()
	return behind(t, sidecarconfig.ProtocolA2A, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"name":"x","description":"d","url":"http://`+r.Host+`/","protocolVersion":"0.3.0","version":"1",`+
				`"capabilities":{"streaming":true},"defaultInputModes":[],"defaultOutputModes":[],"skills":[]}`)
			return
		}
		var call struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		_ = json.NewDecoder(r.Body).Decode(&call)
		if call.Method != "message/stream" {
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"Task not found"}}`, call.ID)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		spoken(w, `data: {"jsonrpc":"2.0","id":`+string(call.ID)+`,"result":%s}`+"\n\n", s.events(numberedParts(string(call.Params)))...)
	})
}

// behind returns a sidecar in front of a server with a protocol.
func behind(t *testing.T, protocol sidecarconfig.Protocol, handler http.HandlerFunc) *sidecartest.Fixture {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return sidecartest.Start(t, nil, func(_ *sidecartest.Fixture, c *sidecarconfig.Config) {
		c.Backend = sidecarconfig.Backend{Protocol: protocol, URL: server.URL}
		if protocol == sidecarconfig.ProtocolChatCompletions {
			c.Backend.URL += "/v1"
			c.Backend.Model = sidecarconfig.Model{Name: "m"}
		}
	})
}

// chatServer is a model server that streams the numbered parts.
func chatServer(t *testing.T) *sidecartest.Fixture {
	t.Helper()
	return behind(t, sidecarconfig.ProtocolChatCompletions, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"m"}]}`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		var chunks []string
		for _, p := range numberedParts(string(body)) {
			chunks = append(chunks, `{"choices":[{"index":0,"delta":{"content":`+quoted(p)+`}}]}`)
		}
		spoken(w, "data: %s\n\n", append(chunks, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "[DONE]")...)
	})
}

// textServer is an agent that answers with plain text.
func textServer(t *testing.T) *sidecartest.Fixture {
	t.Helper()
	return sidecartest.Start(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/plain")
		spoken(w, "%s", numberedParts(string(body))...)
	})
}

// TestNoPartIsLostBehindClientCuts cuts each connection between a client and the sidecar at a random byte, for every form
// of answers of every kind of backend.
func TestNoPartIsLostBehindClientCuts(t *testing.T) {
	turns := interopTurns(t, 12)
	for i := range scripts {
		s := &scripts[i]
		for kind, start := range map[string]func(*testing.T) *sidecartest.Fixture{"Events": s.asEvents, "A2A": s.asServer} {
			t.Run(kind+" with "+s.name, func(t *testing.T) {
				t.Parallel()
				followTurns(t, start(t).URL, turns, s.head, s.direct)
			})
		}
	}
	for kind, start := range map[string]func(*testing.T) *sidecartest.Fixture{"ChatCompletions": chatServer, "Events with text": textServer} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			followTurns(t, start(t).URL, turns, 0, false)
		})
	}
	for name, open := range upstreams {
		if !strings.HasPrefix(name, "a2a-go") {
			continue
		}
		t.Run("A2A by "+name, func(t *testing.T) {
			t.Parallel()
			upstream := open(t)
			side := sidecartest.Start(t, nil, func(_ *sidecartest.Fixture, c *sidecarconfig.Config) {
				c.Backend = sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolA2A, URL: upstream.url}
			})
			followTurns(t, side.URL, turns, 0, false)
		})
	}
}

// TestPythonServersBehindClientCuts does the same for servers of the Python SDKs.
func TestPythonServersBehindClientCuts(t *testing.T) {
	turns := interopTurns(t, 20)
	for _, server := range pythonServers {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			s := startPython(t, environment(t, server.environment), server.args...)
			played := s.scenario(t, server.backend)
			followTurns(t, played.url, turns, 0, false)
		})
	}
}

// followTurns runs turns, of which some parallel ones at once, and compares each part that the client has received, and
// each part of the task, with those that the agent has sent.
func followTurns(t *testing.T, url string, turns, head int, direct bool) {
	t.Helper()
	campaign := cutclient.Campaign{URL: url, Turns: turns, Direct: direct, Ask: func(i int) (text, answer, message string) {
		n := 2 + i%12
		text = fmt.Sprintf("turn t-%d %d", i, n)
		parts := numberedParts(text)
		if head < 0 {
			return text, "", strings.Join(parts, "")
		}
		return text, strings.Join(parts[head:], ""), strings.Join(parts[:head], "")
	}}
	campaign.Run(t)
}

// interopTurns returns the number of turns: the value of INTEROP_TURNS, or a default.
func interopTurns(t *testing.T, otherwise int) int {
	t.Helper()
	return cutclient.Turns(t, "INTEROP_TURNS", otherwise)
}
