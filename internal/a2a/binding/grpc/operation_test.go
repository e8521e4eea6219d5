// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"strings"
	"testing"

	v03 "github.com/a2aproject/a2a-go/a2apb"
	v10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	googlegrpc "google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

var (
	hello03 = &v03.SendMessageRequest{Request: &v03.Message{
		MessageId: "m1", Role: v03.Role_ROLE_USER, Parts: []*v03.Part{{Part: &v03.Part_Text{Text: "Hello"}}},
	}}
	hello10 = &v10.SendMessageRequest{Message: &v10.Message{
		MessageId: "m1", Role: v10.Role_ROLE_USER, Parts: []*v10.Part{{Content: &v10.Part_Text{Text: "Hello"}}},
	}}
	task03 = &v03.Task{
		Id: "t1", ContextId: "c1",
		Status: &v03.TaskStatus{State: v03.TaskState_TASK_STATE_WORKING, Timestamp: timestamppb.New(newYear)},
	}
	task10 = &v10.Task{
		Id: "t1", ContextId: "c1",
		Status: &v10.TaskStatus{State: v10.TaskState_TASK_STATE_WORKING, Timestamp: timestamppb.New(newYear)},
	}
)

func same(t *testing.T, got proto.Message, err error, want proto.Message) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func (x *fixture) wasAsked(t *testing.T, want any) {
	t.Helper()
	if diff := cmp.Diff(want, x.Last()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// TestWire20_SendMessage calls both services over one connection.
func TestWire20_SendMessage(t *testing.T) {
	x := newFixture(t, &fake{Event: a2a.Event{Task: newTask(a2a.StateWorking)}})
	got03, err := x.v03.SendMessage(t.Context(), hello03)
	same(t, got03, err, &v03.SendMessageResponse{Payload: &v03.SendMessageResponse_Task{Task: task03}})
	message := &a2a.Message{ID: "m1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("Hello")}}
	subject := &a2a.Subject{Principal: "system:anonymous", Owner: auth.AnonymousOwner}
	x.wasAsked(t, &a2a.SendRequest{Owner: auth.AnonymousOwner, Subject: subject, Dialect: a2a.DialectV03GRPC, Message: message})

	ctx := metadata.AppendToOutgoingContext(t.Context(), "a2a-version", "1.0.1", "traceparent", "00-1-2-00", "tracestate", "v=1", "baggage", "k=1", "baggage", "l=2")
	got10, err := x.v10.SendMessage(ctx, hello10)
	same(t, got10, err, &v10.SendMessageResponse{Payload: &v10.SendMessageResponse_Task{Task: task10}})
	x.wasAsked(t, &a2a.SendRequest{
		Owner: auth.AnonymousOwner, Subject: subject, Dialect: a2a.DialectV10GRPC, Message: message, Trace: a2a.TraceContext{Parent: "00-1-2-00", State: "v=1", Baggage: "k=1,l=2"},
	})

	x.Event = a2a.Event{Message: &a2a.Message{ID: "m2", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("Hi")}}}
	got03, err = x.v03.SendMessage(t.Context(), hello03)
	same(t, got03, err, &v03.SendMessageResponse{Payload: &v03.SendMessageResponse_Msg{Msg: &v03.Message{
		MessageId: "m2", Role: v03.Role_ROLE_AGENT, Parts: []*v03.Part{{Part: &v03.Part_Text{Text: "Hi"}}},
	}}})
	want := []httpcall.Outcome{
		{Binding: "grpc", Method: a2a.MethodSendMessage, Version: "0.3"},
		{Binding: "grpc", Method: a2a.MethodSendMessage, Version: "1.0"},
		{Binding: "grpc", Method: a2a.MethodSendMessage, Version: "0.3"},
	}
	if diff := cmp.Diff(want, x.outcomes(), cmpopts.IgnoreFields(httpcall.Outcome{}, "Started")); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
}

// TestWire20_Blocking checks requests of 0.3 whose field blocking is missing. Protobuf does
// not distinguish a missing field from false. In a configuration, both mean that the call
// does not wait. Without a configuration, the call waits.
func TestWire20_Blocking(t *testing.T) {
	x := newFixture(t, &fake{Event: a2a.Event{Task: newTask(a2a.StateWorking)}})
	for name, test := range map[string]struct {
		configuration *v03.SendMessageConfiguration
		immediately   bool
	}{
		"no configuration":    {nil, false},
		"empty configuration": {&v03.SendMessageConfiguration{}, true},
		"blocking":            {&v03.SendMessageConfiguration{Blocking: true}, false},
	} {
		if _, err := x.v03.SendMessage(t.Context(), &v03.SendMessageRequest{Request: hello03.GetRequest(), Configuration: test.configuration}); err != nil {
			t.Fatal(err)
		}
		if got := x.Last().(*a2a.SendRequest).ReturnImmediately; got != test.immediately {
			t.Errorf("%s: ReturnImmediately = %v", name, got)
		}
	}
}

func TestWire20_TaskNamesAndBareIDs(t *testing.T) {
	x := newFixture(t, &fake{Task: newTask(a2a.StateWorking)})
	for _, name := range []string{"tasks/t1", "t1"} {
		got, err := x.v03.GetTask(t.Context(), &v03.GetTaskRequest{Name: name})
		same(t, got, err, task03)
		x.wasAsked(t, &a2a.GetRequest{Owner: auth.AnonymousOwner, TaskID: "t1"})
		got, err = x.v03.CancelTask(t.Context(), &v03.CancelTaskRequest{Name: name})
		same(t, got, err, task03)
		x.wasAsked(t, &a2a.CancelRequest{Owner: auth.AnonymousOwner, TaskID: "t1"})
	}
}

func TestWire20_Operations10(t *testing.T) {
	x := newFixture(t, &fake{Task: newTask(a2a.StateWorking), Page: &a2a.TaskPage{Tasks: []*a2a.Task{newTask(a2a.StateWorking)}, PageSize: 50, TotalSize: 1}})
	owner := a2a.Owner(auth.AnonymousOwner).In("acme")
	got, err := x.v10.GetTask(t.Context(), &v10.GetTaskRequest{Tenant: "acme", Id: "t1", HistoryLength: proto.Int32(0)})
	same(t, got, err, task10)
	x.wasAsked(t, &a2a.GetRequest{Owner: owner, Tenant: "acme", TaskID: "t1", HistoryLength: new(0)})
	got, err = x.v10.CancelTask(t.Context(), &v10.CancelTaskRequest{Tenant: "acme", Id: "t1"})
	same(t, got, err, task10)
	x.wasAsked(t, &a2a.CancelRequest{Owner: owner, Tenant: "acme", TaskID: "t1"})
	page, err := x.v10.ListTasks(t.Context(), &v10.ListTasksRequest{Tenant: "acme", Status: v10.TaskState_TASK_STATE_WORKING})
	same(t, page, err, &v10.ListTasksResponse{Tasks: []*v10.Task{task10}, PageSize: 50, TotalSize: 1})
	x.wasAsked(t, &a2a.ListRequest{Owner: owner, Tenant: "acme", State: a2a.StateWorking})
}

func TestWire20_PushConfigs(t *testing.T) {
	config := &a2a.PushConfig{ID: "c", TaskID: "t1", URL: "https://x"}
	x := newFixture(t, &fake{Push: config, Pushes: &a2a.PushPage{Configs: []*a2a.PushConfig{config}, NextPageToken: "n"}})
	const name = "tasks/t1/pushNotificationConfigs/c"
	want03 := &v03.TaskPushNotificationConfig{Name: name, PushNotificationConfig: &v03.PushNotificationConfig{Id: "c", Url: "https://x"}}
	set03, err := x.v03.CreateTaskPushNotificationConfig(t.Context(), &v03.CreateTaskPushNotificationConfigRequest{
		Parent: "tasks/t1", ConfigId: "c", Config: want03,
	})
	same(t, set03, err, want03)
	x.wasAsked(t, &a2a.SetPushRequest{Owner: auth.AnonymousOwner, Config: a2a.PushConfig{Dialect: a2a.DialectV03, ID: "c", TaskID: "t1", URL: "https://x"}})
	get03, err := x.v03.GetTaskPushNotificationConfig(t.Context(), &v03.GetTaskPushNotificationConfigRequest{Name: name})
	same(t, get03, err, want03)
	x.wasAsked(t, &a2a.PushRequest{Owner: auth.AnonymousOwner, TaskID: "t1", ID: "c"})
	list03, err := x.v03.ListTaskPushNotificationConfig(t.Context(), &v03.ListTaskPushNotificationConfigRequest{Parent: "tasks/t1"})
	same(t, list03, err, &v03.ListTaskPushNotificationConfigResponse{Configs: []*v03.TaskPushNotificationConfig{want03}, NextPageToken: "n"})
	empty, err := x.v03.DeleteTaskPushNotificationConfig(t.Context(), &v03.DeleteTaskPushNotificationConfigRequest{Name: name})
	same(t, empty, err, &emptypb.Empty{})

	want10 := &v10.TaskPushNotificationConfig{Id: "c", TaskId: "t1", Url: "https://x"}
	set10, err := x.v10.CreateTaskPushNotificationConfig(t.Context(), want10)
	same(t, set10, err, want10)
	x.wasAsked(t, &a2a.SetPushRequest{Owner: auth.AnonymousOwner, Config: a2a.PushConfig{Dialect: a2a.DialectV10, ID: "c", TaskID: "t1", URL: "https://x"}})
	get10, err := x.v10.GetTaskPushNotificationConfig(t.Context(), &v10.GetTaskPushNotificationConfigRequest{TaskId: "t1", Id: "c"})
	same(t, get10, err, want10)
	list10, err := x.v10.ListTaskPushNotificationConfigs(t.Context(), &v10.ListTaskPushNotificationConfigsRequest{TaskId: "t1", PageSize: 1})
	same(t, list10, err, &v10.ListTaskPushNotificationConfigsResponse{Configs: []*v10.TaskPushNotificationConfig{want10}, NextPageToken: "n"})
	empty, err = x.v10.DeleteTaskPushNotificationConfig(t.Context(), &v10.DeleteTaskPushNotificationConfigRequest{TaskId: "t1", Id: "c"})
	same(t, empty, err, &emptypb.Empty{})
}

// TestWire20_AliasesOf02 checks that the RPCs of 0.2.2 to 0.2.4 use the messages of 0.3.
func TestWire20_AliasesOf02(t *testing.T) {
	config := &a2a.PushConfig{ID: "c", TaskID: "t1", URL: "https://x"}
	x := newFixture(t, &fake{Push: config, Pushes: &a2a.PushPage{Configs: []*a2a.PushConfig{config}}})
	want := &v03.TaskPushNotificationConfig{
		Name: "tasks/t1/pushNotificationConfigs/c", PushNotificationConfig: &v03.PushNotificationConfig{Id: "c", Url: "https://x"},
	}
	var got v03.TaskPushNotificationConfig
	err := x.conn.Invoke(t.Context(), "/a2a.v1.A2AService/CreateTaskPushNotification", &v03.CreateTaskPushNotificationConfigRequest{Parent: "tasks/t1", ConfigId: "c", Config: want}, &got)
	same(t, &got, err, want)
	err = x.conn.Invoke(t.Context(), "/a2a.v1.A2AService/GetTaskPushNotification", &v03.GetTaskPushNotificationConfigRequest{Name: "tasks/t1/pushNotifications/c"}, &got)
	same(t, &got, err, want)
	x.wasAsked(t, &a2a.PushRequest{Owner: auth.AnonymousOwner, TaskID: "t1", ID: "c"})
	var list v03.ListTaskPushNotificationConfigResponse
	err = x.conn.Invoke(t.Context(), "/a2a.v1.A2AService/ListTaskPushNotification", &v03.ListTaskPushNotificationConfigRequest{Parent: "tasks/t1"}, &list)
	same(t, &list, err, &v03.ListTaskPushNotificationConfigResponse{Configs: []*v03.TaskPushNotificationConfig{want}})
}

func TestWire20_Extensions(t *testing.T) {
	x := newFixture(t, &fake{Event: a2a.Event{Task: newTask(a2a.StateWorking)}})
	x.card.Capabilities.Extensions = []card.Extension{{URI: "https://a/1", Required: true}, {URI: "https://a/2"}}
	for _, name := range []string{"a2a-extensions", "x-a2a-extensions"} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), name, "https://a/2, https://a/9", name, "https://a/1")
		var head metadata.MD
		if _, err := x.v10.SendMessage(ctx, hello10, googlegrpc.Header(&head)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(head.Get(name), "|"); got != "https://a/1, https://a/2" {
			t.Errorf("%s = %q", name, got)
		}
		if diff := cmp.Diff([]string{"https://a/1", "https://a/2"}, x.Last().(*a2a.SendRequest).Extensions); diff != "" {
			t.Errorf("extensions (-want +got):\n%s", diff)
		}
	}
}

func TestWire20_BigMessages(t *testing.T) {
	text := strings.Repeat("x", 900<<10)
	x := newFixture(t, &fake{Event: a2a.Event{Message: &a2a.Message{ID: "m", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(text)}}}})
	big := proto.CloneOf(hello10)
	big.Message.Parts[0] = &v10.Part{Content: &v10.Part_Raw{Raw: []byte(text)}}
	got, err := x.v10.SendMessage(t.Context(), big)
	if err != nil || got.GetMessage().GetParts()[0].GetText() != text || string(x.Last().(*a2a.SendRequest).Message.Parts[0].Raw) != text {
		t.Errorf("a message of %d bytes is answered with %v", len(text), err)
	}
}

func TestWire20_ExtendedCard(t *testing.T) {
	x := newFixture(t, &fake{})
	x.extended = func(form card.Form) ([]byte, error) {
		if form == card.FormV10 {
			return []byte(`{"name":"Ten","supportedInterfaces":[{"url":"u","protocolBinding":"GRPC","protocolVersion":"1.0"}],` +
				`"securitySchemes":{"b":{"httpAuthSecurityScheme":{"scheme":"bearer"}}},"securityRequirements":[{"schemes":{"b":{"list":[]}}}],"another":1}`), nil
		}
		return []byte(`{"name":"Three","protocolVersion":"0.3.0","iconUrl":"i","capabilities":{"streaming":true,"stateTransitionHistory":false},` +
			`"securitySchemes":{"b":{"httpAuthSecurityScheme":{"scheme":"bearer","bearerFormat":"JWT"}},"k":{"apiKeySecurityScheme":{"location":"header","name":"X"}},"z":{"newSecurityScheme":{}}},` +
			`"security":[{"schemes":{"b":{"list":[]}}},{"schemes":{"k":{"list":["s"]}}}],"skills":[{"id":"s","name":"S","security":[{"schemes":{"b":{"list":["x"]}}}]}]}`), nil
	}
	got10, err := x.v10.GetExtendedAgentCard(t.Context(), &v10.GetExtendedAgentCardRequest{Tenant: "a"})
	same(t, got10, err, &v10.AgentCard{
		Name:                "Ten",
		SupportedInterfaces: []*v10.AgentInterface{{Url: "u", ProtocolBinding: "GRPC", ProtocolVersion: "1.0"}},
		SecuritySchemes: map[string]*v10.SecurityScheme{"b": {Scheme: &v10.SecurityScheme_HttpAuthSecurityScheme{
			HttpAuthSecurityScheme: &v10.HTTPAuthSecurityScheme{Scheme: "bearer"},
		}}},
		SecurityRequirements: []*v10.SecurityRequirement{{Schemes: map[string]*v10.StringList{"b": {}}}},
	})
	got03, err := x.v03.GetAgentCard(t.Context(), &v03.GetAgentCardRequest{})
	same(t, got03, err, &v03.AgentCard{
		Name: "Three", ProtocolVersion: "0.3.0", IconUrl: "i", Capabilities: &v03.AgentCapabilities{Streaming: true},
		SecuritySchemes: map[string]*v03.SecurityScheme{
			"b": {Scheme: &v03.SecurityScheme_HttpAuthSecurityScheme{HttpAuthSecurityScheme: &v03.HTTPAuthSecurityScheme{Scheme: "bearer", BearerFormat: "JWT"}}},
			"k": {Scheme: &v03.SecurityScheme_ApiKeySecurityScheme{ApiKeySecurityScheme: &v03.APIKeySecurityScheme{Location: "header", Name: "X"}}},
			"z": {},
		},
		Security: []*v03.Security{{Schemes: map[string]*v03.StringList{"b": {}}}, {Schemes: map[string]*v03.StringList{"k": {List: []string{"s"}}}}},
		Skills:   []*v03.AgentSkill{{Id: "s", Name: "S", Security: []*v03.Security{{Schemes: map[string]*v03.StringList{"b": {List: []string{"x"}}}}}}},
	})
}
