// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/upstream"
	"github.com/a2a-operator/a2a-operator/test/freeport"
)

// abort breaks a connection.
var abort = http.ErrAbortHandler

func TestFaults(t *testing.T) {
	tests := map[int]string{
		-32001: "failed: The agent does not know the task any more; it may have been restarted",
		-32004: "failed: The agent does not support this, or its task has ended",
		-32005: "rejected: The agent does not accept content of this type",
		-32603: "failed: The agent answered with an error",
	}
	only := map[int]string{
		-32600: "rejected: The agent rejected the message as invalid",
		-32602: "rejected: The agent rejected the message as invalid",
		-32700: "rejected: The agent rejected the message as invalid",
		-32008: "rejected: The agent requires an extension that the client did not ask for",
		-32002: "failed: The agent answered with an error",
		-31401: "failed: The agent requires credentials; the sidecar authenticates callers and has no credential for the agent",
		-1:     "failed: The agent answered with an error",
	}
	each(t, func(t *testing.T, name string) {
		for _, streaming := range []bool{false, true} {
			check := func(code int, want string) {
				b, _ := agent(t, name, streaming, upstream.Options{}, func(s *said, _ asked) { s.fails(code) })
				if strings.HasSuffix(name, "HTTP+JSON") && code == -32603 {
					want = "rejected: The agent rejected the message: 400 Bad Request"
				}
				if _, outcome := run(t, b, turn()); outcome != want {
					t.Errorf("%d: Run() = %s, want %s", code, outcome, want)
				}
			}
			for code, want := range tests {
				check(code, want)
			}
			if !strings.HasSuffix(name, "HTTP+JSON") {
				for code, want := range only {
					check(code, want)
				}
			}
		}
	})
}

// raw serves a card of a version and, at /rpc, whatever the test wants.
func raw(t *testing.T, name string, o upstream.Options, h http.HandlerFunc) *upstream.Backend {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintf(w, tongues[name].card, true) })
	mux.HandleFunc("/rpc", func(w http.ResponseWriter, r *http.Request) {
		// A server sees that its client has gone once it has read the request.
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

// frames is an agent that answers every call with the same stream.
func frames(contentType string, pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		for _, p := range pieces {
			_, _ = io.WriteString(w, p)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

func frame(result string) string {
	return `data: {"jsonrpc":"2.0","id":"1","result":` + result + "}\n\n"
}

func update(task, state string) string {
	return frame(`{"kind":"status-update","taskId":"` + task + `","contextId":"c","status":{"state":"` + state + `"},"final":false}`)
}

func TestMisbehaviour(t *testing.T) {
	const sse = "text/event-stream"
	stuck := func(pieces ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			frames(sse, pieces...)(w, r)
			<-r.Context().Done()
		}
	}
	tests := map[string]struct {
		agent         http.HandlerFunc
		said, outcome string
	}{
		"events of another task": {frames(sse, update("a", "working"), update("b", "completed")), "working", "failed: The agent's event in line 3 belongs to another task"},
		"wrong id":               {frames(sse, strings.Replace(update("a", "working"), `"1"`, `"2"`, 1)), "", "failed: The agent's event in line 1 belongs to another request"},
		"id of another type":     {frames(sse, strings.Replace(update("a", "working"), `"1"`, `1`, 1)), "", "failed: The agent's event in line 1 belongs to another request"},
		"two terminal events":    {frames(sse, update("a", "completed"), update("a", "failed")), "completed", "ended"},
		"two terminal events at once": {
			frames(sse, update("a", "completed")+update("a", "failed")+update("b", "working")), "completed", "ended",
		},
		"error after events": {frames(sse, update("a", "working"), `data: {"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"secret"}}`+"\n\n"), "working", "failed: The agent answered with an error"},
		"unknown kind": {
			frames(sse, update("a", "working"), frame(`{"kind":"later","x":1}`), update("a", "completed")), "working",
			`failed: The agent's event in line 3 is not A2A: kind is not one of task, message, status-update, artifact-update; received: {"kind":"later","x":1}`,
		},
		"CRLF, comments and retry": {frames(sse, ": hi\r\n\r\nretry: 1\r\nid: 7\r\n", strings.ReplaceAll(update("a", "completed"), "\n", "\r\n")), "completed", "ended"},
		"a line of blanks":         {frames(sse, update("a", "working"), " \t\n", update("a", "failed")), "working failed", "ended"},
		"JSON with the end of a task in place of a stream": {
			frames("application/json", strings.TrimPrefix(update("a", "completed"), "data: ")), "completed", "ended",
		},
		"no event":                 {frames(sse, ": hi\n\n"), "", "failed: The agent's answer names no task"},
		"no JSON":                  {frames(sse, "data: oops\n\n"), "", "failed: The agent's event in line 1 is not JSON: Invalid JSON payload at byte 0; received: oops"},
		"no field":                 {frames(sse, update("a", "working"), "dota: x\n\n"), "working", "failed: The agent's answer has in line 3 no field of an event stream (data, event, id, retry); received: dota: x"},
		"no A2A":                   {frames(sse, frame(`{"kind":"status-update","status":7}`)), "", "failed: The agent's event in line 1 is not A2A: status: must be an object; received: {\"kind\":\"status-update\",\"status\":7}"},
		"duplicate names":          {frames(sse, `data: {"result":{},"result":{}}`+"\n\n"), "", "failed: The agent's event in line 1 is not JSON: Invalid JSON payload at byte 13; received: {\"result\":{},\"result\":{}}"},
		"neither result nor error": {frames(sse, `data: {"jsonrpc":"2.0","id":"1"}`+"\n\n"), "", "failed: The agent's event in line 1 is not A2A: result: is required; received: {\"jsonrpc\":\"2.0\",\"id\":\"1\"}"},
		"a page":                   {frames("text/html", "<html>"), "", "failed: The agent's answer is not JSON: Invalid JSON payload at byte 0; received: <html>"},
		"compressed":               {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Encoding", "gzip") }, "", "failed: The agent's answer is compressed, which the sidecar did not accept"},
		"huge line":                {frames(sse, "data: ", strings.Repeat("x", 40<<10)), "", "failed: The agent's event in line 1 exceeds 10240 bytes"},
		"huge event of many lines": {frames(sse, strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 20)), "", "failed: The agent's event in line 1 exceeds 10240 bytes"},
		"huge answer":              {frames("application/json", strings.Repeat(" ", 40<<10)), "", "failed: The agent's answer exceeds 10240 bytes; only text and events may be longer"},
		"slowloris":                {stuck("data: {"), "", "failed: The agent was silent for 500ms"},
		"never answers":            {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "", "failed: The agent did not answer within 300ms"},
		"silence":                  {stuck(update("a", "working")), "working", "failed: The agent was silent for 500ms"},
		"breaks before it answers": {func(http.ResponseWriter, *http.Request) { panic(abort) }, "", "failed: The connection to the agent broke"},
		"unauthorized":             {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "", "failed: The agent answered 401 Unauthorized"},
		"error with a status": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"id":"1","error":{"code":-32005}}`, http.StatusBadRequest)
		}, "", "rejected: The agent does not accept content of this type"},
		"moved": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, "", "failed: The agent answered 307 Temporary Redirect"},
	}
	// Who has to be in time only for the limit that ends it: a machine that is busy
	// may hold back what any other agent says.
	limits := map[string]stream.Limits{
		"slowloris":     {Idle: 500 * time.Millisecond},
		"silence":       {Idle: 500 * time.Millisecond},
		"never answers": {FirstEvent: 300 * time.Millisecond},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			limits := limits[name]
			limits.MaxEvent = 10 << 10
			b := raw(t, "0.3", upstream.Options{Limits: limits}, tt.agent)
			h, outcome := run(t, b, turn())
			if got := h.String(); got != tt.said || outcome != tt.outcome {
				t.Errorf("Run() = %q, %s\nwant %q, %s", got, outcome, tt.said, tt.outcome)
			}
		})
	}
}

// A card that promises to stream does not make an agent do so.
func TestCardThatLies(t *testing.T) {
	for _, code := range []int{-32601, -32004} {
		b, calls := agent(t, "0.3", true, upstream.Options{}, func(s *said, a asked) {
			if a.op == "stream" {
				s.fails(code)
				return
			}
			s.answers(whole(task(a2a.StateCompleted)))
		})
		for range 2 {
			if _, outcome := run(t, b, turn()); outcome != "ended" {
				t.Errorf("Run() = %s", outcome)
			}
		}
		if calls.ops() != "stream send send" {
			t.Errorf("the agent was asked to %s", calls.ops())
		}
	}
}

func TestVersionThatTheCardPromises(t *testing.T) {
	b, _ := agent(t, "1.0", false, upstream.Options{}, func(s *said, _ asked) { s.fails(-32009) })
	if _, outcome := run(t, b, turn()); outcome != "failed: The agent does not speak A2A 1.0 over JSONRPC, which its card offers" {
		t.Errorf("Run() = %s", outcome)
	}
}

func TestCards(t *testing.T) {
	const fine = `{"url":"/rpc","protocolVersion":"0.3.0","capabilities":{}}`
	hello := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":{"kind":"message","parts":[{"kind":"text","text":"Hello"}]}}`)
	}
	text := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
	}
	const cure = "; set backend.a2a.cardPath and backend.a2a.query to where the card is, or backend.a2a.version to use no card"
	const none = "failed: The agent serves no card at /.well-known/agent-card.json or /.well-known/agent.json, which names its version of A2A" + cure
	const nothing = "failed: The agent's card offers no version of A2A that the sidecar speaks (0.1 to 1.0, over JSON-RPC or HTTP+JSON)"
	tests := map[string]struct {
		path string
		mux  map[string]http.HandlerFunc
		want string
	}{
		"none":             {mux: map[string]http.HandlerFunc{"/rpc": hello}, want: none},
		"at the old place": {mux: map[string]http.HandlerFunc{"/.well-known/agent.json": text(fine), "/rpc": hello}, want: "ended"},
		"below the path":   {path: "/a/b", mux: map[string]http.HandlerFunc{"/a/b/.well-known/agent-card.json": text(fine), "/a/b": hello}, want: "ended"},
		"at the root":      {path: "/a/b", mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(fine), "/a/b": hello}, want: "ended"},
		"without a path":   {mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(`{"url":"http://0.0.0.0:9","protocolVersion":"0.3.0"}`), "/": hello}, want: "ended"},
		"64 MB": {
			mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": func(w http.ResponseWriter, _ *http.Request) {
				spaces := strings.Repeat(" ", 1<<20)
				for range 64 {
					if _, err := io.WriteString(w, spaces); err != nil {
						return
					}
				}
			}}, want: "failed: The agent's card exceeds 1048576 bytes",
		},
		"half":            {mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(`{"url":`)}, want: "failed: The agent's card is not JSON: Invalid JSON payload at byte 7"},
		"trailing bytes":  {mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(fine + "x")}, want: "failed: The agent's card is not JSON: data after the end of the JSON value"},
		"duplicate names": {mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(`{"url":"a","url":"b"}`)}, want: "failed: The agent's card is not JSON: Invalid JSON payload at byte 11"},
		"wrong types":     {mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(`{"url":7}`)}, want: "failed: The agent's card is not one: url: must be a string"},
		"deep":            {mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(strings.Repeat("[", 100))}, want: "failed: The agent's card is not JSON: JSON is nested deeper than 64 levels"},
		"too many": {
			mux:  map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(`{"supportedInterfaces":[` + strings.Repeat("{},", 64) + `{}]}`)},
			want: "failed: The agent's card is not one: supportedInterfaces[64]: exceeds the limit of 64 elements",
		},
		"no interface":  {mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(`{}`)}, want: "failed: The agent's card names no interface: it has neither url nor supportedInterfaces"},
		"gRPC only":     {mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(`{"url":"x:1","preferredTransport":"GRPC","protocolVersion":"0.3.0"}`)}, want: "failed: The agent's card offers gRPC only; the sidecar calls agents over JSON-RPC or HTTP+JSON"},
		"later version": {mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(`{"supportedInterfaces":[{"url":"x","protocolBinding":"JSONRPC","protocolVersion":"2.0"}]}`)}, want: nothing},
		"odd version":   {mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(`{"url":"x","protocolVersion":"new"}`)}, want: nothing},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			for path, h := range tt.mux {
				if path == "/" {
					path = "/{$}"
				}
				mux.HandleFunc(path, h)
			}
			server := httptest.NewServer(mux)
			defer server.Close()
			b, err := upstream.New(upstream.Options{URL: server.URL + tt.path})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if _, outcome := run(t, b, turn()); outcome != tt.want && !strings.HasPrefix(outcome, tt.want+"; received: ") {
				t.Errorf("Run() = %s\nwant %s", outcome, tt.want)
			}
		})
	}
}

// A card without a version is one of 0.2, or of 0.1 if the agent does not know
// the methods of 0.2.
func TestCardWithoutAVersion(t *testing.T) {
	var methods []string
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/agent.json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"name":"x","url":"http://localhost:10000/","version":"1","capabilities":{},"skills":[]}`)
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		method := strings.Split(string(body), `"`)[11]
		methods = append(methods, method)
		if method != "tasks/send" {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","error":{"code":-32601}}`)
			return
		}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":{"id":"`+strings.Split(string(body), `"`)[17]+`","status":{"state":"completed"}},"error":null}`)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	b, err := upstream.New(upstream.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for range 2 {
		if h, outcome := run(t, b, turn()); outcome != "ended" {
			t.Errorf("Run() = %s, %s", h, outcome)
		}
	}
	if got := strings.Join(methods, " "); got != "message/send tasks/send tasks/send" {
		t.Errorf("the agent was asked %s", got)
	}
}

// A container that was replaced by one of another version is understood again.
func TestCardIsReadAgain(t *testing.T) {
	var version atomic.Value
	version.Store("0.3")
	var cards atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) {
		cards.Add(1)
		_, _ = fmt.Fprintf(w, `{"supportedInterfaces":[{"url":"/","protocolBinding":"JSONRPC","protocolVersion":%q}]}`, version.Load())
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		now := "0.3"
		if strings.Contains(string(body), "SendMessage") {
			now = "1.0"
		}
		switch {
		case now != version.Load():
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","error":{"code":-32601}}`)
		case now == "1.0":
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"new"}]}}}`)
		default:
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"old"}]}}`)
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	b, err := upstream.New(upstream.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, want := range []string{"message:old", "message:old"} {
		if h, outcome := run(t, b, turn()); h.String() != want || outcome != "ended" {
			t.Errorf("Run() = %q, %s, want %q", h, outcome, want)
		}
	}
	version.Store("1.0")
	if h, outcome := run(t, b, turn()); h.String() != "message:new" || outcome != "ended" || cards.Load() != 2 {
		t.Errorf("Run() = %q, %s after %d cards", h, outcome, cards.Load())
	}
}

func TestCardIsNotWaitedForForEver(t *testing.T) {
	b := func() *upstream.Backend {
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		t.Cleanup(server.Close)
		b, err := upstream.New(upstream.Options{URL: server.URL, Limits: stream.Limits{FirstEvent: 50 * time.Millisecond}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return b
	}()
	if _, outcome := run(t, b, turn()); outcome != "failed: The agent did not answer within 50ms" {
		t.Errorf("Run() = %s", outcome)
	}
}

func TestAgentThatIsNotThere(t *testing.T) {
	b, err := upstream.New(upstream.Options{URL: "http://" + freeport.Address(t), Limits: stream.Limits{Connect: 100 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, outcome := run(t, b, turn()); outcome != "failed: The agent could not be reached within 100ms: connection refused" {
		t.Errorf("Run() = %s", outcome)
	}
}
