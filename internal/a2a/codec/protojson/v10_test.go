// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protojson

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/test/codectest"
)

func TestV10AppendEvent(t *testing.T) {
	tests := map[string]appendTest{
		"a task that was created": {
			event: a2a.Event{Task: &a2a.Task{
				ID: "t1", ContextID: "c1",
				Status: a2a.Status{State: a2a.StateSubmitted, Time: newYear},
				History: []*a2a.Message{{
					ID: "m1", Role: a2a.RoleUser, TaskID: "t1", ContextID: "c1",
					Parts: []a2a.Part{a2a.TextPart("Hello")},
				}},
			}},
			want: `{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2026-01-01T00:00:00.000Z"},` +
				`"history":[{"messageId":"m1","contextId":"c1","taskId":"t1","role":"ROLE_USER","parts":[{"text":"Hello"}]}]}}`,
		},
		"an artifact chunk": {
			event: a2a.Event{Artifact: &a2a.ArtifactUpdate{
				TaskID: "t1", ContextID: "c1", LastChunk: true,
				Artifact: a2a.Artifact{ID: "a1", Parts: []a2a.Part{a2a.TextPart("Hi")}},
			}},
			want: `{"artifactUpdate":{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"a1","parts":[{"text":"Hi"}]},"lastChunk":true}}`,
		},
		"done": {
			event: a2a.Event{Status: &a2a.StatusUpdate{
				TaskID: "t1", ContextID: "c1",
				Status: a2a.Status{State: a2a.StateCompleted, Time: newYear},
			}},
			want: `{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-01T00:00:00.000Z"}}}`,
		},
		"canceled": {
			event: a2a.Event{Status: &a2a.StatusUpdate{TaskID: "t", ContextID: "c", Status: a2a.Status{State: a2a.StateCanceled}}},
			want:  `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_CANCELED"}}}`,
		},
		"all parts": {
			event: a2a.Event{Message: &a2a.Message{ID: "m", Role: a2a.RoleAgent, Parts: []a2a.Part{
				{Content: a2a.ContentRaw, Raw: []byte("hi"), Filename: "h.txt", MediaType: "text/plain"},
				{Content: a2a.ContentURL, URL: "https://a.example/x?a=1&b=<2>"},
				{Content: a2a.ContentData, Data: a2a.Value(`[1]`), MediaType: "application/json", Metadata: a2a.Object(`{"m":1}`)},
				{Content: a2a.ContentData},
				a2a.TextPart(""),
			}}},
			want: `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"raw":"aGk=","filename":"h.txt","mediaType":"text/plain"},` +
				`{"url":"https://a.example/x?a=1&b=<2>"},{"data":[1],"mediaType":"application/json","metadata":{"m":1}},{"data":null},{"text":""}]}}`,
		},
	}
	testAppendEvent(t, V10, tests)
}

func TestV10DecodeSend(t *testing.T) {
	hello := &a2a.Message{ID: "m1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("Hello")}}
	const message = `"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"Hello"}]}`
	tests := map[string]sendTest{
		"smallest":        {text: `{` + message + `}`, want: a2a.SendRequest{Message: hello}},
		"names of proto":  {text: `{"message":{"message_id":"m1","role":1,"parts":[{"text":"Hello","media_type":""}]}}`, want: a2a.SendRequest{Message: hello}},
		"unknown members": {text: `{"x":1,` + message + `,"messages":{}}`, want: a2a.SendRequest{Message: hello}},
		"configuration": {
			text: `{"tenant":"acme",` + message + `,"configuration":{"accepted_output_modes":["a"],"history_length":"2","return_immediately":true},"metadata":{"a":1}}`,
			want: a2a.SendRequest{
				Tenant: "acme", Message: hello, AcceptedOutputModes: []string{"a"}, HistoryLength: new(2),
				ReturnImmediately: true, Metadata: a2a.Object(`{"a":1}`),
			},
		},
		"empty configuration":       {text: `{` + message + `,"configuration":{}}`, want: a2a.SendRequest{Message: hello}},
		"blocking of the candidate": {text: `{` + message + `,"configuration":{"blocking":false}}`, want: a2a.SendRequest{Message: hello, ReturnImmediately: true}},
		"push": {
			text: `{` + message + `,"configuration":{"taskPushNotificationConfig":{"url":"u","authentication":{"scheme":"Bearer","credentials":"c"}}}}`,
			want: a2a.SendRequest{Message: hello, Push: &a2a.PushConfig{Dialect: a2a.DialectV10, URL: "u", Scheme: "Bearer", Credentials: "c"}},
		},
		"push nested": {
			text: `{` + message + `,"configuration":{"pushNotificationConfig":{"taskId":"t","config":{"url":"u","authentication":{"schemes":["Bearer"]}}}}}`,
			want: a2a.SendRequest{Message: hello, Push: &a2a.PushConfig{Dialect: a2a.DialectV10, TaskID: "t", URL: "u", Scheme: "Bearer"}},
		},
		"push of the candidate and 1.0": {
			text: `{` + message + `,"configuration":{"taskPushNotificationConfig":{"url":"u","authentication":{"scheme":"Digest","schemes":["Bearer"]}}}}`,
			want: a2a.SendRequest{Message: hello, Push: &a2a.PushConfig{Dialect: a2a.DialectV10, URL: "u", Scheme: "Digest"}},
		},
		"push of 1.0 and the candidate": {
			text: `{` + message + `,"configuration":{"taskPushNotificationConfig":{"url":"u","authentication":{"schemes":["Bearer"],"scheme":"Digest"}}}}`,
			want: a2a.SendRequest{Message: hello, Push: &a2a.PushConfig{Dialect: a2a.DialectV10, URL: "u", Scheme: "Digest"}},
		},
		"push with an empty scheme": {
			text: `{` + message + `,"configuration":{"taskPushNotificationConfig":{"url":"u","authentication":{"schemes":["Digest","basic"],"scheme":""}}}}`,
			want: a2a.SendRequest{Message: hello, Push: &a2a.PushConfig{Dialect: a2a.DialectV10, URL: "u", Scheme: "basic"}},
		},
		"base64 of URLs": {
			text: `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"raw":"-_8"}]}}`,
			want: a2a.SendRequest{Message: &a2a.Message{ID: "m1", Role: a2a.RoleUser, Parts: []a2a.Part{
				{Content: a2a.ContentRaw, Raw: []byte{0xfb, 0xff}},
			}}},
		},
	}
	testDecodeSend(t, V10, tests)
}

func TestV10DecodeSendRejectsInvalidRequests(t *testing.T) {
	tests := map[string]rejectTest{
		"no message":      {`{}`, "message: is required"},
		"no id":           {`{"message":{"role":"ROLE_USER","parts":[{"text":"x"}]}}`, "message.messageId: is required"},
		"no role":         {`{"message":{"messageId":"m","parts":[{"text":"x"}]}}`, "message.role: is required"},
		"unspecified":     {`{"message":{"messageId":"m","role":"ROLE_UNSPECIFIED","parts":[{"text":"x"}]}}`, "message.role: must be ROLE_USER or ROLE_AGENT"},
		"role 0":          {`{"message":{"messageId":"m","role":0,"parts":[{"text":"x"}]}}`, "message.role: must be ROLE_USER or ROLE_AGENT"},
		"no parts":        {`{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}`, "message.parts: must have at least one element"},
		"two contents":    {`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x","url":"y"}]}}`, "message.parts[0]: must have exactly one of text, raw, url, data"},
		"no content":      {`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"kind":"text"}]}}`, "message.parts[0]: must have exactly one of text, raw, url, data"},
		"both names":      {`{"message":{"messageId":"m","message_id":"m"}}`, "message.message_id: must not be set under two names"},
		"case of a name":  {`{"message":{"messageId":"m","ROLE":"ROLE_AGENT","role":"ROLE_USER","parts":[{"text":"x"}]}}`, "message.ROLE: must be spelled role"},
		"tenant":          {`{"tenant":"a/b","message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`, "tenant: must not contain a path separator"},
		"history":         {`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":{"historyLength":-1}}`, "configuration.historyLength: must not be negative"},
		"history float":   {`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":{"historyLength":1.5}}`, "configuration.historyLength: must be an integer of 32 bits"},
		"raw not base64":  {`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"!"}]}}`, "message.parts[0].raw: must be a base64 string"},
		"immediately":     {`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":{"returnImmediately":"yes"}}`, "configuration.returnImmediately: must be true or false"},
		"push without to": {`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":{"taskPushNotificationConfig":{}}}`, "configuration.taskPushNotificationConfig.url: is required"},
		"data null":       {`{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"data":null,"text":null}]}}`, "message.parts[0].data: must not be null, because some clients cannot read it"},
		"number":          {`{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"x"},{"data":{"a":[1e400]}}]}}`, "message.parts[1].data: must not have a number beyond 1.8e308, the range of a double"},
		"metadata":        {`{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"x"}],"metadata":{"a":-1e309}}}`, "message.metadata: must not have a number beyond 1.8e308, the range of a double"},
	}
	testDecodeSendRejects(t, V10, tests)
}

func TestV10DecodeTaskParams(t *testing.T) {
	get, err := V10.DecodeGet([]byte(`{"tenant":"a","id":"t1","historyLength":0}`))
	if diff := cmp.Diff(&a2a.GetRequest{Tenant: "a", TaskID: "t1", HistoryLength: new(0)}, get); diff != "" || err != nil {
		t.Errorf("DecodeGet() (-want +got):\n%s%v", diff, err)
	}
	cancel, err := V10.DecodeCancel([]byte(`{"id":"t1","metadata":{"a":1}}`))
	if diff := cmp.Diff(&a2a.CancelRequest{TaskID: "t1", Metadata: a2a.Object(`{"a":1}`)}, cancel); diff != "" || err != nil {
		t.Errorf("DecodeCancel() (-want +got):\n%s%v", diff, err)
	}
	subscribe, err := V10.DecodeSubscribe([]byte(`{"id":"t1"}`))
	if diff := cmp.Diff(&a2a.SubscribeRequest{TaskID: "t1"}, subscribe); diff != "" || err != nil {
		t.Errorf("DecodeSubscribe() (-want +got):\n%s%v", diff, err)
	}
	for _, params := range []string{`{}`, `{"id":""}`, `{"id":1}`, `{"Id":"t"}`, `{"id":"t","historyLength":-1}`} {
		if got, err := V10.DecodeGet([]byte(params)); err == nil {
			t.Errorf("DecodeGet(%s) = %+v, want an error", params, got)
		}
	}
}

func FuzzV10DecodeEvent(f *testing.F) {
	f.Add([]byte(`{"status_update":{"status":{"state":6}}}`))
	fuzzDecodeEvent(f, V10)
}

func FuzzV10DecodeSend(f *testing.F) {
	f.Add([]byte(`{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"Hello"}]},"configuration":{"returnImmediately":true}}`))
	f.Fuzz(func(t *testing.T, params []byte) {
		if _, err := V10.DecodeSend(params); err == nil && !json.Valid(params) {
			t.Fatalf("accepted what is not JSON: %q", params)
		}
	})
}

func BenchmarkV10AppendEvent(b *testing.B) {
	event := codectest.Events()["chunk"]
	dst := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		dst = V10.AppendEvent(dst[:0], &event)
	}
}
