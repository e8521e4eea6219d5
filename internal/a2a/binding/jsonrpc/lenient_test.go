// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// TestToolResultsOfClients checks the parts tool-result and tool-use, which one client
// project of 0.3 sends: they are data parts in the domain.
func TestToolResultsOfClients(t *testing.T) {
	x := newFixture(complete())
	x.post(t, call10("message/stream", `{"message":{"kind":"message","role":"user","messageId":"m6","referenceTaskIds":["t7"],"parts":[
		{"kind":"text","text":"Tool result:"},
		{"kind":"tool-result","toolUseId":"input-1","result":{"value":"secret"},"metadata":{"k":"v"}},
		{"kind":"tool-use","name":"search"}]}}`))
	want := &a2a.Message{
		ID: "m6", Role: a2a.RoleUser, ReferenceTasks: []string{"t7"}, Parts: []a2a.Part{
			a2a.TextPart("Tool result:"),
			{
				Content: a2a.ContentData, Data: a2a.Value(`{"toolUseId":"input-1","result":{"value":"secret"}}`),
				Metadata: a2a.Object(`{"a2a.partKind":"tool-result","k":"v"}`),
			},
			{Content: a2a.ContentData, Data: a2a.Value(`{"name":"search"}`), Metadata: a2a.Object(`{"a2a.partKind":"tool-use"}`)},
		},
	}
	if diff := cmp.Diff(want, x.fake.Last().(*a2a.SendRequest).Message); diff != "" {
		t.Fatalf("message (-want +got):\n%s", diff)
	}
	task := newTask(a2a.StateWorking)
	task.History = []*a2a.Message{want}
	x.fake.Task = task
	for method, part := range map[string]string{
		"tasks/get": `{"kind":"tool-result","toolUseId":"input-1","result":{"value":"secret"},"metadata":{"k":"v"}},{"kind":"tool-use","name":"search"}]`,
		"GetTask":   `{"data":{"toolUseId":"input-1","result":{"value":"secret"}},"metadata":{"a2a.partKind":"tool-result","k":"v"}}`,
	} {
		if w := x.post(t, call10(method, `{"id":"t1"}`)); !strings.Contains(w.Body.String(), part) {
			t.Errorf("%s = %s\nwant %s", method, w.Body, part)
		}
	}
	w := x.post(t, call10("tasks/get", `{"id":"t1","historyLength":9}`), "A2A-Version", "0.1")
	const part01 = `{"type":"data","data":{"toolUseId":"input-1","result":{"value":"secret"}},"metadata":{"a2a.partKind":"tool-result","k":"v"}}`
	if !strings.Contains(w.Body.String(), part01) {
		t.Errorf("0.1 = %s\nwant %s", w.Body, part01)
	}
}

// TestInputRequest checks that an input request is a member of the message in 0.3, and metadata in other
// versions.
func TestInputRequest(t *testing.T) {
	task := newTask(a2a.StateInputRequired)
	task.Status.Message = &a2a.Message{
		ID: "m5", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("Key?")},
		Metadata: a2a.Object(`{"a":1,"inputRequest":{"kind":"input-request","sensitive":true,"requestId":"input-1"}}`),
	}
	const request = `"inputRequest":{"kind":"input-request","sensitive":true,"requestId":"input-1"}`
	x := newFixture(&fake{Task: task})
	for method, want := range map[string]string{
		"tasks/get": `"parts":[{"kind":"text","text":"Key?"}],` + request + `,"metadata":{"a":1}}`,
		"GetTask":   `"parts":[{"text":"Key?"}],"metadata":{"a":1,` + request + `}}`,
	} {
		if w := x.post(t, call10(method, `{"id":"t1"}`)); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s = %s\nwant %s", method, w.Body, want)
		}
	}
}

// TestTaskIDOfGet checks that tasks/get with taskId instead of id returns a stream, unless
// the client accepts only JSON. One project of 0.3 sends such requests.
func TestTaskIDOfGet(t *testing.T) {
	const taskID, id = `{"taskId":"t1"}`, `{"id":"t1","taskId":"t2"}`
	working := strings.Replace(completed03, `"completed",`+now03+`},"final":true`, `"working",`+now03+`},"final":false`, 1)
	tests := map[string]struct {
		params string
		accept string
		state  a2a.State
		want   string
	}{
		"a task that works":   {taskID, "", a2a.StateWorking, frame("1", working) + frame("2", completed03)},
		"a task that ended":   {taskID, "text/event-stream", a2a.StateCompleted, frame("1", completed03)},
		"anything":            {taskID, "*/*", a2a.StateCompleted, frame("1", completed03)},
		"both":                {taskID, "application/json, text/event-stream", a2a.StateCompleted, frame("1", completed03)},
		"JSON only":           {taskID, "application/json", a2a.StateWorking, `{"jsonrpc":"2.0","id":1,"result":` + in(task03, "working") + `}`},
		"JSON of A2A only":    {taskID, "application/a2a+json", a2a.StateWorking, `{"jsonrpc":"2.0","id":1,"result":` + in(task03, "working") + `}`},
		"any text":            {taskID, "text/*", a2a.StateCompleted, frame("1", completed03)},
		"an id beside it":     {id, "text/event-stream", a2a.StateWorking, `{"jsonrpc":"2.0","id":1,"result":` + in(task03, "working") + `}`},
		"a task that waits":   {taskID, "", a2a.StateInputRequired, frame("1", strings.Replace(working, "working", "input-required", 1)) + frame("2", completed03)},
		"behind its last one": {`{"taskId":"t1","historyLength":0}`, "", a2a.StateWorking, frame("1", working) + frame("2", completed03)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			records := []*a2a.Record{snapshot(1, test.state)}
			if !test.state.Terminal() {
				records = append(records, status(2, a2a.StateCompleted))
			}
			x := newFixture(&fake{Task: newTask(test.state), Records: records})
			w := x.post(t, call10("tasks/get", test.params), "Accept", test.accept)
			if diff := cmp.Diff(test.want, w.Body.String()); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
			switch r := x.fake.Last().(type) {
			case *a2a.GetRequest:
				if r.TaskID != "t1" || r.Owner != "alice" {
					t.Errorf("asked for %+v", r)
				}
			case *a2a.SubscribeRequest:
				if r.TaskID != "t1" || r.Owner != "alice" {
					t.Errorf("asked for %+v", r)
				}
			}
		})
	}
	for _, method := range []string{"GetTask", "tasks/cancel", "tasks/resubscribe"} {
		x := newFixture(complete())
		if w := x.post(t, call10(method, taskID)); x.fake.Last() != nil || x.observed[0].Code != -32602 {
			t.Errorf("%s = %s", method, w.Body)
		}
	}
	x := newFixture(complete())
	if w := x.post(t, call10("tasks/get", taskID), "A2A-Version", "0.1"); x.fake.Last() != nil || x.observed[0].Code != -32602 {
		t.Errorf("0.1 = %s", w.Body)
	}
	for _, params := range []string{`{"taskId":""}`, `{"taskId":1}`, `{"TaskId":"t1"}`, `{"taskId":"t1","historyLength":-1}`, `{"taskId":"t1"`} {
		x := newFixture(complete())
		if w := x.post(t, call10("tasks/get", params)); x.fake.Last() != nil {
			t.Errorf("%s = %s", params, w.Body)
		}
	}
}

// TestRequestsInTheDocumentsOf02 checks that the binding accepts requests in the form in
// which the documents of 0.2 print them.
func TestRequestsInTheDocumentsOf02(t *testing.T) {
	const params = `{"message":{"role":"user","parts":[{"type":"text","text":"Hi"},{"kind":"file","file":{"name":"a","mimeType":"text/plain","data":"aGk="}}]},"messageId":"m1"}`
	want := &a2a.Message{ID: "m1", Role: a2a.RoleUser, Parts: []a2a.Part{
		a2a.TextPart("Hi"), {Content: a2a.ContentRaw, Raw: []byte("hi"), Filename: "a", MediaType: "text/plain"},
	}}
	x := newFixture(complete())
	x.card.DefaultInputModes = []string{"text/plain"}
	w := x.post(t, `{"method":"message/send","params":`+params+`}`)
	if x.fake.Last() == nil {
		t.Fatalf("response = %s", w.Body)
	}
	if diff := cmp.Diff(want, x.fake.Last().(*a2a.SendRequest).Message); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(w.Body.String(), `{"jsonrpc":"2.0","id":null,"result":{"kind":"task"`) {
		t.Errorf("response = %s", w.Body)
	}
}
