// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/events"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

func TestRequest(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	full := newTurn()
	full.Task = &a2a.Task{ID: "t1", ContextID: "c1", Status: a2a.Status{State: a2a.StateInputRequired, Time: at}}
	full.History = []*a2a.Message{{ID: "h1", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("before")}}}
	full.References = []*a2a.Task{
		{ID: "r1", ContextID: "c1", Status: a2a.Status{State: a2a.StateCompleted, Time: at}},
		{ID: "r2", ContextID: "c2", Status: a2a.Status{State: a2a.StateFailed, Time: at}},
	}
	full.AcceptedOutputModes, full.Extensions = []string{"text/plain", "image/png"}, []string{"https://x"}
	full.Metadata, full.Tenant = a2a.Object(`{"k":1}`), `te"nant`
	full.Trace, full.Input = a2a.TraceContext{Parent: "00-1-2-01", State: "v=1", Baggage: "k=%20"}, true
	const message = `"message":{"kind":"message","messageId":"m1","role":"user","taskId":"t1","contextId":"c1","parts":[{"kind":"text","text":"hi"}]}`
	headers := map[string]string{
		"Content-Type": "application/json", "Accept": "text/event-stream, application/x-ndjson, application/json, text/plain",
		"A2A-Task-Id": "t1", "A2A-Context-Id": "c1", "A2A-Principal": "alice", "Traceparent": "", "Tracestate": "", "Baggage": "", "A2A-Turn": "",
	}
	withInput := map[string]string{"Traceparent": "00-1-2-01", "Tracestate": "v=1", "Baggage": "k=%20", "A2A-Turn": "input"}
	tests := map[string]struct {
		turn    *backend.Turn
		body    string
		headers map[string]string
	}{
		"first turn": {newTurn(), `{"taskId":"t1","contextId":"c1",` + message +
			`,"history":[],"referenceTasks":[],"acceptedOutputModes":[],"metadata":{},"extensions":[],"tenant":""}`, headers},
		"everything": {full, `{"taskId":"t1","contextId":"c1",` + message +
			`,"task":{"kind":"task","id":"t1","contextId":"c1","status":{"state":"input-required","timestamp":"2026-01-02T03:04:05.000Z"}}` +
			`,"history":[{"kind":"message","messageId":"h1","role":"agent","parts":[{"kind":"text","text":"before"}]}]` +
			`,"referenceTasks":[{"kind":"task","id":"r1","contextId":"c1","status":{"state":"completed","timestamp":"2026-01-02T03:04:05.000Z"}}` +
			`,{"kind":"task","id":"r2","contextId":"c2","status":{"state":"failed","timestamp":"2026-01-02T03:04:05.000Z"}}]` +
			`,"acceptedOutputModes":["text/plain","image/png"],"metadata":{"k":1},"extensions":["https://x"],"tenant":"te\"nant"}`, withInput},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got *http.Request
			var body []byte
			b := newAgent(t, events.Options{}, func(_ http.ResponseWriter, r *http.Request) {
				got = r
				body, _ = io.ReadAll(r.Body)
			})
			if err := b.Run(t.Context(), tt.turn, (&emitted{}).emit); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.body, string(body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if got.Method != http.MethodPost || got.URL.Path != "/" || got.ContentLength != int64(len(tt.body)) {
				t.Errorf("request line: %s %s, %d bytes", got.Method, got.URL, got.ContentLength)
			}
			for name, want := range tt.headers {
				if h := got.Header.Get(name); h != want {
					t.Errorf("%s = %q, want %q", name, h, want)
				}
			}
		})
	}
}

func TestHistoryIsBounded(t *testing.T) {
	history := func(n, size int) []*a2a.Message {
		var all []*a2a.Message
		for i := range n {
			all = append(all, &a2a.Message{ID: "h" + strconv.Itoa(i) + ".", Parts: []a2a.Part{a2a.TextPart(strings.Repeat("x", size))}})
		}
		return all
	}
	tests := map[string]struct {
		history     []*a2a.Message
		first, last string
		want        int
	}{
		"64 messages": {history(100, 1), "h36.", "h99.", 64},
		"256 KiB":     {history(20, 50<<10), "h15.", "h19.", 5},
		"one too big": {history(1, 300<<10), "", "", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var body string
			b := newAgent(t, events.Options{}, func(_ http.ResponseWriter, r *http.Request) {
				raw, _ := io.ReadAll(r.Body)
				body = string(raw)
			})
			turn := newTurn()
			turn.History = tt.history
			if err := b.Run(t.Context(), turn, (&emitted{}).emit); err != nil {
				t.Fatal(err)
			}
			_, body, _ = strings.Cut(body, `"history":`)
			if got := strings.Count(body, `"messageId"`); got != tt.want || !strings.Contains(body, tt.first) || !strings.Contains(body, tt.last) {
				t.Errorf("%d messages were sent, want %d from %s to %s", got, tt.want, tt.first, tt.last)
			}
		})
	}
}

// TestHeadersEncodeAnyText checks that ids and principals of clients cannot break the
// framing of a header.
func TestHeadersEncodeAnyText(t *testing.T) {
	var got http.Header
	b := newAgent(t, events.Options{}, func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
	turn := newTurn()
	turn.ContextID, turn.Owner = "a\r\nX-Evil: 1", "ällice%"
	turn.Trace = a2a.TraceContext{Parent: "x\x00", State: "v=\n", Baggage: "k=ü"}
	if err := b.Run(t.Context(), turn, (&emitted{}).emit); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"A2A-Context-Id": "a%0D%0AX-Evil:%201", "A2A-Principal": "%C3%A4llice%25", "Traceparent": "x%00", "Tracestate": "", "Baggage": "", "X-Evil": ""}
	for name, want := range want {
		if h := got.Get(name); h != want {
			t.Errorf("%s = %q, want %q", name, h, want)
		}
	}
}

func TestErrorStatus(t *testing.T) {
	const secret = "secret of the agent"
	tests := map[int]string{
		200: "whole", 299: "whole",
		400: "rejected: The agent rejected the message: 400 Bad Request",
		409: "rejected: The agent rejected the message: 409 Conflict",
		413: "rejected: The agent rejected the message: 413 Request Entity Too Large",
		415: "rejected: The agent rejected the message: 415 Unsupported Media Type",
		422: "rejected: The agent rejected the message: 422 Unprocessable Entity",
		301: "failed: The agent answered 301 Moved Permanently",
		307: "failed: The agent answered 307 Temporary Redirect",
		401: "failed: The agent answered 401 Unauthorized",
		404: "failed: The agent answered 404 Not Found",
		500: "failed: The agent answered 500 Internal Server Error",
		502: "failed: The agent answered 502 Bad Gateway",
		599: "failed: The agent answered 599",
	}
	for status, want := range tests {
		var calls atomic.Int32
		b := newAgent(t, events.Options{}, func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			if status > 299 {
				_, _ = io.WriteString(w, secret)
			}
		})
		output, got := run(t, b)
		if got != want || output != "" || calls.Load() != 1 {
			t.Errorf("%d: Run() = %q, %q after %d calls, want %q", status, output, got, calls.Load(), want)
		}
	}
}

func TestBusyAgentIsRetried(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		var calls atomic.Int32
		b := newAgent(t, events.Options{}, func(w http.ResponseWriter, r *http.Request) {
			if calls.Add(1) < 3 {
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(status)
				return
			}
			respondsWith("text/plain", "hi")(w, r)
		})
		if output, outcome := run(t, b); output != "turn-1=hi/last" || outcome != "whole" {
			t.Errorf("%d: Run() = %q, %q", status, output, outcome)
		}
	}
}

// TestBusyAgentIsRetriedWithBackoff checks that Retry-After: 0 does not lead to a busy
// loop.
func TestBusyAgentIsRetriedWithBackoff(t *testing.T) {
	for _, after := range []string{"0", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)} {
		var calls atomic.Int32
		b := newAgent(t, events.Options{Limits: stream.Limits{FirstEvent: 400 * time.Millisecond}}, func(w http.ResponseWriter, _ *http.Request) {
			calls.Add(1)
			w.Header().Set("Retry-After", after)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		// On a slow machine, the limit may be exceeded during a call.
		_, outcome := run(t, b)
		ended := outcome == "failed: The agent is too busy: 503 Service Unavailable" || outcome == "failed: The agent did not answer within 400ms"
		if !ended || calls.Load() < 2 || calls.Load() > 5 {
			t.Errorf("Run() = %q after %d calls", outcome, calls.Load())
		}
	}
}

func TestRetriesEndWithTheFirstEventLimit(t *testing.T) {
	for _, after := range []string{"121", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)} {
		var calls atomic.Int32
		b := newAgent(t, events.Options{}, func(w http.ResponseWriter, _ *http.Request) {
			calls.Add(1)
			w.Header().Set("Retry-After", after)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		if _, outcome := run(t, b); outcome != "failed: The agent is too busy: 503 Service Unavailable" || calls.Load() != 1 {
			t.Errorf("Run() = %q after %d calls", outcome, calls.Load())
		}
	}
}

func TestLateListenerIsReached(t *testing.T) {
	server := httptest.NewUnstartedServer(respondsWith("text/plain", "hi"))
	address := server.Listener.Addr().String()
	_ = server.Listener.Close()
	b := newBackend(t, events.Options{URL: "http://" + address})
	started := time.AfterFunc(100*time.Millisecond, func() {
		late := httptest.NewUnstartedServer(server.Config.Handler)
		_ = late.Listener.Close()
		l, err := listen(t, address)
		if err != nil {
			t.Error(err)
			return
		}
		late.Listener = l
		late.Start()
		t.Cleanup(late.Close)
	})
	defer started.Stop()
	if output, outcome := run(t, b); output != "turn-1=hi/last" || outcome != "whole" {
		t.Errorf("Run() = %q, %q", output, outcome)
	}
}

func TestUnreachableAgent(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	b := newBackend(t, events.Options{URL: server.URL, Limits: stream.Limits{Connect: 100 * time.Millisecond}})
	if _, outcome := run(t, b); outcome != "failed: The agent could not be reached within 100ms: connection refused" {
		t.Errorf("Run() = %q", outcome)
	}
}

// TestRequestWithALostConnectionIsNotRetried checks that no request is sent again that the
// agent may have received.
func TestRequestWithALostConnectionIsNotRetried(t *testing.T) {
	var calls atomic.Int32
	b := newAgent(t, events.Options{}, func(http.ResponseWriter, *http.Request) {
		calls.Add(1)
		panic(http.ErrAbortHandler)
	})
	if _, outcome := run(t, b); outcome != "failed: The connection to the agent broke" || calls.Load() != 1 {
		t.Errorf("Run() = %q after %d calls", outcome, calls.Load())
	}
}

func TestTimeLimits(t *testing.T) {
	stuck := func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	afterOne := func(contentType, first string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			streamsPieces(contentType, first)(w, r)
			<-r.Context().Done()
		}
	}
	alive := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", sse)
		beat := time.NewTicker(5 * time.Millisecond)
		defer beat.Stop()
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, ": alive\n\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-beat.C:
			case <-r.Context().Done():
			}
		}
	}
	// On a busy machine a heartbeat may be late, so the other limits are much longer.
	const short, long = 100 * time.Millisecond, time.Second
	tests := map[string]responseTest{
		"first event":                         {agent: stuck, options: events.Options{Limits: stream.Limits{FirstEvent: short}}, outcome: "failed: The agent did not answer within 100ms"},
		"silence":                             {agent: afterOne("text/plain", "a"), options: events.Options{Limits: stream.Limits{Idle: long}}, want: "turn-1=a", outcome: "failed: The agent was silent for 1s"},
		"turn":                                {agent: alive, options: events.Options{Limits: stream.Limits{Turn: 2 * long, Idle: long}}, outcome: "failed: The agent did not finish within 2s"},
		"no silence while it waits":           {agent: afterOne(ndjson, `{"kind":"status-update","status":{"state":"input-required"}}`+"\n"), options: events.Options{Limits: stream.Limits{Idle: long, Turn: 2 * long}}, want: "status:input-required", outcome: "failed: The agent did not finish within 2s"},
		"silence after it went on":            {agent: afterOne(ndjson, `{"kind":"status-update","status":{"state":"input-required"}}`+"\n"+`{"kind":"status-update","status":{"state":"working"}}`+"\n"), options: events.Options{Limits: stream.Limits{Idle: long}}, want: "status:input-required status:working", outcome: "failed: The agent was silent for 1s"},
		"no more bytes in the middle of JSON": {agent: afterOne("application/json", `{"a":`), options: events.Options{Limits: stream.Limits{Idle: short}}, outcome: "failed: The agent was silent for 100ms"},
		"first event of a busy agent":         {agent: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, options: events.Options{Limits: stream.Limits{FirstEvent: long}}, outcome: "failed: The agent is too busy: 503 Service Unavailable"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, map[string]responseTest{"": tt})
		})
	}
}

func TestCancelClosesTheRequest(t *testing.T) {
	begun, closed := make(chan struct{}), make(chan struct{})
	b := newAgent(t, events.Options{}, func(w http.ResponseWriter, r *http.Request) {
		streamsPieces("text/plain", "a")(w, r)
		close(begun)
		<-r.Context().Done()
		close(closed)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	_ = b.Run(ctx, newTurn(), (&emitted{}).emit)
	<-closed
}

func TestStatus202AcceptsTheInput(t *testing.T) {
	b := newAgent(t, events.Options{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("A2A-Turn") != "input" {
			t.Errorf("A2A-Turn = %q", r.Header.Get("A2A-Turn"))
		}
		w.WriteHeader(http.StatusAccepted)
	})
	input := newTurn()
	input.Input = true
	if got := outcomeOf(b.Run(t.Context(), input, (&emitted{}).emit)); got != "taken" {
		t.Errorf("Run() = %s, want taken", got)
	}
}

func TestConnectionsAreReused(t *testing.T) {
	tests := map[string]http.HandlerFunc{
		"text":                          respondsWith("text/plain", "hi"),
		"streamed text":                 streamsPieces("text/plain", "a", "b"),
		"lines with a final event":      streamsPieces(ndjson, `{"kind":"status-update","status":{"state":"completed"}}`+"\n"),
		"lines with more after the end": streamsPieces(ndjson, `{"kind":"status-update","status":{"state":"completed"}}`+"\n", `{"text":"x"}`+"\n"),
		"refusal":                       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	}
	for name, h := range tests {
		t.Run(name, func(t *testing.T) {
			remotes := map[string]bool{}
			b := newAgent(t, events.Options{}, func(w http.ResponseWriter, r *http.Request) {
				remotes[r.RemoteAddr] = true
				h(w, r)
			})
			for range 3 {
				run(t, b)
			}
			if len(remotes) != 1 {
				t.Errorf("%d connections for 3 turns, want 1", len(remotes))
			}
		})
	}
}

func TestURL(t *testing.T) {
	for _, u := range []string{"", "127.0.0.1:8080", "ftp://x", "http://", "http://[", "/path"} {
		if _, err := events.New(events.Options{URL: u}); err == nil {
			t.Errorf("New(%q) error = nil", u)
		}
	}
}
