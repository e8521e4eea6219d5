// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/upstream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v01"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tongue is how an agent of one version speaks, over one binding.
type tongue struct {
	// card has a place for whether the agent streams.
	card string
	// operations are named by methods or, without any, by paths.
	methods map[string]string
	prefix  string
	event   func([]byte, *a2a.Event) []byte
	answer  func([]byte, *a2a.Event) []byte
	task    func([]byte, *a2a.Task) []byte
}

var tongues = map[string]tongue{
	"0.1": {
		card:    `{"name":"x","url":"http://elsewhere.example/rpc","version":"1","authentication":{"schemes":["Bearer"]},"capabilities":{"streaming":%t},"skills":[]}`,
		methods: map[string]string{"tasks/send": "send", "tasks/sendSubscribe": "stream", "tasks/get": "get", "tasks/cancel": "cancel", "tasks/resubscribe": "subscribe"},
		event:   v01.AppendEvent, answer: v01.AppendAnswer, task: v01.AppendTask,
	},
	"0.2": {
		card:    `{"name":"x","url":"http://elsewhere.example/rpc","version":"1","protocolVersion":"0.2.5","capabilities":{"streaming":%t},"skills":[]}`,
		methods: methods03, event: v03.AppendEvent, answer: v03.AppendEvent, task: v03.AppendTask,
	},
	"0.3": {
		card: `{"name":"x","url":"elsewhere.example:443","preferredTransport":"GRPC","additionalInterfaces":[{"url":"https://elsewhere.example/rpc","transport":"JSONRPC"}],` +
			`"protocolVersion":"0.3.0","capabilities":{"streaming":%t},"skills":[]}`,
		methods: methods03, event: v03.AppendEvent, answer: v03.AppendEvent, task: v03.AppendTask,
	},
	"1.0": {
		card: `{"name":"x","supportedInterfaces":[{"url":"https://elsewhere.example/rpc","protocolBinding":"JSONRPC","protocolVersion":"0.3"},` +
			`{"url":"https://elsewhere.example","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"},` +
			`{"url":"https://elsewhere.example/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{"streaming":%t}}`,
		methods: map[string]string{"SendMessage": "send", "SendStreamingMessage": "stream", "GetTask": "get", "CancelTask": "cancel", "SubscribeToTask": "subscribe"},
		event:   protojson.V10.AppendEvent, answer: protojson.V10.AppendEvent, task: protojson.V10.AppendTask,
	},
	"0.3 HTTP+JSON": {
		card:   `{"name":"x","url":"https://elsewhere.example/api","preferredTransport":"HTTP+JSON","protocolVersion":"0.3.0","capabilities":{"streaming":%t},"skills":[]}`,
		prefix: "/api/v1", event: protojson.V03.AppendEvent, answer: protojson.V03.AppendEvent, task: protojson.V03.AppendTask,
	},
	"1.0 HTTP+JSON": {
		card:   `{"name":"x","supportedInterfaces":[{"url":"https://elsewhere.example/api/","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}],"capabilities":{"streaming":%t}}`,
		prefix: "/api", event: protojson.V10.AppendEvent, answer: protojson.V10.AppendEvent, task: protojson.V10.AppendTask,
	},
}

var methods03 = map[string]string{"message/send": "send", "message/stream": "stream", "tasks/get": "get", "tasks/cancel": "cancel", "tasks/resubscribe": "subscribe"}

// asked is one call that the agent gets.
type asked struct {
	op, version, header string
	// task and context are the agent's ids in the call.
	task, context string
	text          string
	references    []string
}

// said is how the agent answers a call, in its tongue.
type said struct {
	tongue
	t  *testing.T
	w  http.ResponseWriter
	r  *http.Request
	id json.RawMessage
}

func (s *said) frame(content []byte) []byte {
	if s.methods == nil {
		return content
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, s.id, content)
}

// streams answers with events, flushed one by one.
func (s *said) streams(events ...a2a.Event) {
	s.w.Header().Set("Content-Type", "text/event-stream")
	for i := range events {
		_, _ = fmt.Fprintf(s.w, "data: %s\n\n", s.frame(s.event(nil, &events[i])))
		_ = http.NewResponseController(s.w).Flush()
	}
}

// answers answers with one task or message.
func (s *said) answers(e a2a.Event) {
	s.w.Header().Set("Content-Type", "application/json")
	_, _ = s.w.Write(s.frame(s.answer(nil, &e)))
}

func (s *said) tells(t *a2a.Task) {
	s.w.Header().Set("Content-Type", "application/json")
	_, _ = s.w.Write(s.frame(s.task(nil, t)))
}

// fails answers with an error.
func (s *said) fails(code int) {
	s.w.Header().Set("Content-Type", "application/json")
	if s.methods == nil {
		s.w.WriteHeader(http.StatusBadRequest)
		reason := map[int]string{-32001: "TASK_NOT_FOUND", -32004: "UNSUPPORTED_OPERATION", -32005: "CONTENT_TYPE_NOT_SUPPORTED", -32009: "VERSION_NOT_SUPPORTED", -32603: "X"}[code]
		_, _ = fmt.Fprintf(s.w, `{"error":{"code":400,"message":"secret","details":[{"@type":"x","reason":%q}]}}`, reason)
		return
	}
	_, _ = fmt.Fprintf(s.w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"secret"}}`, s.id, code)
}

// agent serves an agent and returns the backend in front of it. Calls are
// written down in the returned book.
func agent(t *testing.T, name string, streaming bool, o upstream.Options, handle func(*said, asked)) (*upstream.Backend, *book) {
	t.Helper()
	tongue := tongues[name]
	calls := &book{}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, r *http.Request) {
		if name == "0.1" || name == "0.2" {
			http.NotFound(w, r)
			return
		}
		_, _ = fmt.Fprintf(w, tongue.card, streaming)
	})
	mux.HandleFunc("/.well-known/agent.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintf(w, tongue.card, streaming) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s := &said{tongue: tongue, t: t, w: w, r: r}
		body, _ := io.ReadAll(r.Body)
		read := s.readRPC
		if tongue.methods == nil {
			read = s.readREST
		}
		a := read(body)
		a.version, a.header = r.Header.Get("A2A-Version"), r.Header.Get("A2A-Task-Id")
		calls.add(a)
		handle(s, a)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	o.URL = server.URL
	b, err := upstream.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b, calls
}

type params struct {
	ID        string
	SessionID string
	Message   struct {
		TaskID, ContextID string
		ReferenceTaskIDs  []string
		// Content are the parts over HTTP+JSON in 0.3.
		Parts, Content []struct{ Text string }
	}
}

func (s *said) readRPC(body []byte) asked {
	var request struct {
		ID     json.RawMessage
		Method string
		Params params
	}
	if err := json.Unmarshal(body, &request); err != nil || s.r.URL.Path != "/rpc" {
		s.t.Errorf("request %s %s: %v", s.r.URL, body, err)
	}
	s.id = request.ID
	op := s.methods[request.Method]
	if op == "" {
		s.t.Errorf("method %q is of another version", request.Method)
	}
	return request.Params.asked(op)
}

func (p *params) asked(op string) asked {
	a := asked{op: op, task: p.ID + p.Message.TaskID, context: p.SessionID + p.Message.ContextID, references: p.Message.ReferenceTaskIDs}
	for _, part := range append(p.Message.Parts, p.Message.Content...) {
		a.text += part.Text
	}
	return a
}

func (s *said) readREST(body []byte) asked {
	path, ok := strings.CutPrefix(s.r.URL.Path, s.prefix)
	if !ok {
		s.t.Errorf("request to %s", s.r.URL)
	}
	var p params
	_ = json.Unmarshal(body, &p)
	task := strings.TrimPrefix(path, "/tasks/")
	switch {
	case path == "/message:send":
		return p.asked("send")
	case path == "/message:stream":
		return p.asked("stream")
	case strings.HasSuffix(task, ":cancel"):
		return asked{op: "cancel", task: strings.TrimSuffix(task, ":cancel")}
	case strings.HasSuffix(task, ":subscribe"):
		return asked{op: "subscribe", task: strings.TrimSuffix(task, ":subscribe")}
	default:
		return asked{op: "get", task: task}
	}
}

// book holds the calls that an agent got.
type book struct {
	mu    sync.Mutex
	calls []asked
}

func (b *book) add(a asked) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, a)
}

func (b *book) ops() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, a := range b.calls {
		all = append(all, a.op)
	}
	return strings.Join(all, " ")
}

func turn() *backend.Turn {
	return &backend.Turn{
		TaskID: "our-task", ContextID: "our-context", Number: 1, Owner: "alice",
		Message: &a2a.Message{ID: "m1", ContextID: "our-context", TaskID: "our-task", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("hi")}},
	}
}

// heard gathers what an agent says, as the engine would take it.
type heard struct {
	events []a2a.Event
	note   string
	each   func(*a2a.Event)
}

func (h *heard) emit(events []a2a.Event) error {
	for _, e := range events {
		h.events = append(h.events, e)
		if h.each != nil {
			h.each(&e)
		}
		if e.Status != nil && e.Status.Note != "" {
			h.note = e.Status.Note
		}
		if e.Status != nil && e.Status.Status.State.Terminal() || e.Message != nil {
			return backend.ErrTurnEnded
		}
	}
	return nil
}

func (h *heard) String() string {
	var all []string
	for i := range h.events {
		all = append(all, short(&h.events[i]))
	}
	return strings.Join(all, " ")
}

func run(t *testing.T, b *upstream.Backend, turn *backend.Turn) (h *heard, outcome string) {
	t.Helper()
	h = &heard{}
	return h, outcomeOf(b.Run(t.Context(), turn, h.emit))
}

func outcomeOf(err error) string {
	failure, isFailure := errors.AsType[*backend.TurnError](err)
	switch {
	case err == nil:
		return "whole"
	case errors.Is(err, backend.ErrTurnEnded):
		return "ended"
	case isFailure:
		return failure.State.String() + ": " + failure.Reason
	case errors.Is(err, context.Canceled):
		return "canceled"
	default:
		return "error: " + err.Error()
	}
}

// short is an event in one word, without ids.
func short(e *a2a.Event) string {
	switch {
	case e.Message != nil:
		return "message:" + text(e.Message.Parts)
	case e.Status != nil:
		s := e.Status.Status.State.String()
		if e.Status.Status.Message != nil {
			s += "(" + text(e.Status.Status.Message.Parts) + ")"
		}
		return s
	default:
		u := e.Artifact
		s := "="
		if u.Append {
			s = "+"
		}
		return s + text(u.Artifact.Parts)
	}
}

func text(parts []a2a.Part) string {
	s := ""
	for i := range parts {
		s += parts[i].Text
	}
	return s
}

// What an agent says of its task.

const (
	theirTask    = "their-task"
	theirContext = "their-context"
)

func status(s a2a.State, says ...string) a2a.Event {
	return a2a.Event{Status: &a2a.StatusUpdate{TaskID: theirTask, ContextID: theirContext, Status: statusOf(s, says...)}}
}

func statusOf(s a2a.State, says ...string) a2a.Status {
	out := a2a.Status{State: s}
	for _, text := range says {
		out.Message = &a2a.Message{ID: "their-" + text, TaskID: theirTask, ContextID: theirContext, Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(text)}}
	}
	return out
}

func artifact(text string, more bool) a2a.Event {
	return a2a.Event{Artifact: &a2a.ArtifactUpdate{
		TaskID: theirTask, ContextID: theirContext, Append: more,
		Artifact: a2a.Artifact{ID: "artifact-0", Parts: []a2a.Part{a2a.TextPart(text)}},
	}}
}

func task(s a2a.State, texts ...string) *a2a.Task {
	t := &a2a.Task{ID: theirTask, ContextID: theirContext, Status: a2a.Status{State: s}}
	for _, text := range texts {
		t.Artifacts = append(t.Artifacts, a2a.Artifact{ID: fmt.Sprintf("artifact-%d", len(t.Artifacts)), Parts: []a2a.Part{a2a.TextPart(text)}})
	}
	return t
}

func whole(t *a2a.Task) a2a.Event { return a2a.Event{Task: t} }
