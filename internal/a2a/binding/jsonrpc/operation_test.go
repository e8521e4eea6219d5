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
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

func call10(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
}

const (
	hello01 = `{"id":"t1","message":{"role":"user","parts":[{"type":"text","text":"Hello"}]}}`
	hello03 = `{"message":{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"Hello"}]}}`
	hello10 = `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"Hello"}]}}`
)

func TestResults(t *testing.T) {
	task := newTask(a2a.StateCompleted)
	message := &a2a.Message{ID: "m2", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("Hi")}}
	answer := *message
	answer.TaskID, answer.ContextID = "t1", "c1"
	const (
		task03 = `{"kind":"task","id":"t1","contextId":"c1","status":{"state":"completed","timestamp":"2026-01-01T00:00:00.000Z"}}`
		task01 = `{"id":"t1","sessionId":"c1","status":{"state":"completed","timestamp":"2026-01-01T00:00:00.000Z"}}`
		task10 = `{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-01T00:00:00.000Z"}}`
	)
	tests := map[string]struct {
		body  string
		event a2a.Event
		want  string
	}{
		"0.1 send task": {call10("tasks/send", hello01), a2a.Event{Task: task}, task01},
		"0.1 send message": {
			call10("tasks/send", hello01),
			a2a.Event{Message: &answer},
			`{"id":"t1","sessionId":"c1","status":{"state":"completed","message":{"role":"agent","parts":[{"type":"text","text":"Hi"}]}}}`,
		},
		"0.3 send task":    {call10("message/send", hello03), a2a.Event{Task: task}, task03},
		"0.3 send message": {call10("message/send", hello03), a2a.Event{Message: message}, `{"kind":"message","messageId":"m2","role":"agent","parts":[{"kind":"text","text":"Hi"}]}`},
		"0.3 get":          {call10("tasks/get", `{"id":"t1"}`), a2a.Event{}, task03},
		"0.3 cancel":       {call10("tasks/cancel", `{"id":"t1"}`), a2a.Event{}, task03},
		"1.0 send task":    {call10("SendMessage", hello10), a2a.Event{Task: task}, `{"task":` + task10 + `}`},
		"1.0 send message": {call10("SendMessage", hello10), a2a.Event{Message: message}, `{"message":{"messageId":"m2","role":"ROLE_AGENT","parts":[{"text":"Hi"}]}}`},
		"1.0 get":          {call10("GetTask", `{"id":"t1"}`), a2a.Event{}, task10},
		"1.0 cancel":       {call10("CancelTask", `{"id":"t1"}`), a2a.Event{}, task10},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newFixture(&fake{Task: task, Event: test.event}).post(t, test.body)
			if diff := cmp.Diff(`{"jsonrpc":"2.0","id":1,"result":`+test.want+`}`, w.Body.String()); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequests(t *testing.T) {
	x := newFixture(&fake{Event: a2a.Event{Task: newTask(a2a.StateCompleted)}})
	x.card.Capabilities.Extensions = []card.Extension{{URI: "urn:a"}, {URI: "urn:b"}}
	w := x.post(t, call10("SendMessage", hello10), "A2A-Extensions", "urn:c, urn:b", "Traceparent", "00-1-2-3", "Tracestate", "v=1", "Baggage", "k=1")
	want := &a2a.SendRequest{
		Owner:      "alice",
		Subject:    &a2a.Subject{Principal: "alice", Owner: "alice"},
		Message:    &a2a.Message{ID: "m1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("Hello")}},
		Dialect:    a2a.DialectV10,
		Extensions: []string{"urn:b"}, Trace: a2a.TraceContext{Parent: "00-1-2-3", State: "v=1", Baggage: "k=1"},
	}
	if diff := cmp.Diff(want, x.fake.Last()); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if got := w.Header().Get("A2A-Extensions"); got != "urn:b" {
		t.Errorf("activated extensions = %q", got)
	}

	x.fake.Task = newTask(a2a.StateWorking)
	x.post(t, call10("GetTask", `{"id":"t1","historyLength":2}`))
	if diff := cmp.Diff(&a2a.GetRequest{Owner: "alice", TaskID: "t1", HistoryLength: new(2)}, x.fake.Last()); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	x.post(t, call10("tasks/cancel", `{"id":"t1"}`))
	if diff := cmp.Diff(&a2a.CancelRequest{Owner: "alice", TaskID: "t1"}, x.fake.Last()); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	x.post(t, call10("SubscribeToTask", `{"id":"t1"}`), "Last-Event-ID", "t1:42")
	if diff := cmp.Diff(&a2a.SubscribeRequest{Owner: "alice", TaskID: "t1", After: new(uint64(42))}, x.fake.Last()); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestErrors(t *testing.T) {
	const info = `"data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":%q,"domain":"a2a-protocol.org"%s}%s]`
	details := func(reason, metadata, more string) string { return fmt.Sprintf(info, reason, metadata, more) }
	tests := map[string]struct {
		err      error
		status   int
		old, new string
	}{
		"task not found": {
			a2a.TaskNotFound("t9"), 200, `"code":-32001,"message":"Task not found"`,
			`"code":-32001,"message":"Task not found",` + details("TASK_NOT_FOUND", `,"metadata":{"taskId":"t9"}`, ""),
		},
		"not cancelable": {
			&a2a.Error{Reason: a2a.ReasonTaskNotCancelable}, 200, `"code":-32002,"message":"Task cannot be canceled"`,
			`"code":-32002,"message":"Task cannot be canceled",` + details("TASK_NOT_CANCELABLE", "", ""),
		},
		"invalid params": {
			a2a.InvalidParams("message.contextId", "is not the task's"), 200,
			`"code":-32602,"message":"message.contextId: is not the task's","data":{"reason":"INVALID_PARAMS","field":"message.contextId"}`,
			`"code":-32602,"message":"message.contextId: is not the task's",` + details("INVALID_PARAMS", "",
				`,{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.contextId","description":"is not the task's"}]}`),
		},
		"a failure of the system": {
			errors.New("dial tcp 10.0.0.1: secret"), 200, `"code":-32603,"message":"Internal error"`,
			`"code":-32603,"message":"Internal error",` + details("INTERNAL_ERROR", "", ""),
		},
		"draining": {
			a2a.ErrDraining, 503, `"code":-32603,"message":"Service unavailable","data":{"reason":"UNAVAILABLE"}`,
			`"code":-32603,"message":"Service unavailable",` + details("UNAVAILABLE", "", ""),
		},
		"too many": {
			&a2a.Error{Reason: a2a.ReasonResourceExhausted, Message: "Too many turns are running"}, 429,
			`"code":-32603,"message":"Too many turns are running","data":{"reason":"RESOURCE_EXHAUSTED"}`,
			`"code":-32603,"message":"Too many turns are running",` + details("RESOURCE_EXHAUSTED", "", ""),
		},
	}
	for name, test := range tests {
		for method, want := range map[string]string{"tasks/get": test.old, "GetTask": test.new} {
			t.Run(name+" "+method, func(t *testing.T) {
				w := newFixture(&fake{Err: test.err}).post(t, call10(method, `{"id":"t9"}`))
				if w.Code != test.status {
					t.Errorf("status = %d, want %d", w.Code, test.status)
				}
				if diff := cmp.Diff(`{"jsonrpc":"2.0","id":1,"error":{`+want+`}}`, w.Body.String()); diff != "" {
					t.Errorf("response (-want +got):\n%s", diff)
				}
				if retry := w.Header().Get("Retry-After"); (retry != "") != (test.status == 503 || test.status == 429) {
					t.Errorf("Retry-After = %q", retry)
				}
			})
		}
	}
}

// TestUnservedPaths checks that requests for push notifications get the error -32003 if the
// card does not declare push notifications. The methods for push configurations return this
// error even for invalid params, because the binding does not decode them.
func TestUnservedPaths(t *testing.T) {
	tests := map[string]int{
		"tasks/pushNotification/set":             -32003,
		"tasks/pushNotification/get":             -32003,
		"tasks/pushNotificationConfig/set":       -32003,
		"tasks/pushNotificationConfig/get":       -32003,
		"tasks/pushNotificationConfig/list":      -32003,
		"tasks/pushNotificationConfig/delete":    -32003,
		"CreateTaskPushNotificationConfig":       -32003,
		"GetTaskPushNotificationConfig":          -32003,
		"ListTaskPushNotificationConfigs":        -32003,
		"DeleteTaskPushNotificationConfig":       -32003,
		"tasks/send with a push configuration":   -32003,
		"message/send with a push configuration": -32003,
		"SendMessage with a push configuration":  -32003,
	}
	for name, code := range tests {
		t.Run(name, func(t *testing.T) {
			method, _, push := strings.Cut(name, " ")
			params := "{}"
			if push {
				params = map[string]string{
					"tasks/send":   strings.TrimSuffix(hello01, "}") + `,"pushNotification":{"url":"https://x/"}}`,
					"message/send": strings.TrimSuffix(hello03, "}") + `,"configuration":{"pushNotificationConfig":{"url":"https://x/"}}}`,
					"SendMessage":  strings.TrimSuffix(hello10, "}") + `,"configuration":{"taskPushNotificationConfig":{"url":"https://x/"}}}`,
				}[method]
			}
			x := newFixture(&fake{})
			w := x.post(t, call10(method, params))
			if x.observed[0].Code != code || x.fake.Last() != nil {
				t.Errorf("response = %s, want code %d", w.Body, code)
			}
		})
	}
}

func TestRequiredExtension(t *testing.T) {
	for method, code := range map[string]int{"SendMessage": -32008, "message/send": -32600} {
		params := map[string]string{"SendMessage": hello10, "message/send": hello03}[method]
		header := map[string]string{"SendMessage": "A2A-Extensions", "message/send": "X-A2A-Extensions"}[method]
		x := newFixture(&fake{Event: a2a.Event{Task: newTask(a2a.StateCompleted)}})
		x.card.Capabilities.Extensions = []card.Extension{{URI: "urn:a", Required: true}}
		if w := x.post(t, call10(method, params)); x.observed[0].Code != code {
			t.Errorf("%s without it = %s", method, w.Body)
		}
		if w := x.post(t, call10(method, params), header, "urn:a"); x.observed[1].Code != 0 || w.Code != http.StatusOK {
			t.Errorf("%s with it = %s", method, w.Body)
		}
	}
}

// TestRequiredExtensionOnEveryOperation checks that each operation except the extended card
// requires the extension. The extended card tells clients which extensions are required.
func TestRequiredExtensionOnEveryOperation(t *testing.T) {
	for name, m := range methods {
		x := newFixture(&fake{})
		x.card.Capabilities = card.Capabilities{
			Streaming: true, PushNotifications: true, ExtendedCard: true, Extensions: []card.Extension{{URI: "urn:a", Required: true}},
		}
		want := -32600
		switch {
		case name == "GetExtendedAgentCard", name == "agent/getAuthenticatedExtendedCard", name == "agent/authenticatedExtendedCard":
			want = 0
		case m.dialect == dialectV10:
			want = -32008
		}
		body := x.post(t, call10(name, `{"id":"t1"}`)).Body.String()
		if got := x.observed[0].Code; got != want || want != 0 && x.fake.Last() != nil {
			t.Errorf("%s without it = %d %s, want code %d", name, got, body, want)
		}
	}
}

func TestMediaTypes(t *testing.T) {
	parts := map[string]string{
		"SendMessage":  `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"x"},{"raw":"aGk=","mediaType":"%s"}]}}`,
		"message/send": `{"message":{"messageId":"m1","role":"user","parts":[{"kind":"text","text":"x"},{"kind":"file","file":{"bytes":"aGk=","mimeType":"%s"}}]}}`,
	}
	for method, params := range parts {
		x := newFixture(&fake{Event: a2a.Event{Task: newTask(a2a.StateCompleted)}})
		x.card.DefaultInputModes = []string{"text/plain", "image/*"}
		w := x.post(t, call10(method, fmt.Sprintf(params, "application/x-unsupported")))
		if x.observed[0].Code != -32005 || x.fake.Last() != nil || !strings.Contains(w.Body.String(), "message.parts[1]") {
			t.Errorf("%s with another type = %s", method, w.Body)
		}
		if w := x.post(t, call10(method, fmt.Sprintf(params, "image/png"))); x.observed[1].Code != 0 {
			t.Errorf("%s with a declared type = %s", method, w.Body)
		}
	}
}
