// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v01

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/test/codectest"
	"github.com/a2a-operator/a2a-operator/test/spec"
)

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func status(state a2a.State) a2a.Status { return a2a.Status{State: state, Time: newYear} }

// definition returns the name of the schema definition of an encoded event.
func definition(e *a2a.Event) string {
	if e.Artifact != nil {
		return "TaskArtifactUpdateEvent"
	}
	return "TaskStatusUpdateEvent"
}

func TestWire01_EventsOf01MatchTheirSchema(t *testing.T) {
	for name, event := range codectest.Events() {
		t.Run(name, func(t *testing.T) {
			text := AppendEvent(nil, &event)
			if err := spec.Validate("v0.1.0", definition(&event), text); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		})
	}
	task := codectest.Task()
	if err := spec.Validate("v0.1.0", "Task", AppendTask(nil, task)); err != nil {
		t.Error(err)
	}
	answer := a2a.Event{Message: codectest.Message()}
	if err := spec.Validate("v0.1.0", "Task", AppendAnswer(nil, &answer)); err != nil {
		t.Error(err)
	}
}

func TestAppendEvent(t *testing.T) {
	hi := []a2a.Part{a2a.TextPart("Hi")}
	tests := map[string]struct {
		event a2a.Event
		want  string
	}{
		"a task that was created": {
			event: a2a.Event{Task: &a2a.Task{ID: "t1", ContextID: "c1", Status: status(a2a.StateSubmitted), Artifacts: []a2a.Artifact{{ID: "a"}}}},
			want:  `{"id":"t1","status":{"state":"submitted","timestamp":"2026-01-01T00:00:00.000Z"},"final":false}`,
		},
		"an artifact chunk": {
			event: a2a.Event{Artifact: &a2a.ArtifactUpdate{TaskID: "t1", ContextID: "c1", LastChunk: true, Artifact: a2a.Artifact{ID: "a1", Parts: hi}}},
			want:  `{"id":"t1","artifact":{"index":0,"parts":[{"type":"text","text":"Hi"}],"append":false,"lastChunk":true}}`,
		},
		"one more of the second artifact": {
			event: a2a.Event{Artifact: &a2a.ArtifactUpdate{
				TaskID: "t1", Index: 1, Append: true, Metadata: a2a.Object(`{"e":1}`),
				Artifact: a2a.Artifact{ID: "a1", Name: "n", Description: "d", Parts: hi, Metadata: a2a.Object(`{"a":1}`), Extensions: []string{"urn:x"}},
			}},
			want: `{"id":"t1","artifact":{"index":1,"name":"n","description":"d","parts":[{"type":"text","text":"Hi"}],` +
				`"append":true,"lastChunk":false,"metadata":{"a":1}},"metadata":{"e":1}}`,
		},
		"done": {
			event: a2a.Event{Status: &a2a.StatusUpdate{TaskID: "t1", ContextID: "c1", Status: status(a2a.StateCompleted)}},
			want:  `{"id":"t1","status":{"state":"completed","timestamp":"2026-01-01T00:00:00.000Z"},"final":true}`,
		},
		"rejected": {
			event: a2a.Event{Status: &a2a.StatusUpdate{TaskID: "t1", Status: status(a2a.StateRejected)}},
			want:  `{"id":"t1","status":{"state":"failed","timestamp":"2026-01-01T00:00:00.000Z"},"final":true}`,
		},
		"authentication": {
			event: a2a.Event{Status: &a2a.StatusUpdate{TaskID: "t1", Status: status(a2a.StateAuthRequired)}},
			want:  `{"id":"t1","status":{"state":"input-required","timestamp":"2026-01-01T00:00:00.000Z"},"final":false}`,
		},
		"input": {
			event: a2a.Event{Status: &a2a.StatusUpdate{TaskID: "t1", Status: status(a2a.StateInputRequired)}},
			want:  `{"id":"t1","status":{"state":"input-required","timestamp":"2026-01-01T00:00:00.000Z"},"final":true}`,
		},
		"input of a run that waits": {
			event: a2a.Event{Status: &a2a.StatusUpdate{TaskID: "t1", Paused: true, Status: status(a2a.StateInputRequired)}},
			want:  `{"id":"t1","status":{"state":"input-required","timestamp":"2026-01-01T00:00:00.000Z"},"final":false}`,
		},
		"a message": {
			event: a2a.Event{Message: &a2a.Message{ID: "m", TaskID: "t1", ContextID: "c1", Role: a2a.RoleAgent, Parts: hi}},
			want:  `{"id":"t1","status":{"state":"completed","message":{"role":"agent","parts":[{"type":"text","text":"Hi"}]}},"final":true}`,
		},
		"all parts": {
			event: a2a.Event{Status: &a2a.StatusUpdate{TaskID: "t1", Status: a2a.Status{State: a2a.StateWorking, Message: &a2a.Message{
				Role: a2a.RoleAgent, Metadata: a2a.Object(`{"inputRequest":{}}`), Parts: []a2a.Part{
					{Content: a2a.ContentRaw, Raw: []byte("hi"), Filename: "h.txt", MediaType: "text/plain"},
					{Content: a2a.ContentURL, URL: "https://a.example/"},
					{Content: a2a.ContentData, Data: a2a.Value(`{"a":1}`), Metadata: a2a.Object(`{"a2a.partKind":"tool-result"}`)},
					{Content: a2a.ContentData, Data: a2a.Value(`[1]`), Metadata: a2a.Object(`{"m":1}`)},
				},
			}}}},
			want: `{"id":"t1","status":{"state":"working","message":{"role":"agent","parts":[` +
				`{"type":"file","file":{"name":"h.txt","mimeType":"text/plain","bytes":"aGk="}},{"type":"file","file":{"uri":"https://a.example/"}},` +
				`{"type":"data","data":{"a":1},"metadata":{"a2a.partKind":"tool-result"}},` +
				`{"type":"data","data":{"value":[1]},"metadata":{"data_part_compat":true,"m":1}}],"metadata":{"inputRequest":{}}}},"final":false}`,
		},
		"nothing": {want: "null"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, string(AppendEvent(nil, &test.event))); diff != "" {
				t.Errorf("AppendEvent() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAppendTask(t *testing.T) {
	task := &a2a.Task{
		ID: "t1", ContextID: "c1", Status: status(a2a.StateCompleted), Metadata: a2a.Object(`{"t":1}`),
		Artifacts: []a2a.Artifact{{ID: "a", Parts: []a2a.Part{a2a.TextPart("Hi")}, Metadata: a2a.Object(`{"a":1}`)}, {ID: "b", Name: "n"}},
		History:   []*a2a.Message{{ID: "m1", ContextID: "c1", TaskID: "t1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("Hello")}}},
	}
	want := `{"id":"t1","sessionId":"c1","status":{"state":"completed","timestamp":"2026-01-01T00:00:00.000Z"},` +
		`"artifacts":[{"index":0,"parts":[{"type":"text","text":"Hi"}],"metadata":{"a":1}},{"index":1,"name":"n","parts":[]}],` +
		`"history":[{"role":"user","parts":[{"type":"text","text":"Hello"}]}],"metadata":{"t":1}}`
	if diff := cmp.Diff(want, string(AppendTask(nil, task))); diff != "" {
		t.Errorf("AppendTask() (-want +got):\n%s", diff)
	}
}

func TestAppendEventAllocatesNothing(t *testing.T) {
	dst := make([]byte, 0, 8<<10)
	for name, event := range codectest.Events() {
		if event.Message != nil {
			continue // tested in a task
		}
		if n := testing.AllocsPerRun(10, func() { dst = AppendEvent(dst[:0], &event) }); n != 0 {
			t.Errorf("AppendEvent(%s) allocates %v times", name, n)
		}
	}
}

func TestRequestsRoundTrip(t *testing.T) {
	send := &a2a.SendRequest{
		Message:       &a2a.Message{ID: "m1", TaskID: "t1", ContextID: "c1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("Hello")}},
		HistoryLength: new(2), Metadata: a2a.Object(`{"a":1}`),
		Push: &a2a.PushConfig{ID: "p", URL: "https://x/", Token: "t", Scheme: "Bearer", Credentials: "c"},
	}
	tests := map[string]struct{ got, want string }{
		"TaskSendParams": {
			string(AppendSend(nil, send)),
			`{"id":"t1","sessionId":"c1","message":{"role":"user","parts":[{"type":"text","text":"Hello"}]},"historyLength":2,` +
				`"pushNotification":{"url":"https://x/","token":"t","authentication":{"schemes":["Bearer"],"credentials":"c"}},"metadata":{"a":1}}`,
		},
		"TaskQueryParams": {string(AppendGet(nil, &a2a.GetRequest{TaskID: "t1", HistoryLength: new(0)})), `{"id":"t1","historyLength":0}`},
		"TaskIdParams":    {string(AppendCancel(nil, &a2a.CancelRequest{TaskID: "t1", Metadata: a2a.Object(`{}`)})), `{"id":"t1","metadata":{}}`},
	}
	for definition, test := range tests {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", definition, diff)
		}
		if err := spec.Validate("v0.1.0", definition, []byte(test.got)); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(`{"id":"t1"}`, string(AppendSubscribe(nil, &a2a.SubscribeRequest{TaskID: "t1"}))); diff != "" {
		t.Errorf("AppendSubscribe() (-want +got):\n%s", diff)
	}
	push := &a2a.PushConfig{TaskID: "t1", ID: "t1", URL: "https://x/"}
	if diff := cmp.Diff(`{"id":"t1","pushNotificationConfig":{"url":"https://x/"}}`, string(AppendPush(nil, push))); diff != "" {
		t.Errorf("AppendPush() (-want +got):\n%s", diff)
	}
}

func BenchmarkAppendEvent(b *testing.B) {
	event := codectest.Events()["chunk"]
	dst := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendEvent(dst[:0], &event)
	}
}
