// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v01

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsondecode"
	"github.com/a2a-operator/a2a-operator/test/codectest"
)

// withoutLostMembers removes the members that 0.1 lacks.
func withoutLostMembers(e a2a.Event) a2a.Event {
	bare := func(m *a2a.Message) *a2a.Message {
		if m == nil {
			return nil
		}
		return &a2a.Message{Role: m.Role, Parts: m.Parts, Metadata: m.Metadata}
	}
	if u := e.Status; u != nil {
		return a2a.Event{Status: &a2a.StatusUpdate{
			TaskID: u.TaskID, Metadata: u.Metadata,
			Paused: u.Status.State == a2a.StateAuthRequired,
			Status: a2a.Status{State: closest(u.Status.State), Message: bare(u.Status.Message), Time: u.Status.Time},
		}}
	}
	u := *e.Artifact
	u.ContextID, u.Artifact.ID, u.Artifact.Extensions = "", "artifact-0", nil
	return a2a.Event{Artifact: &u}
}

func TestWire03_EventsOf01AreReducedAsDocumented(t *testing.T) {
	for name, event := range codectest.Events() {
		if event.Task != nil || event.Message != nil {
			continue // 0.1 has no such events
		}
		t.Run(name, func(t *testing.T) {
			text := AppendEvent(nil, &event)
			got, err := DecodeEvent(text)
			if err != nil {
				t.Fatalf("DecodeEvent(%s) error = %v", text, err)
			}
			if diff := cmp.Diff(withoutLostMembers(event), got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("DecodeEvent(AppendEvent()) (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWire03_TasksOf01AreReducedAsDocumented(t *testing.T) {
	task := codectest.Task()
	got, err := DecodeTask(AppendTask(nil, task))
	if err != nil {
		t.Fatal(err)
	}
	want := codectest.Task()
	want.Artifacts[0].ID, want.Artifacts[0].Extensions = "artifact-0", nil
	for _, m := range append(want.History, want.Status.Message) {
		m.ID, m.TaskID, m.ContextID, m.Extensions, m.ReferenceTasks = "", "", "", nil, nil
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("DecodeTask(AppendTask()) (-want +got):\n%s", diff)
	}
}

func TestDecodeEventIsLenient(t *testing.T) {
	text := []a2a.Part{a2a.TextPart("Hi")}
	tests := map[string]struct {
		text string
		want a2a.Event
	}{
		"nulls": {
			`{"id":"t","status":{"state":"working","message":null,"timestamp":null},"final":null,"metadata":null}`,
			a2a.Event{Status: &a2a.StatusUpdate{TaskID: "t", Status: a2a.Status{State: a2a.StateWorking}}},
		},
		"an artifact without an index": {
			`{"id":"t","artifact":{"parts":[{"type":"text","text":"Hi"}]}}`,
			a2a.Event{Artifact: &a2a.ArtifactUpdate{TaskID: "t", Artifact: a2a.Artifact{ID: "artifact-0", Parts: text}}},
		},
		"parts of later versions": {
			`{"id":"t","artifact":{"index":3,"append":true,"parts":[{"kind":"text","text":"Hi"}]}}`,
			a2a.Event{Artifact: &a2a.ArtifactUpdate{TaskID: "t", Index: 3, Append: true, Artifact: a2a.Artifact{ID: "artifact-3", Parts: text}}},
		},
		"no final": {
			`{"id":"t","status":{"state":"input-required"}}`,
			a2a.Event{Status: &a2a.StatusUpdate{TaskID: "t", Status: a2a.Status{State: a2a.StateInputRequired}}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := DecodeEvent([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("DecodeEvent() (-want +got):\n%s", diff)
			}
		})
	}
	for _, text := range []string{
		``, `[]`, `{}`, `{"id":"t"}`, `{"id":"t","status":{},"artifact":{}}`, `{"id":"t","status":{"state":"nowhere"}}`,
		`{"id":"t","artifact":{"index":-1,"parts":[]}}`, `{"id":"t","status":{}} x`, `{"id":"t","id":"u","status":{}}`,
	} {
		if got, err := DecodeEvent([]byte(text)); err == nil {
			t.Errorf("DecodeEvent(%s) = %+v, want an error", text, got)
		}
	}
	task, err := DecodeTask([]byte(`{"id":"t","status":{"state":"completed"},"artifacts":[{"parts":[]},{"parts":[]},{"index":7,"parts":[]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"artifact-0", "artifact-1", "artifact-7"} {
		if got := task.Artifacts[i].ID; got != want {
			t.Errorf("artifact %d has the id %q, want %q", i, got, want)
		}
	}
}

func TestDecodeSend(t *testing.T) {
	const message = `"message":{"role":"user","parts":[{"type":"text","text":"Hello"}]}`
	hello := func(session string) *a2a.Message {
		return &a2a.Message{TaskID: "t1", ContextID: session, Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("Hello")}}
	}
	tests := map[string]struct {
		params string
		want   a2a.SendRequest
	}{
		"smallest": {`{"id":"t1",` + message + `}`, a2a.SendRequest{Message: hello("")}},
		"all": {
			`{"id":"t1","sessionId":"c1",` + message + `,"acceptedOutputModes":["text"],"historyLength":3,"metadata":{"a": 1},
			"pushNotification":{"url":"https://x/","token":"t","authentication":{"schemes":["x","basic"],"credentials":"c"}}}`,
			a2a.SendRequest{
				Message: hello("c1"), AcceptedOutputModes: []string{"text"}, HistoryLength: new(3), Metadata: a2a.Object(`{"a":1}`),
				Push: &a2a.PushConfig{Dialect: a2a.DialectV01, URL: "https://x/", Token: "t", Scheme: "basic", Credentials: "c"},
			},
		},
		"nulls": {
			`{"id":"t1","sessionId":null,` + message + `,"pushNotification":null,"historyLength":null,"metadata":null,"acceptedOutputModes":null}`,
			a2a.SendRequest{Message: hello("")},
		},
		"no role, kind for type": {`{"id":"t1","message":{"parts":[{"kind":"text","text":"Hello","metadata":null}]}}`, a2a.SendRequest{Message: hello("")}},
		"more members":           {`{"id":"t1","x":[{}],` + message + `}`, a2a.SendRequest{Message: hello("")}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.want.Dialect, test.want.ClientTaskID = a2a.DialectV01, true
			if test.want.HistoryLength == nil {
				test.want.HistoryLength = new(0)
			}
			got, err := jsondecode.V01.DecodeSend([]byte(test.params))
			if err != nil {
				t.Fatalf("DecodeSend() error = %v", err)
			}
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Errorf("DecodeSend() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeSendRejectsInvalidRequests(t *testing.T) {
	with := func(part string) string { return `{"id":"t","message":{"parts":[` + part + `]}}` }
	tests := map[string]struct{ params, want string }{
		"no id":           {`{"message":{"parts":[{"type":"text","text":"x"}]}}`, "id: is required"},
		"empty id":        {`{"id":"","message":{"parts":[{"type":"text","text":"x"}]}}`, "id: is required"},
		"long id":         {`{"id":"` + strings.Repeat("x", 257) + `"}`, "id: is longer than 256 bytes"},
		"id a number":     {`{"id":1}`, "id: must be a string"},
		"no message":      {`{"id":"t"}`, "message: is required"},
		"no parts":        {`{"id":"t","message":{"role":"user"}}`, "message.parts: must have at least one element"},
		"empty parts":     {with(``), "message.parts: must have at least one element"},
		"case of a name":  {`{"Id":"t"}`, "Id: must be spelled id"},
		"case in a part":  {with(`{"Type":"text","text":"x"}`), "message.parts[0].Type: must be spelled type"},
		"not ASCII":       {`{"ſessionId":"t"}`, "ſessionId: must be spelled sessionId"},
		"duplicate":       {`{"id":"t","id":"t"}`, "Invalid JSON payload at byte 10"},
		"trailing":        {`{"id":"t","message":{"parts":[{"type":"text","text":"x"}]}} 1`, "data after the end of the JSON value"},
		"unknown part":    {with(`{"type":"video"}`), "message.parts[0].type: must be text, file or data"},
		"a tool":          {with(`{"type":"tool-result","toolUseId":"x"}`), "message.parts[0].type: must be text, file or data"},
		"bytes and uri":   {with(`{"type":"file","file":{"bytes":"aGk=","uri":"u"}}`), "message.parts[0].file.uri: must not be set beside bytes"},
		"no bytes or uri": {with(`{"type":"file","file":{}}`), "message.parts[0].file.bytes: is required unless uri is set"},
		"data a list":     {with(`{"type":"data","data":[]}`), "message.parts[0].data: must be an object"},
		"role":            {`{"id":"t","message":{"role":"system"}}`, `message.role: must be "user" or "agent"`},
		"history":         {`{"id":"t","historyLength":-1}`, "historyLength: must not be negative"},
		"push":            {`{"id":"t","pushNotification":{}}`, "pushNotification.url: is required"},
		"a list":          {`[]`, "must be an object"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := jsondecode.V01.DecodeSend([]byte(test.params)); err == nil || err.Error() != test.want {
				t.Errorf("DecodeSend() error = %v, want %s", err, test.want)
			}
		})
	}
}

func TestDecodeTaskParams(t *testing.T) {
	get, err := jsondecode.V01.DecodeGet([]byte(`{"id":"t1","historyLength":2}`))
	if diff := cmp.Diff(&a2a.GetRequest{TaskID: "t1", HistoryLength: new(2)}, get); diff != "" || err != nil {
		t.Errorf("DecodeGet() (-want +got):\n%s%v", diff, err)
	}
	get, err = jsondecode.V01.DecodeGet([]byte(`{"id":"t1","historyLength":null,"metadata":{}}`))
	if diff := cmp.Diff(&a2a.GetRequest{TaskID: "t1", HistoryLength: new(0)}, get); diff != "" || err != nil {
		t.Errorf("DecodeGet() without a length (-want +got):\n%s%v", diff, err)
	}
	cancel, err := jsondecode.V01.DecodeCancel([]byte(`{"id":"t1","metadata":{"a":1}}`))
	if diff := cmp.Diff(&a2a.CancelRequest{TaskID: "t1", Metadata: a2a.Object(`{"a":1}`)}, cancel); diff != "" || err != nil {
		t.Errorf("DecodeCancel() (-want +got):\n%s%v", diff, err)
	}
	subscribe, err := jsondecode.V01.DecodeSubscribe([]byte(`{"id":"t1"}`))
	if diff := cmp.Diff(&a2a.SubscribeRequest{TaskID: "t1", HistoryLength: new(0)}, subscribe); diff != "" || err != nil {
		t.Errorf("DecodeSubscribe() (-want +got):\n%s%v", diff, err)
	}
	set, err := jsondecode.V01.DecodeSetPush([]byte(`{"id":"t1","pushNotificationConfig":{"url":"https://x/"}}`))
	if diff := cmp.Diff(&a2a.SetPushRequest{Config: a2a.PushConfig{Dialect: a2a.DialectV01, TaskID: "t1", URL: "https://x/"}}, set); diff != "" || err != nil {
		t.Errorf("DecodeSetPush() (-want +got):\n%s%v", diff, err)
	}
	push, err := jsondecode.V01.DecodeGetPush([]byte(`{"id":"t1"}`))
	if diff := cmp.Diff(&a2a.PushRequest{TaskID: "t1"}, push); diff != "" || err != nil {
		t.Errorf("DecodeGetPush() (-want +got):\n%s%v", diff, err)
	}
	for _, params := range []string{`{}`, `{"id":""}`, `{"id":null}`, `{"ID":"t"}`, `{"id":"t","historyLength":"1"}`} {
		if got, err := jsondecode.V01.DecodeGet([]byte(params)); err == nil {
			t.Errorf("DecodeGet(%s) = %+v, want an error", params, got)
		}
	}
	for _, params := range []string{`{}`, `{"id":"t"}`, `{"pushNotificationConfig":{"url":"u"}}`, `{"id":"t","pushNotificationConfig":{"Url":"u","url":"u"}}`} {
		if got, err := jsondecode.V01.DecodeSetPush([]byte(params)); err == nil {
			t.Errorf("DecodeSetPush(%s) = %+v, want an error", params, got)
		}
	}
}

func FuzzDecodeEvent(f *testing.F) {
	for _, event := range codectest.Events() {
		f.Add(AppendEvent(nil, &event))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		event, err := DecodeEvent(text)
		if err != nil {
			return
		}
		encoded := AppendEvent(nil, &event)
		again, err := DecodeEvent(encoded)
		if err != nil || !json.Valid(encoded) {
			t.Fatalf("DecodeEvent(%s) error = %v", encoded, err)
		}
		if diff := cmp.Diff(withoutLostMembers(event), again, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(a2a.Artifact{}, "ID"), cmpopts.IgnoreFields(a2a.StatusUpdate{}, "Paused")); diff != "" {
			t.Fatalf("DecodeEvent(AppendEvent()) (-want +got):\n%s", diff)
		}
	})
}

func FuzzDecodeSend(f *testing.F) {
	f.Add([]byte(`{"id":"t1","sessionId":"c1","message":{"role":"user","parts":[{"type":"file","file":{"bytes":"aGk="}}]},"historyLength":1}`))
	f.Fuzz(func(t *testing.T, params []byte) {
		r, err := jsondecode.V01.DecodeSend(params)
		if err != nil {
			return
		}
		again, err := jsondecode.V01.DecodeSend(AppendSend(nil, r))
		if err != nil || !json.Valid(params) {
			t.Fatalf("DecodeSend(AppendSend()) of %q error = %v", params, err)
		}
		if diff := cmp.Diff(r, again, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(a2a.SendRequest{}, "AcceptedOutputModes"), cmpopts.IgnoreFields(a2a.PushConfig{}, "Credentials")); diff != "" {
			t.Fatalf("DecodeSend(AppendSend()) (-want +got):\n%s", diff)
		}
	})
}

func FuzzDecodeTask(f *testing.F) {
	f.Add(AppendTask(nil, codectest.Task()))
	f.Fuzz(func(t *testing.T, text []byte) {
		task, err := DecodeTask(text)
		if err != nil {
			return
		}
		if _, err := DecodeTask(AppendTask(nil, task)); err != nil || !json.Valid(text) {
			t.Fatalf("DecodeTask(AppendTask()) of %q error = %v", text, err)
		}
	})
}

func FuzzDecodePush(f *testing.F) {
	f.Add([]byte(`{"id":"t1","pushNotificationConfig":{"url":"u","token":"t","authentication":{"schemes":["x"],"credentials":"c"}}}`))
	f.Fuzz(func(t *testing.T, params []byte) {
		r, err := jsondecode.V01.DecodeSetPush(params)
		if err != nil {
			return
		}
		again, err := jsondecode.V01.DecodeSetPush(AppendPush(nil, &r.Config))
		if err != nil || !json.Valid(params) {
			t.Fatalf("DecodeSetPush(AppendPush()) of %q error = %v", params, err)
		}
		if r.Config.Scheme == "" {
			r.Config.Credentials = "" // have no meaning without a scheme
		}
		if diff := cmp.Diff(r, again); diff != "" {
			t.Fatalf("DecodeSetPush(AppendPush()) (-want +got):\n%s", diff)
		}
	})
}

func FuzzDecodeTaskParams(f *testing.F) {
	f.Add([]byte(`{"id":"t1","historyLength":3,"metadata":{"a":1}}`))
	f.Fuzz(func(t *testing.T, params []byte) {
		r, err := jsondecode.V01.DecodeGet(params)
		if err == nil && (!json.Valid(params) || r.TaskID == "" || *r.HistoryLength < 0) {
			t.Fatalf("DecodeGet(%q) = %+v", params, r)
		}
	})
}
