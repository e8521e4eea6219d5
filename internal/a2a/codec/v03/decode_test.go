// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v03

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsondecode"
	"github.com/a2a-operator/a2a-operator/test/codectest"
	"github.com/a2a-operator/a2a-operator/test/spec"
)

func definition(e *a2a.Event) string {
	switch {
	case e.Task != nil:
		return "Task"
	case e.Message != nil:
		return "Message"
	case e.Status != nil:
		return "TaskStatusUpdateEvent"
	default:
		return "TaskArtifactUpdateEvent"
	}
}

func TestRoundTrip(t *testing.T) {
	for name, event := range codectest.Events() {
		t.Run(name, func(t *testing.T) {
			text := AppendEvent(nil, &event)
			got, err := DecodeEvent(text)
			if err != nil {
				t.Fatalf("DecodeEvent(%s) error = %v", text, err)
			}
			if diff := cmp.Diff(event, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("DecodeEvent(AppendEvent()) (-want +got):\n%s", diff)
			}
			for _, version := range []string{"v0.2.6", "v0.3.0"} {
				if err := spec.Validate(version, definition(&event), text); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestDecodeEventIsLenient(t *testing.T) {
	text := []a2a.Part{a2a.TextPart("hi")}
	tests := map[string]struct {
		text string
		want a2a.Event
	}{
		"states of other versions": {
			text: `{"kind":"status-update","status":{"state":"TASK_STATE_CANCELLED"}}`,
			want: a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateCanceled}}},
		},
		"started": {
			text: `{"kind":"status-update","status":{"state":"started"}}`,
			want: a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateSubmitted}}},
		},
		"a run that waits": {
			text: `{"kind":"status-update","status":{"state":"input_required"},"final":false}`,
			want: a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateInputRequired}, Paused: true}},
		},
		"assistant with content": {
			text: `{"kind":"status-update","status":{"state":"working","message":{"role":"assistant","content":"hi"}}}`,
			want: a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{
				State: a2a.StateWorking, Message: &a2a.Message{Role: a2a.RoleAgent, Parts: text},
			}}},
		},
		"time without a zone": {
			text: `{"kind":"status-update","status":{"state":"working","timestamp":"2025-07-31T09:10:11.123456"}}`,
			want: a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{
				State: a2a.StateWorking, Time: time.Date(2025, 7, 31, 9, 10, 11, 123e6, time.UTC),
			}}},
		},
		"time with an offset": {
			text: `{"kind":"status-update","status":{"state":"working","timestamp":"2025-07-31T09:10:11+09:00"}}`,
			want: a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{
				State: a2a.StateWorking, Time: time.Date(2025, 7, 31, 0, 10, 11, 0, time.UTC),
			}}},
		},
		"parts without a kind": {
			text: `{"kind":"message","parts":[{"text":"hi"},{"type":"text","text":"hi"},{"type":"text","kind":"text","text":"hi"}]}`,
			want: a2a.Event{Message: &a2a.Message{Role: a2a.RoleAgent, Parts: []a2a.Part{text[0], text[0], text[0]}}},
		},
		"a part where the artifact belongs": {
			text: `{"kind":"artifact-update","part":{"kind":"text","text":"hi"},"index":0,"timestamp":1}`,
			want: a2a.Event{Artifact: &a2a.ArtifactUpdate{Artifact: a2a.Artifact{Parts: text}}},
		},
		"nulls": {
			text: `{"kind":"task","id":"t","contextId":null,"artifacts":null,"history":null,"metadata":null,"status":{"state":"working","message":null}}`,
			want: a2a.Event{Task: &a2a.Task{ID: "t", Status: a2a.Status{State: a2a.StateWorking}}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := DecodeEvent([]byte(test.text))
			if err != nil {
				t.Fatalf("DecodeEvent() error = %v", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("DecodeEvent() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeSend(t *testing.T) {
	hello := &a2a.Message{ID: "m1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("Hello")}}
	const message = `"message":{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"Hello"}]}`
	tests := map[string]struct {
		params string
		want   a2a.SendRequest
	}{
		"smallest": {params: `{` + message + `}`, want: a2a.SendRequest{Message: hello}},
		"configuration": {
			params: `{` + message + `,"configuration":{"acceptedOutputModes":["text/plain"],"blocking":false,"historyLength":3},"metadata":{"a": 1}}`,
			want: a2a.SendRequest{
				Message: hello, AcceptedOutputModes: []string{"text/plain"}, ReturnImmediately: true,
				HistoryLength: new(3), Metadata: a2a.Object(`{"a":1}`),
			},
		},
		"blocking": {params: `{` + message + `,"configuration":{"blocking":true}}`, want: a2a.SendRequest{Message: hello}},
		"nulls":    {params: `{` + message + `,"configuration":{"blocking":null,"historyLength":null,"pushNotificationConfig":null},"metadata":null}`, want: a2a.SendRequest{Message: hello}},
		"push": {
			params: `{` + message + `,"configuration":{"pushNotificationConfig":{"url":"https://x/","token":"t","authentication":{"schemes":["x","Basic"],"credentials":"c"}}}}`,
			want:   a2a.SendRequest{Message: hello, Push: &a2a.PushConfig{URL: "https://x/", Token: "t", Scheme: "Basic", Credentials: "c"}},
		},
		"message id beside the message": {
			params: `{"messageId":"m1","message":{"role":"user","parts":[{"type":"text","text":"Hello"}]}}`,
			want:   a2a.SendRequest{Message: hello},
		},
		"file bytes under data": {
			params: `{"message":{"messageId":"m1","role":"user","parts":[{"kind":"file","file":{"name":"a","data":"aGk="}}]}}`,
			want: a2a.SendRequest{Message: &a2a.Message{ID: "m1", Role: a2a.RoleUser, Parts: []a2a.Part{
				{Content: a2a.ContentRaw, Raw: []byte("hi"), Filename: "a"},
			}}},
		},
		"bytes and uri": {
			params: `{"message":{"messageId":"m1","role":"user","parts":[{"kind":"file","file":{"uri":"u","bytes":"aGk"}}]}}`,
			want: a2a.SendRequest{Message: &a2a.Message{ID: "m1", Role: a2a.RoleUser, Parts: []a2a.Part{
				{Content: a2a.ContentRaw, Raw: []byte("hi")},
			}}},
		},
		"unknown members": {params: `{"a":{"b":[]},"message-id":"no",` + message + `}`, want: a2a.SendRequest{Message: hello}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := jsondecode.V03.DecodeSend([]byte(test.params))
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
	tests := map[string]struct{ params, want string }{
		"no message":        {`{}`, "message: is required"},
		"case of a name":    {`{"Message":{"parts":[{"kind":"text","text":"x"}]}}`, "Message: must be spelled message"},
		"case inside":       {`{"message":{"role":"user","Role":"agent","parts":[{"kind":"text","text":"x"}]}}`, "message.Role: must be spelled role"},
		"case, not ASCII":   {`{"message":{"partſ":[],"parts":[{"kind":"text","text":"x"}]}}`, "message.partſ: must be spelled parts"},
		"no messageId":      {`{"message":{"role":"user","parts":[{"kind":"text","text":"x"}]}}`, "message.messageId: is required"},
		"empty messageId":   {`{"message":{"messageId":"","role":"user","parts":[{"kind":"text","text":"x"}]}}`, "message.messageId: is required"},
		"no role":           {`{"message":{"messageId":"m","parts":[{"kind":"text","text":"x"}]}}`, "message.role: is required"},
		"no parts":          {`{"message":{"messageId":"m","role":"user"}}`, "message.parts: must have at least one element"},
		"empty parts":       {`{"message":{"messageId":"m","role":"user","parts":[]}}`, "message.parts: must have at least one element"},
		"wrong kind":        {`{"message":{"kind":"task","parts":[{"kind":"text","text":"x"}]}}`, `message.kind: must be "message"`},
		"unknown part":      {`{"message":{"parts":[{"kind":"video"}]}}`, "message.parts[0].kind: must be text, file or data"},
		"part without kind": {`{"message":{"parts":[{}]}}`, "message.parts[0].kind: must be text, file or data"},
		"kind and type":     {`{"message":{"parts":[{"kind":"text","type":"data","text":"x"}]}}`, "message.parts[0].type: kind and type must be equal"},
		"text missing":      {`{"message":{"parts":[{"kind":"text","data":{}}]}}`, "message.parts[0].text: is required"},
		"text null":         {`{"message":{"parts":[{"kind":"text","text":null}]}}`, "message.parts[0].text: is required"},
		"text not text":     {`{"message":{"parts":[{"kind":"text","text":1}]}}`, "message.parts[0].text: must be a string"},
		"file empty":        {`{"message":{"parts":[{"kind":"file","file":{}}]}}`, "message.parts[0].file.bytes: is required unless uri is set"},
		"data no object":    {`{"message":{"parts":[{"kind":"data","data":[1]}]}}`, "message.parts[0].data: must be an object"},
		"role":              {`{"message":{"role":"system","parts":[{"kind":"text","text":"x"}]}}`, `message.role: must be "user" or "agent"`},
		"history":           {`{"message":{"role":"user","parts":[{"kind":"text","text":"x"}]},"configuration":{"historyLength":-1}}`, "configuration.historyLength: must not be negative"},
		"push without url":  {`{"message":{"role":"user","parts":[{"kind":"text","text":"x"}]},"configuration":{"pushNotificationConfig":{}}}`, "configuration.pushNotificationConfig.url: is required"},
		"metadata":          {`{"message":{"role":"user","parts":[{"kind":"text","text":"x"}]},"metadata":[]}`, "metadata: must be an object"},
		"params a list":     {`[]`, "must be an object"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := jsondecode.V03.DecodeSend([]byte(test.params)); err == nil || err.Error() != test.want {
				t.Errorf("DecodeSend() error = %v, want %s", err, test.want)
			}
		})
	}
}

func TestDecodeTaskParams(t *testing.T) {
	get, err := jsondecode.V03.DecodeGet([]byte(`{"id":"t1","historyLength":0,"metadata":{}}`))
	if diff := cmp.Diff(&a2a.GetRequest{TaskID: "t1", HistoryLength: new(0)}, get); diff != "" || err != nil {
		t.Errorf("DecodeGet() (-want +got):\n%s%v", diff, err)
	}
	cancel, err := jsondecode.V03.DecodeCancel([]byte(`{"id":"t1","metadata":{"a":1}}`))
	if diff := cmp.Diff(&a2a.CancelRequest{TaskID: "t1", Metadata: a2a.Object(`{"a":1}`)}, cancel); diff != "" || err != nil {
		t.Errorf("DecodeCancel() (-want +got):\n%s%v", diff, err)
	}
	subscribe, err := jsondecode.V03.DecodeSubscribe([]byte(`{"id":"t1"}`))
	if diff := cmp.Diff(&a2a.SubscribeRequest{TaskID: "t1"}, subscribe); diff != "" || err != nil {
		t.Errorf("DecodeSubscribe() (-want +got):\n%s%v", diff, err)
	}
	for _, params := range []string{`{}`, `{"id":""}`, `{"id":1}`, `{"ID":"t"}`, `{"id":"t","historyLength":-1}`, `{"id":"t","historyLength":"1"}`} {
		if got, err := jsondecode.V03.DecodeGet([]byte(params)); err == nil {
			t.Errorf("DecodeGet(%s) = %+v, want an error", params, got)
		}
	}
}

func FuzzDecodeEvent(f *testing.F) {
	for _, event := range codectest.Events() {
		f.Add(AppendEvent(nil, &event))
	}
	f.Add([]byte(`{"kind":"message","parts":[{"kind":"data","data":{"value":1},"metadata":{"data_part_compat":true}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		event, err := DecodeEvent(text)
		if err != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("accepted what is not JSON: %q", text)
		}
		encoded := AppendEvent(nil, &event)
		if !json.Valid(encoded) {
			t.Fatalf("encoded what is not JSON: %q", encoded)
		}
		again, err := DecodeEvent(encoded)
		if err != nil {
			t.Fatalf("DecodeEvent(%s) error = %v", encoded, err)
		}
		if diff := cmp.Diff(event, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("DecodeEvent(AppendEvent()) (-want +got):\n%s", diff)
		}
	})
}

func FuzzDecodeSend(f *testing.F) {
	f.Add([]byte(`{"message":{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"Hello"}]},"configuration":{"blocking":false}}`))
	f.Fuzz(func(t *testing.T, params []byte) {
		if _, err := jsondecode.V03.DecodeSend(params); err == nil && !json.Valid(params) {
			t.Fatalf("accepted what is not JSON: %q", params)
		}
	})
}

func BenchmarkAppendEvent(b *testing.B) {
	event := codectest.Events()["chunk"]
	dst := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendEvent(dst[:0], &event)
	}
}

func BenchmarkDecodeSend(b *testing.B) {
	params := []byte(`{"message":{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"Hello"}]},"configuration":{"blocking":false}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jsondecode.V03.DecodeSend(params); err != nil {
			b.Fatal(err)
		}
	}
}
