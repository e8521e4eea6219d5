// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/test/spec"
)

const (
	submitted01 = `{"id":"t1","status":{"state":"submitted",` + now03 + `},"final":false}`
	working01   = `{"id":"t1","status":{"state":"working",` + now03 + `},"final":false}`
	artifact01  = `{"id":"t1","artifact":{"index":0,"parts":[{"type":"text","text":"Hi"}],"append":false,"lastChunk":true}}`
	completed01 = `{"id":"t1","status":{"state":"completed",` + now03 + `},"final":true}`
	input01     = `{"id":"t1","status":{"state":"input-required",` + now03 + `},"final":true}`
	waiting01   = `{"id":"t1","status":{"state":"input-required",` + now03 + `},"final":false}`
)

// withArtifact returns a snapshot of a task that already has an artifact.
func withArtifact(seq uint64, state a2a.State) *a2a.Record {
	r := snapshot(seq, state)
	r.Task.Artifacts = []a2a.Artifact{{ID: "a1", Parts: []a2a.Part{a2a.TextPart("Hi")}}}
	r.Task.Dialect = a2a.DialectV01
	return r
}

// TestWire04_StreamsOf01 reads streams like a client of 0.1 that splits them at empty lines
// and accepts only blocks that begin with data.
func TestWire04_StreamsOf01(t *testing.T) {
	tests := map[string]struct {
		method  string
		records []*a2a.Record
		want    []string
	}{
		"a message": {
			"tasks/sendSubscribe",
			[]*a2a.Record{snapshot(1, a2a.StateSubmitted), artifact(2, "Hi"), status(3, a2a.StateCompleted)},
			[]string{submitted01, artifact01, completed01},
		},
		"a message to a task with an artifact": {
			"tasks/sendSubscribe",
			[]*a2a.Record{withArtifact(7, a2a.StateWorking), status(8, a2a.StateCompleted)},
			[]string{working01, completed01},
		},
		"an answer without a task": {
			"tasks/sendSubscribe",
			[]*a2a.Record{{Event: a2a.Event{Message: &a2a.Message{TaskID: "t1", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("Hi")}}}}},
			[]string{`{"id":"t1","status":{"state":"completed","message":{"role":"agent","parts":[{"type":"text","text":"Hi"}]}},"final":true}`},
		},
		"input": {
			"tasks/sendSubscribe",
			[]*a2a.Record{snapshot(1, a2a.StateSubmitted), status(2, a2a.StateInputRequired), status(3, a2a.StateCompleted)},
			[]string{submitted01, input01},
		},
		"authentication": {
			"tasks/sendSubscribe",
			[]*a2a.Record{snapshot(1, a2a.StateSubmitted), status(2, a2a.StateAuthRequired), status(3, a2a.StateCompleted)},
			[]string{submitted01, waiting01, completed01},
		},
		"subscribed": {
			"tasks/resubscribe",
			[]*a2a.Record{withArtifact(7, a2a.StateWorking), status(8, a2a.StateCompleted)},
			[]string{working01, artifact01, completed01},
		},
		"subscribed to a task that waits": {
			"tasks/resubscribe",
			[]*a2a.Record{withArtifact(7, a2a.StateInputRequired), status(8, a2a.StateCompleted)},
			[]string{waiting01, artifact01, completed01},
		},
		"subscribed to a task that has ended": {
			"tasks/resubscribe",
			[]*a2a.Record{withArtifact(9, a2a.StateCompleted)},
			[]string{completed01},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			x := newFixture(&fake{Records: test.records})
			x.Streams.KeepAlive = time.Nanosecond // would send comments between all events
			w := x.post(t, call10(test.method, paramsOf(test.method)))
			if got := w.Header().Get("Content-Type"); got != "text/event-stream" {
				t.Errorf("Content-Type = %q", got)
			}
			var got []string
			text, ended := strings.CutSuffix(w.Body.String(), "\n\n")
			if !ended {
				t.Fatalf("stream does not end with an empty line: %q", w.Body)
			}
			for block := range strings.SplitSeq(text, "\n\n") {
				data, ok := strings.CutPrefix(block, "data: ")
				if !ok || strings.Contains(data, "\n") {
					t.Fatalf("block %q cannot be read", block)
				}
				got = append(got, string(resultOf(t, []byte(data))))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			for _, event := range got {
				definition := "TaskStatusUpdateEvent"
				if strings.Contains(event, `"artifact"`) {
					definition = "TaskArtifactUpdateEvent"
				}
				if err := spec.Validate("v0.1.0", definition, []byte(event)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestRequestsOf01 checks that requests of 0.1 reach the handler as the equivalent requests
// of the domain.
func TestRequestsOf01(t *testing.T) {
	x := newFixture(complete())
	x.RestartV01 = func() bool { return true }
	x.card.Capabilities.PushNotifications = true
	x.post(t, call10("tasks/send", `{"id":"t1","sessionId":"c1","message":{"role":"user","parts":[{"type":"text","text":"Hello"}],"metadata":{"a":1}},
		"acceptedOutputModes":["text"],"historyLength":3,"metadata":{"b":2},"pushNotification":{"url":"https://x.example/","token":"t"}}`),
		"Traceparent", "00-1-2-3")
	want := &a2a.SendRequest{
		Owner: "alice", Subject: &a2a.Subject{Principal: "alice", Owner: "alice"}, Dialect: a2a.DialectV01, ClientTaskID: true, Restart: true, Trace: a2a.TraceContext{Parent: "00-1-2-3"},
		Message: &a2a.Message{
			TaskID: "t1", ContextID: "c1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("Hello")}, Metadata: a2a.Object(`{"a":1}`),
		},
		AcceptedOutputModes: []string{"text"}, HistoryLength: new(3), Metadata: a2a.Object(`{"b":2}`),
		Push: &a2a.PushConfig{Dialect: a2a.DialectV01, URL: "https://x.example/", Token: "t", Trace: a2a.TraceContext{Parent: "00-1-2-3"}},
	}
	if diff := cmp.Diff(want, x.fake.Last()); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	x.RestartV01 = nil
	x.post(t, call10("tasks/send", hello01))
	if x.fake.Last().(*a2a.SendRequest).Restart {
		t.Error("a task is started again though that is off")
	}
	x.RestartV01 = func() bool { return true }
	for _, method := range []string{"message/send", "SendMessage"} {
		x.post(t, call10(method, paramsOf(method)))
		if r := x.fake.Last().(*a2a.SendRequest); r.Restart || r.ClientTaskID {
			t.Errorf("%s has rights of 0.1", method)
		}
	}
}

// TestErrorsOf01 checks that errors have status 200, and that their data is an object or
// missing.
func TestErrorsOf01(t *testing.T) {
	for _, method := range []string{"tasks/send", "tasks/sendSubscribe", "tasks/get", "tasks/resubscribe"} {
		for _, err := range []error{a2a.TaskNotFound("t1"), a2a.InvalidParams("sessionId", "is not the task's")} {
			w := newFixture(&fake{Err: err}).post(t, call10(method, paramsOf(method)), "A2A-Version", map[bool]string{true: "0.1"}[family(method) == "shared"])
			text := strings.TrimSuffix(strings.TrimPrefix(w.Body.String(), "data: "), "\n\n")
			var response struct {
				Error struct{ Data map[string]any }
			}
			if err := json.Unmarshal([]byte(text), &response); err != nil || w.Code != 200 {
				t.Errorf("%s: %d %s: %v", method, w.Code, text, err)
			}
			if err := spec.Validate("v0.1.0", "JSONRPCResponse", []byte(text)); err != nil {
				t.Errorf("%s: %v", method, err)
			}
		}
	}
}
