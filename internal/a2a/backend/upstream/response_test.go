// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/upstream"
	"github.com/a2a-operator/a2a-operator/test/freeport"
)

func TestLaterArtifactReplacesAnEarlierOne(t *testing.T) {
	t.Parallel()
	artifact := func(id, text string) string {
		return rpcEvent(`{"kind":"artifact-update","taskId":"a","artifact":{"artifactId":"` + id + `","parts":[{"kind":"text","text":"` + text + `"}]}}`)
	}
	whole := rpcEvent(`{"kind":"task","id":"a","status":{"state":"completed"},"artifacts":[` +
		`{"artifactId":"x","parts":[{"kind":"text","text":"1"}]},{"artifactId":"x","parts":[{"kind":"text","text":"2"}]},{"artifactId":"y","parts":[{"kind":"text","text":"3"}]}]}`)
	index := func(text string) string {
		return rpcEvent(`{"artifact":{"index":0,"parts":[{"type":"text","text":"` + text + `"}]}}`)
	}
	for name, tt := range map[string]struct{ version, stream, output string }{
		"the later one replaces it": {"0.3", artifact("x", "1") + artifact("x", "2") + statusEvent("a", "completed"), "working =1 =2 completed"},
		"in one task":               {"0.3", whole, "working =2 =3 completed"},
		"the same index in 0.1":     {"0.1", index("1") + index("2") + rpcEvent(`{"status":{"state":"completed"},"final":true}`), "working =1 =2 completed"},
	} {
		b := newRawAgent(t, tt.version, upstream.Options{}, respondsWith("text/event-stream", tt.stream))
		if h, outcome := run(t, b, newTurn()); h.String() != tt.output || outcome != "ended" {
			t.Errorf("%s: Run() = %q, %s, want %q", name, h, outcome, tt.output)
		}
	}
}

// streamsBytes returns a handler that sends an endless stream byte by byte, until its
// client disconnects.
func streamsBytes(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := 0; r.Context().Err() == nil; i++ {
			_, _ = w.Write([]byte{text[i%len(text)]})
			_ = http.NewResponseController(w).Flush()
			ctx, stop := context.WithTimeout(r.Context(), 5*time.Millisecond)
			<-ctx.Done()
			stop()
		}
	}
}

// TestTurnLimitEndsASlowStream tests agents that are never idle, because they send a byte
// from time to time.
func TestTurnLimitEndsASlowStream(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"comments": ": \n\n", "one line": "x"} {
		b := newRawAgent(t, "0.3", upstream.Options{Limits: stream.Limits{Turn: 300 * time.Millisecond}}, streamsBytes("data: {"+text))
		if name == "comments" {
			b = newRawAgent(t, "0.3", upstream.Options{Limits: stream.Limits{Turn: 300 * time.Millisecond}}, streamsBytes(text))
		}
		if h, outcome := run(t, b, newTurn()); h.String() != "" || outcome != "failed: The agent did not finish within 300ms" {
			t.Errorf("%s: Run() = %q, %s", name, h, outcome)
		}
	}
}

// TestLongLineIsReadUpToTheEventLimit tests an agent that sends a line of 64 MB.
func TestLongLineIsReadUpToTheEventLimit(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	b := newRawAgent(t, "0.3", upstream.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: ")
		piece := strings.Repeat("x", 64<<10)
		for range 1024 {
			n, err := io.WriteString(w, piece)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	})
	const limit = 4 << 20
	if _, outcome := run(t, b, newTurn()); outcome != fmt.Sprintf("failed: The agent's event in line 1 exceeds %d bytes", limit) {
		t.Errorf("Run() = %s", outcome)
	}
	if n := sent.Load(); n > 6*limit {
		t.Errorf("the agent could send %d bytes", n)
	}
}

func TestErrorsOfTheAgent(t *testing.T) {
	t.Parallel()
	tests := map[int]string{
		-32001: "failed: The agent no longer has the task; it may have been restarted",
		-32004: "failed: The agent does not support the operation, or its task has ended",
		-32005: "rejected: The agent does not accept content of this type",
		-32603: "failed: The agent answered with an error; the log of its container may have the cause",
	}
	only := map[int]string{
		-32600: "rejected: The agent rejected the message as invalid",
		-32602: "rejected: The agent rejected the message as invalid",
		-32700: "rejected: The agent rejected the message as invalid",
		-32008: "rejected: The agent requires an extension that the client did not ask for",
		-32002: "failed: The agent answered with an error; the log of its container may have the cause",
		-31401: "failed: The agent requires credentials; the sidecar authenticates callers and has no credential for the agent: let the container accept calls without one",
		-31403: "failed: The agent does not allow the call, which the sidecar has allowed; correct the rules of the container, or deny such calls in spec.access.authorization",
		-1:     "failed: The agent answered with an error; the log of its container may have the cause",
	}
	forEachDialect(t, func(t *testing.T, name string) {
		for _, streaming := range []bool{false, true} {
			check := func(code int, want string) {
				b, _ := newAgent(t, name, streaming, upstream.Options{}, func(s *responder, _ agentRequest) { s.respondError(code) })
				if strings.HasSuffix(name, "HTTP+JSON") && code == -32603 {
					want = "rejected: The agent rejected the message: 400 Bad Request"
				}
				if _, outcome := run(t, b, newTurn()); outcome != want {
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

func TestInvalidResponses(t *testing.T) {
	t.Parallel()
	const sse = "text/event-stream"
	stuck := func(pieces ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			respondsWith(sse, pieces...)(w, r)
			<-r.Context().Done()
		}
	}
	tests := map[string]struct {
		agent           http.HandlerFunc
		output, outcome string
	}{
		"events of another task": {respondsWith(sse, statusEvent("a", "working"), statusEvent("b", "completed")), "working", "failed: The agent's event in line 3 belongs to another task"},
		"wrong id":               {respondsWith(sse, strings.Replace(statusEvent("a", "working"), `"1"`, `"2"`, 1)), "", "failed: The agent's event in line 1 belongs to another request"},
		"id of another type":     {respondsWith(sse, strings.Replace(statusEvent("a", "working"), `"1"`, `1`, 1)), "", "failed: The agent's event in line 1 belongs to another request"},
		"two terminal events":    {respondsWith(sse, statusEvent("a", "completed"), statusEvent("a", "failed")), "completed", "ended"},
		"two terminal events at once": {
			respondsWith(sse, statusEvent("a", "completed")+statusEvent("a", "failed")+statusEvent("b", "working")), "completed", "ended",
		},
		"error after events": {respondsWith(sse, statusEvent("a", "working"), `data: {"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"secret"}}`+"\n\n"), "working", "failed: The agent answered with an error; the log of its container may have the cause"},
		"unknown kind": {
			respondsWith(sse, statusEvent("a", "working"), rpcEvent(`{"kind":"later","x":1}`), statusEvent("a", "completed")), "working",
			`failed: The agent's event in line 3 is not A2A: kind is not one of task, message, status-update, artifact-update; received: {"kind":"later","x":1}`,
		},
		"CRLF, comments and retry": {respondsWith(sse, ": hi\r\n\r\nretry: 1\r\nid: 7\r\n", strings.ReplaceAll(statusEvent("a", "completed"), "\n", "\r\n")), "completed", "ended"},
		"a line of blanks":         {respondsWith(sse, statusEvent("a", "working"), " \t\n", statusEvent("a", "failed")), "working failed", "ended"},
		"JSON with the end of a task in place of a stream": {
			respondsWith("application/json", strings.TrimPrefix(statusEvent("a", "completed"), "data: ")), "completed", "ended",
		},
		"no event":                 {respondsWith(sse, ": hi\n\n"), "", "failed: The agent's answer names no task"},
		"no JSON":                  {respondsWith(sse, "data: oops\n\n"), "", "failed: The agent's event in line 1 is not JSON: Invalid JSON payload at byte 0; received: oops"},
		"no field":                 {respondsWith(sse, statusEvent("a", "working"), "dota: x\n\n"), "working", "failed: Line 3 of the agent's answer is not a field of an event stream (data, event, id, retry); received: dota: x"},
		"no A2A":                   {respondsWith(sse, rpcEvent(`{"kind":"status-update","status":7}`)), "", "failed: The agent's event in line 1 is not A2A: status: must be an object; received: {\"kind\":\"status-update\",\"status\":7}"},
		"duplicate names":          {respondsWith(sse, `data: {"result":{},"result":{}}`+"\n\n"), "", "failed: The agent's event in line 1 is not JSON: Invalid JSON payload at byte 13; received: {\"result\":{},\"result\":{}}"},
		"neither result nor error": {respondsWith(sse, `data: {"jsonrpc":"2.0","id":"1"}`+"\n\n"), "", "failed: The agent's event in line 1 is not A2A: result: is required; received: {\"jsonrpc\":\"2.0\",\"id\":\"1\"}"},
		"a page":                   {respondsWith("text/html", "<html>"), "", "failed: The agent's answer is not JSON: Invalid JSON payload at byte 0; received: <html>"},
		"compressed":               {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Encoding", "gzip") }, "", "failed: The agent's answer is compressed, which the sidecar did not accept"},
		"huge line":                {respondsWith(sse, "data: ", strings.Repeat("x", 40<<10)), "", "failed: The agent's event in line 1 exceeds 10240 bytes"},
		"huge event of many lines": {respondsWith(sse, strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 20)), "", "failed: The agent's event in line 1 exceeds 10240 bytes"},
		"huge answer":              {respondsWith("application/json", strings.Repeat(" ", 40<<10)), "", "failed: The agent's answer exceeds 10240 bytes; only text and events may be longer"},
		"slowloris":                {stuck("data: {"), "", "failed: The agent was silent for 500ms"},
		"never answers":            {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "", "failed: The agent did not answer within 300ms"},
		"silence":                  {stuck(statusEvent("a", "working")), "working", "failed: The agent was silent for 500ms"},
		"breaks before it answers": {func(http.ResponseWriter, *http.Request) { panic(abort) }, "", "failed: The connection to the agent broke"},
		"unauthorized":             {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "", "failed: The agent answered 401 Unauthorized"},
		"error with a status": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"id":"1","error":{"code":-32005}}`, http.StatusBadRequest)
		}, "", "rejected: The agent does not accept content of this type"},
		"moved": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, "", "failed: The agent answered 307 Temporary Redirect"},
	}
	// Only these tests have a short limit: on a busy machine, the other responses may be
	// late.
	limits := map[string]stream.Limits{
		"slowloris":     {Idle: 500 * time.Millisecond},
		"silence":       {Idle: 500 * time.Millisecond},
		"never answers": {FirstEvent: 300 * time.Millisecond},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			limits := limits[name]
			limits.MaxEvent = 10 << 10
			b := newRawAgent(t, "0.3", upstream.Options{Limits: limits}, tt.agent)
			h, outcome := run(t, b, newTurn())
			if got := h.String(); got != tt.output || outcome != tt.outcome {
				t.Errorf("Run() = %q, %s\nwant %q, %s", got, outcome, tt.output, tt.outcome)
			}
		})
	}
}

func TestUnreachableAgent(t *testing.T) {
	t.Parallel()
	b, err := upstream.New(upstream.Options{URL: "http://" + freeport.Address(t), Limits: stream.Limits{Connect: 100 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, outcome := run(t, b, newTurn()); outcome != "failed: The agent could not be reached within 100ms: connection refused" {
		t.Errorf("Run() = %s", outcome)
	}
}
