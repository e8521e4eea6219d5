// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	v01 "github.com/a2a-operator/a2a-operator/internal/a2a/codec/v01"
	v03 "github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
	"github.com/a2a-operator/a2a-operator/test/codectest"
	"github.com/a2a-operator/a2a-operator/test/spec"
)

// resultOf returns the result of a response.
func resultOf(t *testing.T, body []byte) []byte {
	t.Helper()
	var response struct{ Result json.RawMessage }
	if err := json.Unmarshal(body, &response); err != nil || response.Result == nil {
		t.Fatalf("no result in %s: %v", body, err)
	}
	return response.Result
}

const (
	shape01    = `{"id":"t1","sessionId":"c1","status":{"state":"working",` + now03 + `},"artifacts":[{"index":0,"parts":[{"type":"text","text":"Hi"}]}]}`
	shape03    = `{"kind":"task","id":"t1","contextId":"c1","status":{"state":"working",` + now03 + `},"artifacts":[{"artifactId":"a1","parts":[{"kind":"text","text":"Hi"}]}]}`
	shapeUnion = `{"kind":"task","id":"t1","sessionId":"c1","contextId":"c1","status":{"state":"working",` + now03 + `},` +
		`"artifacts":[{"artifactId":"a1","index":0,"parts":[{"kind":"text","type":"text","text":"Hi"}]}]}`
)

func taskOf(d a2a.Dialect) *a2a.Task {
	t := newTask(a2a.StateWorking)
	t.Dialect = d
	t.Artifacts = []a2a.Artifact{{ID: "a1", Parts: []a2a.Part{a2a.TextPart("Hi")}}}
	return t
}

// TestWire07_DialectOfSharedMethods checks the dialect of a response: the version that the
// client names or, if it names none, the dialect in which the task was made, or else the
// union that clients of all versions before 1.0 can read.
func TestWire07_DialectOfSharedMethods(t *testing.T) {
	tests := map[string]struct {
		header string
		made   a2a.Dialect
		want   string
	}{
		"0.1 of 0.1":                   {"0.1", a2a.DialectV01, shape01},
		"0.1 of 0.3":                   {"0.1", a2a.DialectV03, shape01},
		"0.1 of 1.0":                   {"0.1", a2a.DialectV10, shape01},
		"0.2 of 0.1":                   {"0.2", a2a.DialectV01, shape03},
		"0.3 of 1.0":                   {"0.3", a2a.DialectV10, shape03},
		"no word of 0.1":               {"", a2a.DialectV01, shape01},
		"no word of 0.3":               {"", a2a.DialectV03, shape03},
		"no word of REST in 0.3":       {"", a2a.DialectV03Proto, shape03},
		"no word of kinds over REST":   {"", a2a.DialectKindREST, shape03},
		"no word of gRPC in 0.3":       {"", a2a.DialectV03GRPC, shape03},
		"no word of 1.0":               {"", a2a.DialectV10, shapeUnion},
		"no word of gRPC in 1.0":       {"", a2a.DialectV10GRPC, shapeUnion},
		"1.0 for compatibility of 0.1": {"1.0", a2a.DialectV01, shape01},
		"1.0 for compatibility of 1.0": {"1.0", a2a.DialectV10, shapeUnion},
	}
	for name, test := range tests {
		for _, method := range []string{"tasks/get", "tasks/cancel"} {
			t.Run(name+" "+method, func(t *testing.T) {
				w := newFixture(&fake{Task: taskOf(test.made)}).post(t, call10(method, `{"id":"t1"}`), "A2A-Version", test.header)
				if diff := cmp.Diff(test.want, string(resultOf(t, w.Body.Bytes()))); diff != "" {
					t.Errorf("result (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestWire07_UnionParsesInBoth checks by schema and by codec that the union is valid in
// each version before 1.0.
func TestWire07_UnionParsesInBoth(t *testing.T) {
	task := codectest.Task()
	task.Dialect = a2a.DialectV10
	w := newFixture(&fake{Task: task}).post(t, call10("tasks/get", `{"id":"t1"}`))
	union := resultOf(t, w.Body.Bytes())
	for _, version := range []string{"v0.1.0", "v0.2.6", "v0.3.0"} {
		if err := spec.Validate(version, "Task", union); err != nil {
			t.Errorf("union: %v", err)
		}
	}
	for name, decode := range map[string]func([]byte) (*a2a.Task, error){"0.1": v01.DecodeTask, "0.3": v03.DecodeTask} {
		got, err := decode(union)
		if err != nil || got.ID != "t1" || got.ContextID != "c1" || len(got.Artifacts) != 1 || len(got.History) != len(task.History) && name == "0.3" {
			t.Errorf("%s reads %+v, %v", name, got, err)
		}
	}
	for name, event := range codectest.Events() {
		text := v03.AppendUnionEvent(nil, &event)
		if event.Message != nil {
			continue // a message never occurs in the stream of a task
		}
		definition := map[bool]string{true: "TaskArtifactUpdateEvent", false: "TaskStatusUpdateEvent"}[event.Artifact != nil]
		if event.Status != nil && (event.Status.Status.State == a2a.StateRejected || event.Status.Status.State == a2a.StateAuthRequired) {
			continue // 0.1 does not have these states
		}
		if err := spec.Validate("v0.1.0", definition, text); err != nil {
			t.Errorf("%s: %s: %v", name, text, err)
		}
		if got, err := v03.DecodeEvent(text); err != nil || got == (a2a.Event{}) {
			t.Errorf("0.3 reads %s as %+v, %v", name, got, err)
		}
	}
}

// TestWire07_ResubscribeInEachDialect checks the dialect of the streams of
// tasks/resubscribe, by the rule of TestWire07_DialectOfSharedMethods.
func TestWire07_ResubscribeInEachDialect(t *testing.T) {
	records := func(d a2a.Dialect) []*a2a.Record {
		return []*a2a.Record{{Seq: 4, Event: a2a.Event{Task: taskOf(d)}}, status(5, a2a.StateCompleted)}
	}
	const (
		status01   = `{"id":"t1","status":{"state":"completed",` + now03 + `},"final":true}`
		statusBoth = `{"kind":"status-update","id":"t1","taskId":"t1","contextId":"c1","status":{"state":"completed",` + now03 + `},"final":true}`
		working01  = `{"id":"t1","status":{"state":"working",` + now03 + `},"final":false}`
		chunk01    = `{"id":"t1","artifact":{"index":0,"parts":[{"type":"text","text":"Hi"}],"append":false,"lastChunk":true}}`
	)
	all01 := frame("", working01) + frame("", chunk01) + frame("", status01)
	tests := map[string]struct {
		made    a2a.Dialect
		headers []string
		want    string
	}{
		"the header names 0.1":                   {a2a.DialectV10, []string{"A2A-Version", "0.1"}, all01},
		"0.1 by the task":                        {a2a.DialectV01, nil, all01},
		"0.1 that reads numbers":                 {a2a.DialectV01, []string{"Last-Event-ID", "99"}, frame("", working01) + frame("4", chunk01) + frame("5", status01)},
		"0.3 by the task":                        {a2a.DialectV03, nil, frame("4", shape03) + frame("5", completed03)},
		"the header names 0.3":                   {a2a.DialectV01, []string{"A2A-Version", "0.3"}, frame("4", shape03) + frame("5", completed03)},
		"either":                                 {a2a.DialectV10, nil, frame("4", shapeUnion) + frame("5", statusBoth)},
		"either version, resumed after an event": {a2a.DialectV10, []string{"Last-Event-ID", "4"}, frame("4", shapeUnion) + frame("5", statusBoth)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			x := newFixture(&fake{Records: records(test.made), Task: taskOf(test.made)})
			w := x.post(t, call10("tasks/resubscribe", `{"id":"t1"}`), test.headers...)
			if diff := cmp.Diff(test.want, w.Body.String()); diff != "" {
				t.Errorf("stream (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWire15_HistoryOfSharedMethods checks that a request without a history length gets the
// default history of the response's dialect.
func TestWire15_HistoryOfSharedMethods(t *testing.T) {
	for made, want := range map[a2a.Dialect]bool{a2a.DialectV01: false, a2a.DialectV03: true, a2a.DialectV10: true} {
		for _, method := range []string{"tasks/get", "tasks/cancel"} {
			task := taskOf(made)
			task.History = []*a2a.Message{{ID: "m1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("Hello")}}}
			w := newFixture(&fake{Task: task}).post(t, call10(method, `{"id":"t1"}`))
			if got := strings.Contains(w.Body.String(), `"history"`); got != want {
				t.Errorf("%s of a task of dialect %d shows history: %t, want %t", method, made, got, want)
			}
		}
	}
}

// TestWire15_HistoryLength checks the history length that the handler receives.
func TestWire15_HistoryLength(t *testing.T) {
	zero, two := new(0), new(2)
	configured := func(params, n string) string {
		return strings.TrimSuffix(params, "}") + `,"configuration":{"historyLength":` + n + `}}`
	}
	tests := []struct {
		method, unset string
		with          func(params, n string) string
		whenUnset     *int
	}{
		{"tasks/send", hello01, extended, zero},
		{"tasks/sendSubscribe", hello01, extended, zero},
		{"message/send", hello03, configured, nil},
		{"message/stream", hello03, configured, nil},
		{"tasks/get", `{"id":"t1"}`, extended, nil},
		{"tasks/resubscribe", `{"id":"t1"}`, extended, nil},
		{"tasks/list", `{"contextId":"c"}`, extended, nil},
		{"SendMessage", hello10, configured, nil},
		{"SendStreamingMessage", hello10, configured, nil},
		{"GetTask", `{"id":"t1"}`, extended, nil},
		{"ListTasks", `{"contextId":"c"}`, extended, nil},
	}
	for _, test := range tests {
		for params, want := range map[string]*int{
			test.unset: test.whenUnset, test.with(test.unset, "null"): test.whenUnset, test.with(test.unset, "0"): zero, test.with(test.unset, "2"): two,
		} {
			x := newFixture(complete())
			w := x.post(t, call10(test.method, params))
			if x.fake.Last() == nil {
				t.Errorf("%s(%s) = %s", test.method, params, w.Body)
				continue
			}
			if diff := cmp.Diff(want, historyLength(x.fake.Last())); diff != "" {
				t.Errorf("%s(%s) asks for another length (-want +got):\n%s", test.method, params, diff)
			}
		}
		for _, n := range []string{"-1", "1.5", `"x"`, "99999999999", "[]"} {
			x := newFixture(complete())
			if w := x.post(t, call10(test.method, test.with(test.unset, n))); x.fake.Last() != nil || !strings.Contains(w.Body.String(), "-32602") {
				t.Errorf("%s with historyLength %s = %s", test.method, n, w.Body)
			}
		}
	}
}

func extended(params, n string) string {
	return strings.TrimSuffix(params, "}") + `,"historyLength":` + n + `}`
}

func historyLength(asked any) *int {
	switch r := asked.(type) {
	case *a2a.SendRequest:
		return r.HistoryLength
	case *a2a.GetRequest:
		return r.HistoryLength
	case *a2a.SubscribeRequest:
		return r.HistoryLength
	case *a2a.ListRequest:
		return r.HistoryLength
	default:
		return nil
	}
}
