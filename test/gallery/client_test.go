// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gallery

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// client calls the sidecar over JSON-RPC in A2A 0.3.
type client struct {
	t    *testing.T
	url  string
	http *http.Client
	// messages is the number of messages so far. Message ids count on from it.
	messages int
}

func newClient(t *testing.T, url string) *client {
	t.Helper()
	h := sidecartest.Client(t)
	h.Timeout = time.Minute
	return &client{t: t, url: url, http: h}
}

// part, message and task hold the members of the A2A types that the tests check.
// A task also holds the members of the events of a stream.
type (
	part struct {
		Kind     string          `json:"kind"`
		Text     string          `json:"text,omitempty"`
		Data     json.RawMessage `json:"data,omitempty"`
		Metadata map[string]any  `json:"metadata,omitempty"`
	}
	message struct{ Parts []part }
	task    struct {
		Kind, ID, TaskID, ContextID string
		Status                      struct {
			State   string
			Message *message
		}
		Artifacts []struct{ Parts []part }
		Artifact  struct {
			ArtifactID string
			Parts      []part
		}
		Append bool
		Final  bool
	}
)

// joinText joins the texts of parts.
func joinText(parts []part) string {
	var text strings.Builder
	for _, p := range parts {
		text.WriteString(p.Text)
	}
	return text.String()
}

// artifactText returns the text of all artifacts, without surrounding space.
func (t *task) artifactText() string {
	text := ""
	for _, artifact := range t.Artifacts {
		text += joinText(artifact.Parts)
	}
	return strings.TrimSpace(text)
}

// statusText returns the text of the status message.
func (t *task) statusText() string {
	if t.Status.Message == nil {
		return ""
	}
	return joinText(t.Status.Message.Parts)
}

// statusContent returns the text and the data of the status message.
func (t *task) statusContent() string {
	text := t.statusText()
	if t.Status.Message != nil {
		for _, p := range t.Status.Message.Parts {
			text += string(p.Data)
		}
	}
	return text
}

// recipient is the context and the task that a message names; each may be empty.
type recipient struct{ context, task string }

// params returns the params of a message with one part.
func (c *client) params(to recipient, p part) map[string]any {
	c.messages++
	m := map[string]any{"kind": "message", "role": "user", "messageId": fmt.Sprintf("m%d", c.messages), "parts": []part{p}}
	if to.context != "" {
		m["contextId"] = to.context
	}
	if to.task != "" {
		m["taskId"] = to.task
	}
	return map[string]any{"message": m}
}

func (c *client) post(method string, params any) *http.Response {
	c.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url+"/", strings.NewReader(string(body)))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return response
}

// call calls a method and returns the resulting task. An error fails the test.
func (c *client) call(method string, params any) *task {
	c.t.Helper()
	response := c.post(method, params)
	defer response.Body.Close()
	var answer struct {
		Result *task
		Error  json.RawMessage
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Result == nil {
		c.t.Fatalf("%s: %v %s", method, err, answer.Error)
	}
	return answer.Result
}

// send sends a text and waits for the end of the turn.
func (c *client) send(to recipient, text string) *task {
	c.t.Helper()
	return c.call("message/send", c.params(to, part{Kind: "text", Text: text}))
}

// stream is the response to message/stream, and the state that results from its events so far.
type stream struct {
	client *client
	lines  *bufio.Scanner
	// task and context are the ids of the task and the context, which every event must contain.
	task, context string
	// state is the last one that an event named.
	state string
	// ids has the artifacts in the order in which they began, artifacts their texts.
	ids       []string
	artifacts map[string]string
}

// stream sends a text by message/stream.
func (c *client) stream(to recipient, text string) *stream {
	c.t.Helper()
	response := c.post("message/stream", c.params(to, part{Kind: "text", Text: text}))
	c.t.Cleanup(func() { _ = response.Body.Close() })
	s := &stream{client: c, lines: bufio.NewScanner(response.Body), artifacts: map[string]string{}}
	s.lines.Buffer(nil, 1<<20)
	return s
}

// readUntil reads events until done returns true. It returns false when the stream
// ends first.
func (s *stream) readUntil(done func() bool) bool {
	s.client.t.Helper()
	for !done() {
		if !s.next() {
			return false
		}
	}
	return true
}

// readAll reads the stream to its end.
func (s *stream) readAll() {
	s.client.t.Helper()
	s.readUntil(func() bool { return false })
}

// next reads one event, and returns false at the end of the stream.
func (s *stream) next() bool {
	s.client.t.Helper()
	for s.lines.Scan() {
		data, ok := strings.CutPrefix(s.lines.Text(), "data: ")
		if !ok {
			continue
		}
		var event struct {
			Result *task
			Error  json.RawMessage
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil || event.Result == nil {
			s.client.t.Fatalf("event: %v %s", err, data)
		}
		s.add(event.Result)
		return true
	}
	return false
}

func (s *stream) add(event *task) {
	s.task, s.context = event.TaskID, event.ContextID
	if event.Kind == "task" {
		s.task = event.ID
	}
	if event.Status.State != "" {
		s.state = event.Status.State
	}
	if event.Kind == "artifact-update" {
		id := event.Artifact.ArtifactID
		if !slices.Contains(s.ids, id) {
			s.ids = append(s.ids, id)
		}
		if !event.Append { // a new artifact, or one that replaces it
			s.artifacts[id] = ""
		}
		s.artifacts[id] += joinText(event.Artifact.Parts)
	}
}

// text returns the text of all artifacts so far, without surrounding space.
func (s *stream) text() string {
	text := ""
	for _, id := range s.ids {
		text += s.artifacts[id]
	}
	return strings.TrimSpace(text)
}
