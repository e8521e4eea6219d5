// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf_test

import (
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/a2apb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protobuf"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/test/codectest"
	"github.com/a2a-operator/a2a-operator/test/prototest"
)

// TestV03AppendEventEqualsTheGeneratedEncoding checks that the codec encodes each event
// like the generated code, which reads the event from the ProtoJSON of 0.3.
func TestV03AppendEventEqualsTheGeneratedEncoding(t *testing.T) {
	for name, event := range codectest.Events() {
		t.Run(name, func(t *testing.T) {
			var want, got a2apb.StreamResponse
			text, err := prototest.MarshalV03("StreamResponse", protojson.V03.AppendEvent(nil, &event))
			if err != nil {
				t.Fatal(err)
			}
			if err := proto.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			if err := proto.Unmarshal(protobuf.V03.AppendEvent(nil, &event), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&want, &got, protocmp.Transform()); diff != "" {
				t.Errorf("AppendEvent() (-want +got):\n%s", diff)
			}
		})
	}
}

func object(t *testing.T, of map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(of)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func text(s string) *a2apb.Part { return &a2apb.Part{Part: &a2apb.Part_Text{Text: s}} }

func TestV03AppendEvent(t *testing.T) {
	task := codectest.Task()
	tests := map[string]struct {
		event a2a.Event
		want  *a2apb.StreamResponse
	}{
		"task": {
			a2a.Event{Task: &a2a.Task{
				ID: "t1", ContextID: "c1", Status: task.Status, Artifacts: task.Artifacts, Metadata: task.Metadata,
				History: []*a2a.Message{{ID: "m1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("Hello")}, Extensions: []string{"x"}}},
			}},
			&a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Task{Task: &a2apb.Task{
				Id: "t1", ContextId: "c1",
				Status: &a2apb.TaskStatus{
					State: a2apb.TaskState_TASK_STATE_WORKING, Timestamp: timestamppb.New(task.Status.Time),
					Update: &a2apb.Message{MessageId: "m2", ContextId: "c1", TaskId: "t1", Role: a2apb.Role_ROLE_AGENT, Parts: []*a2apb.Part{text("At it")}},
				},
				Artifacts: []*a2apb.Artifact{{
					ArtifactId: "a1", Name: "Answer", Description: "All of it", Parts: []*a2apb.Part{text("Hi"), text("")},
					Metadata: object(t, nil), Extensions: []string{"https://example.com/ext/1"},
				}},
				History:  []*a2apb.Message{{MessageId: "m1", Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{text("Hello")}, Extensions: []string{"x"}}},
				Metadata: object(t, map[string]any{"m": 1}),
			}}},
		},
		"parts": {
			a2a.Event{Message: &a2a.Message{ID: "m", Role: a2a.RoleAgent, Parts: []a2a.Part{
				{Content: a2a.ContentRaw, Raw: []byte("hi"), Filename: "h.txt", MediaType: "text/plain"},
				{Content: a2a.ContentURL, URL: "https://a.example/", Metadata: a2a.Object(`{"k":1}`)},
				{Content: a2a.ContentData, Data: a2a.Value(`{"a":[1,null]}`)},
				{Content: a2a.ContentData, Data: a2a.Value(`[1]`), Metadata: a2a.Object(`{"k":"v","data_part_compat":false}`)},
			}}},
			&a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Msg{Msg: &a2apb.Message{
				MessageId: "m", Role: a2apb.Role_ROLE_AGENT,
				Parts: []*a2apb.Part{
					{Part: &a2apb.Part_File{File: &a2apb.FilePart{
						File: &a2apb.FilePart_FileWithBytes{FileWithBytes: []byte("aGk=")}, MimeType: "text/plain", Name: "h.txt",
					}}},
					{
						Part:     &a2apb.Part_File{File: &a2apb.FilePart{File: &a2apb.FilePart_FileWithUri{FileWithUri: "https://a.example/"}}},
						Metadata: object(t, map[string]any{"k": 1}),
					},
					{Part: &a2apb.Part_Data{Data: &a2apb.DataPart{Data: object(t, map[string]any{"a": []any{1, nil}})}}},
					{
						Part:     &a2apb.Part_Data{Data: &a2apb.DataPart{Data: object(t, map[string]any{"value": []any{1}})}},
						Metadata: object(t, map[string]any{"data_part_compat": true, "k": "v"}),
					},
				},
			}}},
		},
		"canceled": {
			a2a.Event{Status: &a2a.StatusUpdate{TaskID: "t", ContextID: "c", Status: a2a.Status{State: a2a.StateCanceled}, Metadata: a2a.Object(`{}`)}},
			&a2apb.StreamResponse{Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{
				TaskId: "t", ContextId: "c", Final: true, Metadata: object(t, nil),
				Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_CANCELLED},
			}}},
		},
		"paused": {
			a2a.Event{Status: &a2a.StatusUpdate{TaskID: "t", Status: a2a.Status{State: a2a.StateInputRequired}, Paused: true}},
			&a2apb.StreamResponse{Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{
				TaskId: "t", Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_INPUT_REQUIRED},
			}}},
		},
		"chunk": {
			a2a.Event{Artifact: &a2a.ArtifactUpdate{
				TaskID: "t", ContextID: "c", Append: true, LastChunk: true, Metadata: a2a.Object(`{"n":true}`),
				Artifact: a2a.Artifact{ID: "a", Parts: []a2a.Part{a2a.TextPart("Hi")}},
			}},
			&a2apb.StreamResponse{Payload: &a2apb.StreamResponse_ArtifactUpdate{ArtifactUpdate: &a2apb.TaskArtifactUpdateEvent{
				TaskId: "t", ContextId: "c", Append: true, LastChunk: true, Metadata: object(t, map[string]any{"n": true}),
				Artifact: &a2apb.Artifact{ArtifactId: "a", Parts: []*a2apb.Part{text("Hi")}},
			}}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got a2apb.StreamResponse
			if err := proto.Unmarshal(protobuf.V03.AppendEvent(nil, &test.event), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, &got, protocmp.Transform()); diff != "" {
				t.Errorf("AppendEvent() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestV03AppendPushPage(t *testing.T) {
	var got a2apb.ListTaskPushNotificationConfigResponse
	page := &a2a.PushPage{NextPageToken: "n", Configs: []*a2a.PushConfig{
		{ID: "c", TaskID: "t", URL: "u", Token: "k", Scheme: "Bearer", Credentials: "s"}, {ID: "d", TaskID: "t", URL: "u"},
	}}
	want := &a2apb.ListTaskPushNotificationConfigResponse{NextPageToken: "n", Configs: []*a2apb.TaskPushNotificationConfig{
		{Name: "tasks/t/pushNotificationConfigs/c", PushNotificationConfig: &a2apb.PushNotificationConfig{
			Id: "c", Url: "u", Token: "k", Authentication: &a2apb.AuthenticationInfo{Schemes: []string{"Bearer"}, Credentials: "s"},
		}},
		{Name: "tasks/t/pushNotificationConfigs/d", PushNotificationConfig: &a2apb.PushNotificationConfig{Id: "d", Url: "u"}},
	}}
	if err := proto.Unmarshal(protobuf.V03.AppendPushPage(nil, page), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, &got, protocmp.Transform()); diff != "" {
		t.Errorf("AppendPushPage() (-want +got):\n%s", diff)
	}
}

func TestV03DecodeRequests(t *testing.T) {
	var (
		send      = describeResult(protobuf.V03.DecodeSend)
		get       = describeResult(protobuf.V03.DecodeGet)
		cancel    = describeResult(protobuf.V03.DecodeCancel)
		subscribe = describeResult(protobuf.V03.DecodeSubscribe)
		setPush   = describeResult(protobuf.V03.DecodeSetPush)
		push      = describeResult(protobuf.V03.DecodePush)
		listPush  = describeResult(protobuf.V03.DecodeListPush)
	)
	hello := &a2apb.Message{MessageId: "m", Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{text("Hello")}}
	sent := &a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("Hello")}}
	config := &a2apb.PushNotificationConfig{Url: "u"}
	long := strings.Repeat("x", 257)
	tests := map[string]decodeTest{
		"send":               {send, &a2apb.SendMessageRequest{Request: hello}, &a2a.SendRequest{Message: sent}},
		"send, empty config": {send, &a2apb.SendMessageRequest{Request: hello, Configuration: &a2apb.SendMessageConfiguration{}}, &a2a.SendRequest{Message: sent, ReturnImmediately: true}},
		"send, blocking":     {send, &a2apb.SendMessageRequest{Request: hello, Configuration: &a2apb.SendMessageConfiguration{Blocking: true}}, &a2a.SendRequest{Message: sent}},
		"send, no role":      {send, &a2apb.SendMessageRequest{Request: &a2apb.Message{MessageId: "m", Parts: hello.GetParts()}}, &a2a.SendRequest{Message: sent}},
		"send, no messageId": {send, &a2apb.SendMessageRequest{Request: &a2apb.Message{Role: a2apb.Role_ROLE_USER, Parts: hello.GetParts()}}, "message.messageId: is required"},
		"send, all": {
			send,
			&a2apb.SendMessageRequest{Request: hello, Metadata: object(t, map[string]any{"a": "b"}), Configuration: &a2apb.SendMessageConfiguration{
				AcceptedOutputModes: []string{"a"}, HistoryLength: 2, Blocking: true,
				PushNotification: &a2apb.PushNotificationConfig{Id: "p", Url: "u", Token: "k", Authentication: &a2apb.AuthenticationInfo{
					Schemes: []string{"x", "Basic"}, Credentials: "c",
				}},
			}},
			&a2a.SendRequest{
				Message: sent, Metadata: a2a.Object(`{"a":"b"}`), AcceptedOutputModes: []string{"a"}, HistoryLength: new(2),
				Push: &a2a.PushConfig{Dialect: a2a.DialectV03, ID: "p", URL: "u", Token: "k", Scheme: "Basic", Credentials: "c"},
			},
		},
		"send, nothing":    {send, &a2apb.SendMessageRequest{}, "message: is required"},
		"send, no parts":   {send, &a2apb.SendMessageRequest{Request: &a2apb.Message{}}, "message.content: must have at least one element"},
		"send, no content": {send, &a2apb.SendMessageRequest{Request: &a2apb.Message{Parts: []*a2apb.Part{{}}}}, "message.content[0]: must have exactly one of text, file, data"},
		"send, no file":    {send, &a2apb.SendMessageRequest{Request: &a2apb.Message{Parts: []*a2apb.Part{{Part: &a2apb.Part_File{File: &a2apb.FilePart{}}}}}}, "message.content[0].file: must have exactly one of fileWithUri, fileWithBytes"},
		"send, role":       {send, &a2apb.SendMessageRequest{Request: &a2apb.Message{Role: 3}}, "message.role: must be ROLE_USER or ROLE_AGENT"},
		"send, history":    {send, &a2apb.SendMessageRequest{Request: hello, Configuration: &a2apb.SendMessageConfiguration{HistoryLength: -1}}, "configuration.historyLength: must not be negative"},
		"send, push":       {send, &a2apb.SendMessageRequest{Request: hello, Configuration: &a2apb.SendMessageConfiguration{PushNotification: &a2apb.PushNotificationConfig{}}}, "configuration.pushNotification.url: is required"},

		"get":            {get, &a2apb.GetTaskRequest{Name: "tasks/t", HistoryLength: 1}, &a2a.GetRequest{TaskID: "t", HistoryLength: new(1)}},
		"get, unset":     {get, &a2apb.GetTaskRequest{Name: "tasks/t"}, &a2a.GetRequest{TaskID: "t"}},
		"get, bare":      {get, &a2apb.GetTaskRequest{Name: "t"}, &a2a.GetRequest{TaskID: "t"}},
		"get, nothing":   {get, &a2apb.GetTaskRequest{Name: "tasks/"}, "name: is required"},
		"get, long":      {get, &a2apb.GetTaskRequest{Name: long}, "name: has an id of more than 256 bytes"},
		"cancel":         {cancel, &a2apb.CancelTaskRequest{Name: "tasks/t"}, &a2a.CancelRequest{TaskID: "t"}},
		"cancel, bare":   {cancel, &a2apb.CancelTaskRequest{Name: "t"}, &a2a.CancelRequest{TaskID: "t"}},
		"subscribe":      {subscribe, &a2apb.TaskSubscriptionRequest{Name: "tasks/t"}, &a2a.SubscribeRequest{TaskID: "t"}},
		"subscribe bare": {subscribe, &a2apb.TaskSubscriptionRequest{Name: "t"}, &a2a.SubscribeRequest{TaskID: "t"}},

		"set push": {
			setPush, &a2apb.CreateTaskPushNotificationConfigRequest{Parent: "tasks/t", ConfigId: "c", Config: &a2apb.TaskPushNotificationConfig{
				Name: "tasks/t/pushNotificationConfigs/c", PushNotificationConfig: &a2apb.PushNotificationConfig{Id: "c", Url: "u"},
			}},
			&a2a.SetPushRequest{Config: a2a.PushConfig{TaskID: "t", ID: "c", URL: "u"}},
		},
		"set push, of all": {
			setPush, &a2apb.CreateTaskPushNotificationConfigRequest{Parent: "tasks/t/pushNotificationConfigs", Config: &a2apb.TaskPushNotificationConfig{PushNotificationConfig: config}},
			&a2a.SetPushRequest{Config: a2a.PushConfig{TaskID: "t", URL: "u"}},
		},
		"set push, by name": {
			setPush, &a2apb.CreateTaskPushNotificationConfigRequest{Config: &a2apb.TaskPushNotificationConfig{Name: "tasks/t/pushNotificationConfigs/c", PushNotificationConfig: config}},
			&a2a.SetPushRequest{Config: a2a.PushConfig{TaskID: "t", ID: "c", URL: "u"}},
		},
		"set push, two ids": {
			setPush, &a2apb.CreateTaskPushNotificationConfigRequest{Parent: "t", ConfigId: "c", Config: &a2apb.TaskPushNotificationConfig{
				PushNotificationConfig: &a2apb.PushNotificationConfig{Id: "d", Url: "u"},
			}}, "configId: differs from the value in config",
		},
		"set push, two tasks": {
			setPush, &a2apb.CreateTaskPushNotificationConfigRequest{Parent: "tasks/u", Config: &a2apb.TaskPushNotificationConfig{
				Name: "tasks/t/pushNotificationConfigs/c", PushNotificationConfig: config,
			}}, "parent: differs from the value in config",
		},
		"set push without a task": {setPush, &a2apb.CreateTaskPushNotificationConfigRequest{Config: &a2apb.TaskPushNotificationConfig{PushNotificationConfig: config}}, "parent: is required"},
		"set push, nothing":       {setPush, &a2apb.CreateTaskPushNotificationConfigRequest{Parent: "tasks/t"}, "config.pushNotificationConfig.url: is required"},

		"push":                           {push, &a2apb.GetTaskPushNotificationConfigRequest{Name: "tasks/t/pushNotificationConfigs/c"}, &a2a.PushRequest{TaskID: "t", ID: "c"}},
		"push, 0.2":                      {push, &a2apb.GetTaskPushNotificationConfigRequest{Name: "tasks/t/pushNotifications/c"}, &a2a.PushRequest{TaskID: "t", ID: "c"}},
		"push, bare":                     {push, &a2apb.DeleteTaskPushNotificationConfigRequest{Name: "t"}, &a2a.PushRequest{TaskID: "t"}},
		"list push":                      {listPush, &a2apb.ListTaskPushNotificationConfigRequest{Parent: "tasks/t", PageSize: 3, PageToken: "p"}, &a2a.ListPushRequest{TaskID: "t", PageSize: 3, PageToken: "p"}},
		"list with a negative page size": {listPush, &a2apb.ListTaskPushNotificationConfigRequest{Parent: "tasks/t", PageSize: -3}, "pageSize: must not be negative"},
	}
	testDecode(t, tests)
}

// TestV03FileBytes checks that the decoder accepts base64 in the field for the bytes, which
// SDKs send, and the bytes themselves, which other clients send.
func TestV03FileBytes(t *testing.T) {
	for sent, want := range map[string]string{"aGk=": "hi", "hi": "hi", "": "", "\xff": "\xff", "aGl=": "aGl=", "aG\nk=": "aG\nk="} {
		text, err := proto.Marshal(&a2apb.SendMessageRequest{Request: &a2apb.Message{MessageId: "m", Parts: []*a2apb.Part{
			{Part: &a2apb.Part_File{File: &a2apb.FilePart{File: &a2apb.FilePart_FileWithBytes{FileWithBytes: []byte(sent)}}}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := protobuf.V03.DecodeSend(text)
		if err != nil || string(got.Message.Parts[0].Raw) != want {
			t.Errorf("bytes %q are read as %+v, %v, want %q", sent, got.Message, err, want)
		}
	}
}

func TestV03ClientRequests(t *testing.T) {
	message := codectest.Message()
	message.ReferenceTasks = nil
	send := &a2a.SendRequest{
		Message: message, AcceptedOutputModes: []string{"a"}, HistoryLength: new(3), ReturnImmediately: true,
		Metadata: a2a.Object(`{"a":1}`), Push: &a2a.PushConfig{URL: "u", Scheme: "Basic"},
	}
	testClient(t, clientV03, send, &a2a.GetRequest{TaskID: "t", HistoryLength: new(1)},
		&a2a.CancelRequest{TaskID: "t"}, &a2a.SubscribeRequest{TaskID: "t"})
}

func FuzzV03DecodeSend(f *testing.F) { fuzzDecodeSend(f, clientV03, &a2apb.SendMessageRequest{}) }
