// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

const (
	now03 = `"timestamp":"2026-01-01T00:00:00.000Z"`

	task03      = `{"kind":"task","id":"t1","contextId":"c1","status":{"state":"STATE",` + now03 + `}}`
	artifact03  = `{"kind":"artifact-update","taskId":"t1","contextId":"c1","artifact":{"artifactId":"a1","parts":[{"kind":"text","text":"Hi"}]},"append":false,"lastChunk":true}`
	completed03 = `{"kind":"status-update","taskId":"t1","contextId":"c1","status":{"state":"completed",` + now03 + `},"final":true}`
	input03     = `{"kind":"status-update","taskId":"t1","contextId":"c1","status":{"state":"input-required",` + now03 + `},"final":true}`
	auth03      = `{"kind":"status-update","taskId":"t1","contextId":"c1","status":{"state":"auth-required",` + now03 + `},"final":false}`

	task10      = `{"task":{"id":"t1","contextId":"c1","status":{"state":"STATE",` + now03 + `}}}`
	artifact10  = `{"artifactUpdate":{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"a1","parts":[{"text":"Hi"}]},"lastChunk":true}}`
	completed10 = `{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED",` + now03 + `}}}`
	input10     = `{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_INPUT_REQUIRED",` + now03 + `}}}`
)

func frame(id, result string) string {
	if id != "" {
		id = "id: " + id + "\n"
	}
	return id + `data: {"jsonrpc":"2.0","id":1,"result":` + result + "}\n\n"
}

func in(template, state string) string { return strings.Replace(template, "STATE", state, 1) }

func TestWire12_Streams(t *testing.T) {
	tests := map[string]struct {
		method  string
		records []*a2a.Record
		err     error
		want    string
	}{
		"0.3 send": {
			"message/stream",
			[]*a2a.Record{snapshot(1, a2a.StateSubmitted), artifact(2, "Hi"), status(3, a2a.StateCompleted)},
			nil,
			frame("1", in(task03, "submitted")) + frame("2", artifact03) + frame("3", completed03),
		},
		"1.0 send": {
			"SendStreamingMessage",
			[]*a2a.Record{snapshot(1, a2a.StateSubmitted), artifact(2, "Hi"), status(3, a2a.StateCompleted)},
			nil,
			frame("1", in(task10, "TASK_STATE_SUBMITTED")) + frame("2", artifact10) + frame("3", completed10),
		},
		"0.3 a message": {
			"message/stream",
			[]*a2a.Record{{Event: a2a.Event{Message: &a2a.Message{ID: "m", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("Hi")}}}}},
			nil,
			frame("", `{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"Hi"}]}`),
		},
		"0.3 closes on input": {
			"tasks/resubscribe",
			[]*a2a.Record{snapshot(1, a2a.StateWorking), status(2, a2a.StateInputRequired), status(3, a2a.StateCompleted)},
			nil,
			frame("1", in(task03, "working")) + frame("2", input03),
		},
		"0.3 stays open on authentication": {
			"message/stream",
			[]*a2a.Record{snapshot(1, a2a.StateWorking), status(2, a2a.StateAuthRequired), status(3, a2a.StateCompleted)},
			nil,
			frame("1", in(task03, "working")) + frame("2", auth03) + frame("3", completed03),
		},
		"1.0 send closes on input": {
			"SendStreamingMessage",
			[]*a2a.Record{snapshot(1, a2a.StateWorking), status(2, a2a.StateInputRequired), status(3, a2a.StateCompleted)},
			nil,
			frame("1", in(task10, "TASK_STATE_WORKING")) + frame("2", input10),
		},
		"1.0 subscribe stays open on input": {
			"SubscribeToTask",
			[]*a2a.Record{snapshot(1, a2a.StateWorking), status(2, a2a.StateInputRequired), status(3, a2a.StateCompleted)},
			nil,
			frame("1", in(task10, "TASK_STATE_WORKING")) + frame("2", input10) + frame("3", completed10),
		},
		"0.3 terminal subscribe": {
			"tasks/resubscribe",
			[]*a2a.Record{snapshot(9, a2a.StateCompleted)},
			nil,
			frame("9", in(task03, "completed")) + frame("", completed03),
		},
		"draining": {
			"message/stream",
			[]*a2a.Record{snapshot(1, a2a.StateWorking)},
			a2a.ErrDraining,
			frame("1", in(task03, "working")),
		},
		"too slow": {
			"SendStreamingMessage",
			[]*a2a.Record{snapshot(1, a2a.StateWorking)},
			a2a.ErrSlowSubscriber,
			frame("1", in(task10, "TASK_STATE_WORKING")),
		},
		"a failure in the middle": {
			"message/stream",
			[]*a2a.Record{snapshot(1, a2a.StateWorking)},
			errors.New("secret"),
			frame("1", in(task03, "working")) + `data: {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}` + "\n\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			params := map[string]string{"message/stream": hello03, "SendStreamingMessage": hello10}[test.method]
			if params == "" {
				params = `{"id":"t1"}`
			}
			w := newFixture(&fake{Records: test.records, StreamErr: test.err}).post(t, call10(test.method, params))
			for header, want := range map[string]string{
				"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no", "Content-Length": "",
			} {
				if got := w.Header().Get(header); got != want {
					t.Errorf("%s = %q, want %q", header, got, want)
				}
			}
			if diff := cmp.Diff(test.want, w.Body.String()); diff != "" {
				t.Errorf("stream (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWire14_AuthenticationKeepsStreams checks that auth-required ends no stream in any
// version, because the client authenticates outside of the stream.
func TestWire14_AuthenticationKeepsStreams(t *testing.T) {
	for _, method := range []string{
		"tasks/sendSubscribe", "tasks/resubscribe", "message/stream", "SendStreamingMessage", "SubscribeToTask",
	} {
		w := newFixture(&fake{Records: []*a2a.Record{
			snapshot(1, a2a.StateWorking), status(2, a2a.StateAuthRequired), status(3, a2a.StateCompleted),
		}}).post(t, call10(method, paramsOf(method)))
		events := strings.Count(w.Body.String(), "data: ")
		if events != 3 || !strings.Contains(strings.ToLower(w.Body.String()), `completed"`) {
			t.Errorf("%s = %s", method, w.Body)
		}
	}
}

func TestErrorsBeforeTheFirstEvent(t *testing.T) {
	const notFound = `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"Task not found"`
	tests := map[string]struct {
		body        string
		fake        *fake
		contentType string
		prefix      string
		accept      string
	}{
		"1.0 to a client that asks for a stream": {
			body: call10("SubscribeToTask", `{"id":"t1"}`), fake: &fake{Err: a2a.TaskNotFound("t1")}, accept: "text/event-stream",
			contentType: "text/event-stream", prefix: "data: " + notFound,
		},
		"0.3": {
			body: call10("tasks/resubscribe", `{"id":"t1"}`), fake: &fake{Err: a2a.TaskNotFound("t1")}, contentType: "text/event-stream", prefix: "data: " + notFound + "}}\n\n",
		},
		"0.3 from the stream": {
			body: call10("message/stream", hello03), fake: &fake{StreamErr: a2a.TaskNotFound("t1")}, contentType: "text/event-stream", prefix: "data: " + notFound + "}}\n\n",
		},
		"0.3 params": {
			body: call10("message/stream", `{}`), fake: &fake{}, contentType: "text/event-stream", prefix: `data: {"jsonrpc":"2.0","id":1,"error":{"code":-32602,`,
		},
		"0.3 draining": {
			body: call10("message/stream", hello03), fake: &fake{Err: a2a.ErrDraining}, contentType: "application/json", prefix: `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,`,
		},
		"1.0": {
			body: call10("SubscribeToTask", `{"id":"t1"}`), fake: &fake{Err: a2a.TaskNotFound("t1")}, contentType: "application/json", prefix: notFound,
		},
		"1.0 terminal subscribe": {
			body: call10("SubscribeToTask", `{"id":"t1"}`), fake: &fake{Records: []*a2a.Record{snapshot(9, a2a.StateFailed)}}, contentType: "application/json",
			prefix: `{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"Task is in a terminal state"`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newFixture(test.fake).post(t, test.body, "Accept", test.accept)
			if got := w.Header().Get("Content-Type"); got != test.contentType {
				t.Errorf("Content-Type = %q, want %q", got, test.contentType)
			}
			if !strings.HasPrefix(w.Body.String(), test.prefix) {
				t.Errorf("body = %s, want %s", w.Body, test.prefix)
			}
		})
	}
}

// TestErrorIsTheSameInAStreamAndAnAnswer checks that a client reads the same error of
// JSON-RPC from a stream that has begun and from an answer, in every version.
func TestErrorIsTheSameInAStreamAndAnAnswer(t *testing.T) {
	const details = `"data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAVAILABLE","domain":"a2a-protocol.org"}]`
	down := fmt.Errorf("read log: %w", &a2a.Error{Reason: a2a.ReasonUnavailable, Message: "The task store is not available"})
	for name, test := range map[string]struct{ stream, answer, data string }{
		"0.1": {"tasks/sendSubscribe", "tasks/send", `"data":{"reason":"UNAVAILABLE"}`},
		"0.3": {"message/stream", "message/send", `"data":{"reason":"UNAVAILABLE"}`},
		"1.0": {"SendStreamingMessage", "SendMessage", details},
	} {
		t.Run(name, func(t *testing.T) {
			want := `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"The task store is not available",` + test.data + `}}`
			x := newFixture(&fake{Err: down})
			if w := x.post(t, call10(test.answer, paramsOf(test.answer))); w.Code != http.StatusServiceUnavailable || w.Body.String() != want {
				t.Errorf("%s = %d %s, want 503 %s", test.answer, w.Code, w.Body, want)
			}
			x = newFixture(&fake{Records: []*a2a.Record{snapshot(1, a2a.StateWorking)}, StreamErr: down})
			if w := x.post(t, call10(test.stream, paramsOf(test.stream))); !strings.HasSuffix(w.Body.String(), "data: "+want+"\n\n") {
				t.Errorf("%s = %s, want its last event to be %s", test.stream, w.Body, want)
			}
		})
	}
}
