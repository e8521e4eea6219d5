// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protojson

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/test/codectest"
	"github.com/a2a-operator/a2a-operator/test/spec"
)

// TestV10RequestsRoundTrip checks that decoding an encoded request returns the same
// request.
func TestV10RequestsRoundTrip(t *testing.T) {
	send := &a2a.SendRequest{
		Tenant: "acme", Message: codectest.Message(), AcceptedOutputModes: []string{"text/plain"}, HistoryLength: new(0),
		ReturnImmediately: true, Metadata: a2a.Object(`{"a":1}`),
		Push: &a2a.PushConfig{Dialect: a2a.DialectV10, ID: "p", URL: "https://x/", Token: "t", Scheme: "Bearer", Credentials: "c"},
	}
	for _, r := range []*a2a.SendRequest{send, {Message: codectest.Message()}} {
		text := V10.AppendSend(nil, r)
		got, err := V10.DecodeSend(text)
		if diff := cmp.Diff(r, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("DecodeSend(%s) (-want +got):\n%s%v", text, diff, err)
		}
		if err := spec.Validate("v1.0.1", "SendMessageRequest", text); err != nil {
			t.Error(err)
		}
	}
	tests := map[string]struct{ got, want string }{
		"GetTaskRequest":         {string(V10.AppendGet(nil, &a2a.GetRequest{Tenant: "a", TaskID: "t1", HistoryLength: new(3)})), `{"id":"t1","historyLength":3,"tenant":"a"}`},
		"CancelTaskRequest":      {string(V10.AppendCancel(nil, &a2a.CancelRequest{TaskID: "t1", Metadata: a2a.Object(`{"a":1}`)})), `{"id":"t1","metadata":{"a":1}}`},
		"SubscribeToTaskRequest": {string(V10.AppendSubscribe(nil, &a2a.SubscribeRequest{Tenant: "a", TaskID: "t1"})), `{"id":"t1","tenant":"a"}`},
	}
	for definition, test := range tests {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", definition, diff)
		}
		if err := spec.Validate("v1.0.1", definition, []byte(test.got)); err != nil {
			t.Error(err)
		}
	}
}

func TestV10DecodeTask(t *testing.T) {
	want := codectest.Task()
	got, err := V10.DecodeTask(V10.AppendTask(nil, want))
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("DecodeTask(V10.AppendTask()) (-want +got):\n%s%v", diff, err)
	}
}

func FuzzV10DecodePush(f *testing.F) {
	f.Add([]byte(`{"tenant":"a","taskId":"t1","configId":"p","config":{"url":"u","token":"t","authentication":{"schemes":["x"],"credentials":"c"}}}`))
	f.Add([]byte(`{"task_id":"t1","id":"p","url":"u","pageSize":"3"}`))
	f.Fuzz(func(t *testing.T, params []byte) {
		if _, err := V10.DecodeGetPush(params); err == nil && !json.Valid(params) {
			t.Fatalf("DecodeGetPush accepts what is not JSON: %q", params)
		}
		if _, err := V10.DecodeListPush(params); err == nil && !json.Valid(params) {
			t.Fatalf("DecodeListPush accepts what is not JSON: %q", params)
		}
		r, err := V10.DecodeSetPush(params)
		if err != nil {
			return
		}
		again, err := V10.DecodeSetPush(V10.AppendPush(nil, &r.Config))
		if err != nil || !json.Valid(params) {
			t.Fatalf("DecodeSetPush(V10.AppendPush()) of %q error = %v", params, err)
		}
		if r.Config.Scheme == "" {
			r.Config.Credentials = "" // have no meaning without a scheme
		}
		if diff := cmp.Diff(r.Config, again.Config); diff != "" {
			t.Fatalf("DecodeSetPush(V10.AppendPush()) (-want +got):\n%s", diff)
		}
	})
}

func FuzzV10DecodeList(f *testing.F) {
	f.Add([]byte(`{"tenant":"a","contextId":"c","status":2,"pageSize":"3","pageToken":"p","statusTimestampAfter":"2026-01-01T00:00:00Z","include_artifacts":true}`))
	f.Fuzz(func(t *testing.T, params []byte) {
		if r, err := V10.DecodeList(params); err == nil && (!json.Valid(params) || r.PageSize < 0 || r.PageSize > 100) {
			t.Fatalf("DecodeList(%q) = %+v", params, r)
		}
	})
}
