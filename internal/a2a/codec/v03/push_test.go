// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v03

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsondecode"
	"github.com/a2a-operator/a2a-operator/test/codectest"
	"github.com/a2a-operator/a2a-operator/test/spec"
)

func TestPushSchemes(t *testing.T) {
	for schemes, want := range map[string]string{
		`["Bearer"]`: "Bearer", `["x","Basic","Bearer"]`: "Basic", `["x","bearer"]`: "bearer", `["x","y"]`: "x", `[]`: "",
	} {
		r, err := jsondecode.V03.DecodeSetPush([]byte(`{"taskId":"t","pushNotificationConfig":{"url":"u","authentication":{"schemes":` + schemes + `}}}`))
		if err != nil || r.Config.Scheme != want {
			t.Errorf("%s gives %q, %v, want %q", schemes, r.Config.Scheme, err, want)
		}
	}
}

// TestRequestsRoundTrip checks that decoding an encoded request returns the same request.
func TestRequestsRoundTrip(t *testing.T) {
	send := &a2a.SendRequest{
		Message: codectest.Message(), AcceptedOutputModes: []string{"text/plain"}, HistoryLength: new(0), ReturnImmediately: true,
		Metadata: a2a.Object(`{"a":1}`),
		Push:     &a2a.PushConfig{ID: "p", URL: "https://x/", Token: "t", Scheme: "Bearer", Credentials: "c"},
	}
	for _, r := range []*a2a.SendRequest{send, {Message: codectest.Message()}} {
		text := AppendSend(nil, r)
		got, err := jsondecode.V03.DecodeSend(text)
		if diff := cmp.Diff(r, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("DecodeSend(%s) (-want +got):\n%s%v", text, diff, err)
		}
		for _, version := range []string{"v0.2.6", "v0.3.0"} {
			if err := spec.Validate(version, "MessageSendParams", text); err != nil {
				t.Error(err)
			}
		}
	}
	for definition, text := range map[string]string{
		"TaskQueryParams": string(AppendGet(nil, &a2a.GetRequest{TaskID: "t1", HistoryLength: new(3)})),
		"TaskIdParams":    string(AppendCancel(nil, &a2a.CancelRequest{TaskID: "t1", Metadata: a2a.Object(`{"a":1}`)})),
	} {
		want := map[string]string{"TaskQueryParams": `{"id":"t1","historyLength":3}`, "TaskIdParams": `{"id":"t1","metadata":{"a":1}}`}[definition]
		if diff := cmp.Diff(want, text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", definition, diff)
		}
		if err := spec.Validate("v0.3.0", definition, []byte(text)); err != nil {
			t.Error(err)
		}
	}
	if got := string(AppendSubscribe(nil, &a2a.SubscribeRequest{TaskID: "t1"})); got != `{"id":"t1"}` {
		t.Errorf("AppendSubscribe() = %s", got)
	}
}

func FuzzDecodePush(f *testing.F) {
	f.Add([]byte(`{"taskId":"t1","pushNotificationConfig":{"id":"p","url":"u","token":"t","authentication":{"schemes":["x"],"credentials":"c"}}}`))
	f.Fuzz(func(t *testing.T, params []byte) {
		r, err := jsondecode.V03.DecodeSetPush(params)
		if err != nil {
			return
		}
		text := AppendPush(nil, &r.Config)
		again, err := jsondecode.V03.DecodeSetPush(text)
		if err != nil || !json.Valid(params) {
			t.Fatalf("DecodeSetPush(%q) error = %v", text, err)
		}
		if r.Config.Scheme == "" {
			r.Config.Credentials = "" // have no meaning without a scheme
		}
		if diff := cmp.Diff(r, again); diff != "" {
			t.Fatalf("DecodeSetPush(AppendPush()) (-want +got):\n%s", diff)
		}
	})
}

func FuzzDecodeList(f *testing.F) {
	f.Add([]byte(`{"contextId":"c","status":"working","pageSize":3,"pageToken":"p","statusTimestampAfter":"2026-01-01T00:00:00Z","includeArtifacts":true}`))
	f.Fuzz(func(t *testing.T, params []byte) {
		if r, err := jsondecode.V03.DecodeList(params); err == nil && (!json.Valid(params) || r.PageSize < 0 || r.PageSize > 100) {
			t.Fatalf("DecodeList(%q) = %+v", params, r)
		}
		if r, asked := jsondecode.DecodeFollow(params); asked && (!json.Valid(params) || r.TaskID == "") {
			t.Fatalf("DecodeFollow(%q) = %+v", params, r)
		}
	})
}
