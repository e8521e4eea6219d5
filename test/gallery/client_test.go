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

// client talks A2A 0.3 over JSON-RPC to the sidecar.
type client struct {
	t    *testing.T
	url  string
	http *http.Client
	n    int
}

func newClient(t *testing.T, url string) *client {
	t.Helper()
	h := sidecartest.Client(t)
	h.Timeout = time.Minute
	return &client{t: t, url: url, http: h}
}

// part, message and task are those of A2A, as far as the tests look.
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

func joined(parts []part) string {
	var text strings.Builder
	for _, p := range parts {
		text.WriteString(p.Text)
	}
	return text.String()
}

// says is the text of all artifacts.
func (t *task) says() string {
	text := ""
	for _, artifact := range t.Artifacts {
		text += joined(artifact.Parts)
	}
	return text
}

// shows is the text and the data of the status.
func (t *task) shows() string {
	text := t.asks()
	if t.Status.Message != nil {
		for _, p := range t.Status.Message.Parts {
			text += string(p.Data)
		}
	}
	return text
}

// asks is the text of the status.
func (t *task) asks() string {
	if t.Status.Message == nil {
		return ""
	}
	return joined(t.Status.Message.Parts)
}

// to says which context or task a message is for.
type to struct{ context, task string }

func (c *client) params(to to, p part) map[string]any {
	c.n++
	m := map[string]any{"kind": "message", "role": "user", "messageId": fmt.Sprintf("m%d", c.n), "parts": []part{p}}
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

func (c *client) send(to to, text string) *task {
	c.t.Helper()
	return c.call("message/send", c.params(to, part{Kind: "text", Text: text}))
}

// stream is a message/stream that is being read.
type stream struct {
	c     *client
	lines *bufio.Scanner
	body  func() error
	// task and context are known from the first event on.
	task, context string
	// state and status are what the events said last; artifacts are the texts
	// so far, in the order of ids.
	state, status string
	ids           []string
	artifacts     map[string]string
	final         bool
}

func (c *client) stream(to to, text string) *stream {
	c.t.Helper()
	response := c.post("message/stream", c.params(to, part{Kind: "text", Text: text}))
	s := &stream{c: c, lines: bufio.NewScanner(response.Body), body: response.Body.Close, artifacts: map[string]string{}}
	s.lines.Buffer(nil, 1<<20)
	c.t.Cleanup(func() { _ = s.body() })
	return s
}

// until reads events until enough is true, and says whether it became so.
func (s *stream) until(enough func() bool) bool {
	s.c.t.Helper()
	for !enough() {
		if !s.next() {
			return false
		}
	}
	return true
}

func (s *stream) next() bool {
	s.c.t.Helper()
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
			s.c.t.Fatalf("event: %v %s", err, data)
		}
		r := event.Result
		s.context, s.final = r.ContextID, r.Final
		s.task = r.TaskID
		if r.Kind == "task" {
			s.task = r.ID
		}
		if r.Status.State != "" {
			s.state, s.status = r.Status.State, r.asks()
		}
		if r.Kind == "artifact-update" {
			id := r.Artifact.ArtifactID
			if !slices.Contains(s.ids, id) {
				s.ids = append(s.ids, id)
			}
			if !r.Append { // a new one, or one that takes the place of what there was
				s.artifacts[id] = ""
			}
			s.artifacts[id] += joined(r.Artifact.Parts)
		}
		return true
	}
	return false
}

// text is that of all artifacts so far.
func (s *stream) text() string {
	text := ""
	for _, id := range s.ids {
		text += s.artifacts[id]
	}
	return strings.TrimSpace(text)
}

// rest reads to the end.
func (s *stream) rest() {
	s.c.t.Helper()
	s.until(func() bool { return false })
}
