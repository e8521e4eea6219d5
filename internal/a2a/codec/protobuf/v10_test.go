// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf_test

import (
	"testing"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	officialjson "google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protobuf"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/test/codectest"
)

// TestV10AppendEventEqualsTheGeneratedEncoding checks that the codec encodes each event
// like the generated code, which reads the event from the JSON of 1.0.
func TestV10AppendEventEqualsTheGeneratedEncoding(t *testing.T) {
	for name, event := range codectest.Events() {
		t.Run(name, func(t *testing.T) {
			var want, got a2apb.StreamResponse
			if err := officialjson.Unmarshal(protojson.V10.AppendEvent(nil, &event), &want); err != nil {
				t.Fatal(err)
			}
			if err := proto.Unmarshal(protobuf.V10.AppendEvent(nil, &event), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&want, &got, protocmp.Transform()); diff != "" {
				t.Errorf("AppendEvent() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestV10AppendTask(t *testing.T) {
	var want, got a2apb.Task
	if err := officialjson.Unmarshal(protojson.V10.AppendTask(nil, codectest.Task()), &want); err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(protobuf.V10.AppendTask(nil, codectest.Task()), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, &got, protocmp.Transform()); diff != "" {
		t.Errorf("AppendTask() (-want +got):\n%s", diff)
	}
}

func TestV10AppendPages(t *testing.T) {
	var tasks a2apb.ListTasksResponse
	page := &a2a.TaskPage{Tasks: []*a2a.Task{{ID: "a"}, {ID: "b"}}, NextPageToken: "n", PageSize: 2, TotalSize: 300}
	want := &a2apb.ListTasksResponse{
		Tasks:         []*a2apb.Task{{Id: "a", Status: &a2apb.TaskStatus{}}, {Id: "b", Status: &a2apb.TaskStatus{}}},
		NextPageToken: "n", PageSize: 2, TotalSize: 300,
	}
	if err := proto.Unmarshal(protobuf.V10.AppendTaskPage(nil, page), &tasks); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, &tasks, protocmp.Transform()); diff != "" {
		t.Errorf("AppendTaskPage() (-want +got):\n%s", diff)
	}
	var configs a2apb.ListTaskPushNotificationConfigsResponse
	push := &a2a.PushPage{NextPageToken: "n", Configs: []*a2a.PushConfig{
		{ID: "c", TaskID: "t", URL: "u", Token: "k", Scheme: "Bearer", Credentials: "s"}, {ID: "d", TaskID: "t", URL: "u"},
	}}
	wantPush := &a2apb.ListTaskPushNotificationConfigsResponse{NextPageToken: "n", Configs: []*a2apb.TaskPushNotificationConfig{
		{
			Id: "c", TaskId: "t", Url: "u", Token: "k",
			Authentication: &a2apb.AuthenticationInfo{Scheme: "Bearer", Credentials: "s"},
		}, {Id: "d", TaskId: "t", Url: "u"},
	}}
	if err := proto.Unmarshal(protobuf.V10.AppendPushPage(nil, push), &configs); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantPush, &configs, protocmp.Transform()); diff != "" {
		t.Errorf("AppendPushPage() (-want +got):\n%s", diff)
	}
}

// marshal returns the binary form of a request, from its ProtoJSON.
func marshal(t *testing.T, m proto.Message, text string) []byte {
	t.Helper()
	if err := officialjson.Unmarshal([]byte(text), m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	out, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestV10DecodeSendEqualsThatOfJSON checks that a request has the same meaning and the same
// errors in protobuf and in JSON.
func TestV10DecodeSendEqualsThatOfJSON(t *testing.T) {
	const message = `"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"Hello"}]}`
	for name, text := range map[string]string{
		"smallest":      `{` + message + `}`,
		"configuration": `{"tenant":"acme",` + message + `,"configuration":{"acceptedOutputModes":["a"],"historyLength":2,"returnImmediately":true},"metadata":{"a":1}}`,
		"no history":    `{` + message + `,"configuration":{"historyLength":0}}`,
		"push":          `{` + message + `,"configuration":{"taskPushNotificationConfig":{"url":"u","token":"k","authentication":{"scheme":"Bearer","credentials":"c"}}}}`,
		"everything":    string(protojson.V10.AppendEvent(nil, &a2a.Event{Message: codectest.Message()})),
		"data null":     `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"data":null}]}}`,
		"bytes":         `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"raw":"aGk=","filename":"f","mediaType":"a/b"},{"raw":""}]}}`,
		"no message":    `{}`,
		"no id":         `{"message":{"role":"ROLE_USER","parts":[{"text":"x"}]}}`,
		"no role":       `{"message":{"messageId":"m","parts":[{"text":"x"}]}}`,
		"no parts":      `{"message":{"messageId":"m","role":"ROLE_USER"}}`,
		"no content":    `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"},{"metadata":{}}]}}`,
		"tenant":        `{"tenant":"a/b",` + message + `}`,
		"history":       `{` + message + `,"configuration":{"historyLength":-1}}`,
		"push nowhere":  `{` + message + `,"configuration":{"taskPushNotificationConfig":{}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			want, wantErr := protojson.V10.DecodeSend([]byte(text))
			got, err := protobuf.V10.DecodeSend(marshal(t, &a2apb.SendMessageRequest{}, text))
			if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
				t.Fatalf("DecodeSend() error = %v, want %v", err, wantErr)
			}
			if diff := cmp.Diff(want, got, plain); diff != "" && err == nil {
				t.Errorf("DecodeSend() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestV10ClientRequests(t *testing.T) {
	send := &a2a.SendRequest{
		Tenant: "acme", Message: codectest.Message(), AcceptedOutputModes: []string{"a"}, HistoryLength: new(0),
		ReturnImmediately: true, Metadata: a2a.Object(`{"a":1}`), Push: &a2a.PushConfig{Dialect: a2a.DialectV10, URL: "u", Scheme: "Basic"},
	}
	testClient(t, clientV10, send, &a2a.GetRequest{Tenant: "a", TaskID: "t", HistoryLength: new(0)},
		&a2a.CancelRequest{Tenant: "a", TaskID: "t", Metadata: a2a.Object(`{"b":[]}`)}, &a2a.SubscribeRequest{Tenant: "a", TaskID: "t"})
}

func TestV10DecodeRequests(t *testing.T) {
	var (
		get       = describeResult(protobuf.V10.DecodeGet)
		list      = describeResult(protobuf.V10.DecodeList)
		cancel    = describeResult(protobuf.V10.DecodeCancel)
		subscribe = describeResult(protobuf.V10.DecodeSubscribe)
		setPush   = describeResult(protobuf.V10.DecodeSetPush)
		push      = describeResult(protobuf.V10.DecodePush)
		listPush  = describeResult(protobuf.V10.DecodeListPush)
		card      = describeResult(protobuf.V10.DecodeExtendedCard)
	)
	tests := map[string]decodeTest{
		"get":                                {get, &a2apb.GetTaskRequest{Tenant: "a", Id: "t", HistoryLength: new(int32)}, &a2a.GetRequest{Tenant: "a", TaskID: "t", HistoryLength: new(0)}},
		"get without id":                     {get, &a2apb.GetTaskRequest{}, "id: is required"},
		"get with a negative history length": {get, &a2apb.GetTaskRequest{Id: "t", HistoryLength: proto.Int32(-1)}, "historyLength: must not be negative"},
		"cancel":                             {cancel, &a2apb.CancelTaskRequest{Id: "t"}, &a2a.CancelRequest{TaskID: "t"}},
		"cancel nothing":                     {cancel, &a2apb.CancelTaskRequest{}, "id: is required"},
		"subscribe":                          {subscribe, &a2apb.SubscribeToTaskRequest{Tenant: "a", Id: "t"}, &a2a.SubscribeRequest{Tenant: "a", TaskID: "t"}},
		"subscribe to no":                    {subscribe, &a2apb.SubscribeToTaskRequest{}, "id: is required"},
		"list":                               {list, &a2apb.ListTasksRequest{}, &a2a.ListRequest{}},
		"list with all parameters": {
			list,
			&a2apb.ListTasksRequest{
				Tenant: "a", ContextId: "c", Status: a2apb.TaskState_TASK_STATE_CANCELED, PageSize: proto.Int32(100), PageToken: "p",
				HistoryLength: proto.Int32(3), IncludeArtifacts: new(true),
			},
			&a2a.ListRequest{
				Tenant: "a", ContextID: "c", State: a2a.StateCanceled, PageSize: 100, PageToken: "p", HistoryLength: new(3), IncludeArtifacts: true,
			},
		},
		"list none":          {list, &a2apb.ListTasksRequest{PageSize: proto.Int32(-1)}, "pageSize: must be between 1 and 100"},
		"list, size 0":       {list, &a2apb.ListTasksRequest{PageSize: proto.Int32(0)}, &a2a.ListRequest{}},
		"list too many":      {list, &a2apb.ListTasksRequest{PageSize: proto.Int32(101)}, "pageSize: must be between 1 and 100"},
		"list another state": {list, &a2apb.ListTasksRequest{Status: 9}, "status: must be a task state"},
		"set push": {
			setPush, &a2apb.TaskPushNotificationConfig{Tenant: "a", Id: "c", TaskId: "t", Url: "u"},
			&a2a.SetPushRequest{Tenant: "a", Config: a2a.PushConfig{Dialect: a2a.DialectV10, ID: "c", TaskID: "t", URL: "u"}},
		},
		"set push without a URL":              {setPush, &a2apb.TaskPushNotificationConfig{TaskId: "t"}, "url: is required"},
		"set push without a task":             {setPush, &a2apb.TaskPushNotificationConfig{Url: "u"}, "taskId: is required"},
		"push":                                {push, &a2apb.GetTaskPushNotificationConfigRequest{Tenant: "a", TaskId: "t", Id: "c"}, &a2a.PushRequest{Tenant: "a", TaskID: "t", ID: "c"}},
		"push without id":                     {push, &a2apb.DeleteTaskPushNotificationConfigRequest{TaskId: "t"}, "id: is required"},
		"list push":                           {listPush, &a2apb.ListTaskPushNotificationConfigsRequest{Tenant: "a", TaskId: "t", PageSize: 2, PageToken: "p"}, &a2a.ListPushRequest{Tenant: "a", TaskID: "t", PageSize: 2, PageToken: "p"}},
		"list push with a negative page size": {listPush, &a2apb.ListTaskPushNotificationConfigsRequest{TaskId: "t", PageSize: -2}, "pageSize: must not be negative"},
		"card":                                {card, &a2apb.GetExtendedAgentCardRequest{Tenant: "a"}, "a"},
		"card of a path":                      {card, &a2apb.GetExtendedAgentCardRequest{Tenant: `a\b`}, "tenant: must not contain a path separator"},
	}
	testDecode(t, tests)
}

func FuzzV10DecodeSend(f *testing.F) { fuzzDecodeSend(f, clientV10, &a2apb.SendMessageRequest{}) }
