// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/upstream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v01"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
)

// agentDialect describes the responses of an agent of one version over one binding.
type agentDialect struct {
	// card is a format with a verb for the streaming capability.
	card string
	// methods maps the methods of JSON-RPC to operations. It is nil over HTTP+JSON.
	methods  map[string]string
	prefix   string
	event    func([]byte, *a2a.Event) []byte
	response func([]byte, *a2a.Event) []byte
	task     func([]byte, *a2a.Task) []byte
}

var agentDialects = map[string]agentDialect{
	"0.1": {
		card:    `{"name":"x","url":"http://elsewhere.example/rpc","version":"1","authentication":{"schemes":["Bearer"]},"capabilities":{"streaming":%t},"skills":[]}`,
		methods: map[string]string{"tasks/send": "send", "tasks/sendSubscribe": "stream", "tasks/get": "get", "tasks/cancel": "cancel", "tasks/resubscribe": "subscribe"},
		event:   v01.AppendEvent, response: v01.AppendAnswer, task: v01.AppendTask,
	},
	"0.2": {
		card:    `{"name":"x","url":"http://elsewhere.example/rpc","version":"1","protocolVersion":"0.2.5","capabilities":{"streaming":%t},"skills":[]}`,
		methods: methods03, event: v03.AppendEvent, response: v03.AppendEvent, task: v03.AppendTask,
	},
	"0.3": {
		card: `{"name":"x","url":"elsewhere.example:443","preferredTransport":"GRPC","additionalInterfaces":[{"url":"https://elsewhere.example/rpc","transport":"JSONRPC"}],` +
			`"protocolVersion":"0.3.0","capabilities":{"streaming":%t},"skills":[]}`,
		methods: methods03, event: v03.AppendEvent, response: v03.AppendEvent, task: v03.AppendTask,
	},
	"1.0": {
		card: `{"name":"x","supportedInterfaces":[{"url":"https://elsewhere.example/rpc","protocolBinding":"JSONRPC","protocolVersion":"0.3"},` +
			`{"url":"https://elsewhere.example","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"},` +
			`{"url":"https://elsewhere.example/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{"streaming":%t}}`,
		methods: map[string]string{"SendMessage": "send", "SendStreamingMessage": "stream", "GetTask": "get", "CancelTask": "cancel", "SubscribeToTask": "subscribe"},
		event:   protojson.V10.AppendEvent, response: protojson.V10.AppendEvent, task: protojson.V10.AppendTask,
	},
	"0.3 HTTP+JSON": {
		card:   `{"name":"x","url":"https://elsewhere.example/api","preferredTransport":"HTTP+JSON","protocolVersion":"0.3.0","capabilities":{"streaming":%t},"skills":[]}`,
		prefix: "/api/v1", event: protojson.V03.AppendEvent, response: protojson.V03.AppendEvent, task: protojson.V03.AppendTask,
	},
	"1.0 HTTP+JSON": {
		card:   `{"name":"x","supportedInterfaces":[{"url":"https://elsewhere.example/api/","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}],"capabilities":{"streaming":%t}}`,
		prefix: "/api", event: protojson.V10.AppendEvent, response: protojson.V10.AppendEvent, task: protojson.V10.AppendTask,
	},
}

var methods03 = map[string]string{"message/send": "send", "message/stream": "stream", "tasks/get": "get", "tasks/cancel": "cancel", "tasks/resubscribe": "subscribe"}

// agentRequest is one request to the agent.
type agentRequest struct {
	op, version, header string
	// task and context are the agent's ids in the request.
	task, context string
	text          string
	references    []string
}

// responder writes the response of an agent in its dialect.
type responder struct {
	agentDialect
	t  *testing.T
	w  http.ResponseWriter
	r  *http.Request
	id json.RawMessage
}

func (s *responder) envelope(content []byte) []byte {
	if s.methods == nil {
		return content
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, s.id, content)
}

// stream responds with events, and flushes each of them.
func (s *responder) stream(events ...a2a.Event) {
	s.w.Header().Set("Content-Type", "text/event-stream")
	for i := range events {
		_, _ = fmt.Fprintf(s.w, "data: %s\n\n", s.envelope(s.event(nil, &events[i])))
		_ = http.NewResponseController(s.w).Flush()
	}
}

// respond responds with one task or message.
func (s *responder) respond(e a2a.Event) {
	s.w.Header().Set("Content-Type", "application/json")
	_, _ = s.w.Write(s.envelope(s.response(nil, &e)))
}

func (s *responder) respondTask(t *a2a.Task) {
	s.w.Header().Set("Content-Type", "application/json")
	_, _ = s.w.Write(s.envelope(s.task(nil, t)))
}

// respondError responds with an error.
func (s *responder) respondError(code int) {
	s.w.Header().Set("Content-Type", "application/json")
	if s.methods == nil {
		s.w.WriteHeader(http.StatusBadRequest)
		reason := map[int]string{-32001: "TASK_NOT_FOUND", -32004: "UNSUPPORTED_OPERATION", -32005: "CONTENT_TYPE_NOT_SUPPORTED", -32009: "VERSION_NOT_SUPPORTED", -32603: "X"}[code]
		_, _ = fmt.Fprintf(s.w, `{"error":{"code":400,"message":"secret","details":[{"@type":"x","reason":%q}]}}`, reason)
		return
	}
	_, _ = fmt.Fprintf(s.w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"secret"}}`, s.id, code)
}

// newAgent starts an agent and returns a backend for it, and the log of its requests.
func newAgent(t *testing.T, name string, streaming bool, o upstream.Options, handle func(*responder, agentRequest)) (*upstream.Backend, *requestLog) {
	t.Helper()
	tongue := agentDialects[name]
	calls := &requestLog{}
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
		s := &responder{agentDialect: tongue, t: t, w: w, r: r}
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
		// In HTTP+JSON of 0.3, Content has the parts.
		Parts, Content []struct{ Text string }
	}
}

func (s *responder) readRPC(body []byte) agentRequest {
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
	return request.Params.request(op)
}

func (p *params) request(op string) agentRequest {
	a := agentRequest{op: op, task: p.ID + p.Message.TaskID, context: p.SessionID + p.Message.ContextID, references: p.Message.ReferenceTaskIDs}
	for _, part := range append(p.Message.Parts, p.Message.Content...) {
		a.text += part.Text
	}
	return a
}

func (s *responder) readREST(body []byte) agentRequest {
	path, ok := strings.CutPrefix(s.r.URL.Path, s.prefix)
	if !ok {
		s.t.Errorf("request to %s", s.r.URL)
	}
	var p params
	_ = json.Unmarshal(body, &p)
	task := strings.TrimPrefix(path, "/tasks/")
	switch {
	case path == "/message:send":
		return p.request("send")
	case path == "/message:stream":
		return p.request("stream")
	case strings.HasSuffix(task, ":cancel"):
		return agentRequest{op: "cancel", task: strings.TrimSuffix(task, ":cancel")}
	case strings.HasSuffix(task, ":subscribe"):
		return agentRequest{op: "subscribe", task: strings.TrimSuffix(task, ":subscribe")}
	default:
		return agentRequest{op: "get", task: task}
	}
}

// requestLog has the requests to an agent.
type requestLog struct {
	mu       sync.Mutex
	requests []agentRequest
}

func (b *requestLog) add(a agentRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = append(b.requests, a)
}

func (b *requestLog) ops() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, a := range b.requests {
		all = append(all, a.op)
	}
	return strings.Join(all, " ")
}

// newRawAgent starts a server with the card of a dialect and h as the handler of /rpc, and
// returns a backend for it.
func newRawAgent(t *testing.T, name string, o upstream.Options, h http.HandlerFunc) *upstream.Backend {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintf(w, agentDialects[name].card, true) })
	mux.HandleFunc("/rpc", func(w http.ResponseWriter, r *http.Request) {
		// A server notices only after it has read the request that its client has
		// disconnected.
		_, _ = io.Copy(io.Discard, r.Body)
		h(w, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	o.URL = server.URL
	b, err := upstream.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// respondsWith returns a handler that responds to each request with the same pieces, and
// flushes each piece.
func respondsWith(contentType string, pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		for _, p := range pieces {
			_, _ = io.WriteString(w, p)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

func rpcEvent(result string) string {
	return `data: {"jsonrpc":"2.0","id":"1","result":` + result + "}\n\n"
}

func statusEvent(task, state string) string {
	return rpcEvent(`{"kind":"status-update","taskId":"` + task + `","contextId":"c","status":{"state":"` + state + `"},"final":false}`)
}

// abort is the panic value with which a handler closes its connection before the end of the
// response.
var abort = http.ErrAbortHandler

// forEachDialect runs a test with an agent of every dialect.
func forEachDialect(t *testing.T, test func(t *testing.T, name string)) {
	t.Helper()
	for name := range agentDialects {
		t.Run(name, func(t *testing.T) { test(t, name) })
	}
}
