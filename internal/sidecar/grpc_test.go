// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	v03 "github.com/a2aproject/a2a-go/a2apb"
	v10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// dial connects a gRPC client to the A2A endpoint.
func (p *pod) dial() *grpc.ClientConn {
	p.t.Helper()
	conn, err := grpc.NewClient(p.sidecar.Addresses().Agent, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// caller returns a context with the credential of an admitted caller.
func (p *pod) caller() context.Context {
	return metadata.AppendToOutgoingContext(p.t.Context(), "authorization", "Bearer "+p.token("team"))
}

var (
	hello03 = &v03.SendMessageRequest{Request: &v03.Message{
		MessageId: "m3", Role: v03.Role_ROLE_USER, Parts: []*v03.Part{{Part: &v03.Part_Text{Text: "Hello"}}},
	}}
	hello10 = &v10.SendMessageRequest{Message: &v10.Message{
		MessageId: "m10", Role: v10.Role_ROLE_USER, Parts: []*v10.Part{{Content: &v10.Part_Text{Text: "Hello"}}},
	}}
)

// The services of both versions and JSON-RPC return the same task.
func TestWire20_OneTaskByEveryService(t *testing.T) {
	p := newPod(t, respondHi, nil)
	conn := p.dial()
	old, recent := v03.NewA2AServiceClient(conn), v10.NewA2AServiceClient(conn)
	sent, err := old.SendMessage(p.caller(), hello03)
	if err != nil {
		t.Fatal(err)
	}
	id := sent.GetTask().GetId()
	if sent.GetTask().GetStatus().GetState() != v03.TaskState_TASK_STATE_COMPLETED || id == "" {
		t.Errorf("sent = %v", sent)
	}
	task, err := recent.GetTask(p.caller(), &v10.GetTaskRequest{Id: id})
	if err != nil || task.GetArtifacts()[0].GetParts()[0].GetText() != "Hi" {
		t.Errorf("task = %v, %v", task, err)
	}
	page, err := recent.ListTasks(p.caller(), &v10.ListTasksRequest{})
	if err != nil || page.GetTotalSize() != 1 || page.GetTasks()[0].GetId() != id {
		t.Errorf("page = %v, %v", page, err)
	}
	if _, body := p.do("POST", p.agent(), `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"`+id+`"}}`,
		"Authorization", "Bearer "+p.token("team")); !strings.Contains(body, `"state":"completed"`) {
		t.Errorf("by JSON-RPC = %s", body)
	}
	stream, err := recent.SendStreamingMessage(p.caller(), hello10)
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		last = event.GetStatusUpdate().GetStatus().GetState().String()
	}
	if last != "TASK_STATE_COMPLETED" {
		t.Errorf("the stream ends with %s", last)
	}
	// A task that does not exist, and a task in another tenant, are not found.
	for what, call := range map[string]func() error{
		"foreign": func() error { _, err := old.GetTask(p.caller(), &v03.GetTaskRequest{Name: "tasks/none"}); return err },
		"tenant": func() error {
			_, err := recent.GetTask(p.caller(), &v10.GetTaskRequest{Tenant: "acme", Id: id})
			return err
		},
	} {
		if err := call(); status.Code(err) != codes.NotFound {
			t.Errorf("%s: %v", what, err)
		}
	}
	want := `a2a_protocol_requests_total{binding="grpc",version="0.3"} `
	if _, metrics := p.do("GET", p.health("/metrics"), ""); !strings.Contains(metrics, want) {
		t.Errorf("metrics lack %s", want)
	}
}

func TestWire20_Access(t *testing.T) {
	p := newPod(t, respondHi, nil)
	conn := p.dial()
	client := v10.NewA2AServiceClient(conn)
	for name, test := range map[string]struct {
		token string
		code  codes.Code
	}{
		"nobody":  {"", codes.Unauthenticated},
		"foreign": {p.token("other"), codes.PermissionDenied},
		"bad":     {"x", codes.Unauthenticated},
	} {
		ctx := t.Context()
		if test.token != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+test.token)
		}
		_, err := client.SendMessage(ctx, hello10)
		if status.Code(err) != test.code || len(status.Convert(err).Details()) == 0 {
			t.Errorf("%s: %v", name, err)
		}
		stream, err := client.SendStreamingMessage(ctx, hello10)
		if err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != test.code {
			t.Errorf("%s, stream: %v", name, err)
		}
	}
	// A health check needs no credential.
	if got, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil || got.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health = %v, %v", got, err)
	}
}

// If the context of a client ends, the call ends, and the task still completes.
func TestWire20_TaskOutlivesItsCall(t *testing.T) {
	began, proceed := make(chan struct{}), make(chan struct{})
	p := newPod(t, func(w http.ResponseWriter, _ *http.Request) {
		close(began)
		<-proceed
		respondHi(w, nil)
	}, nil)
	client := v10.NewA2AServiceClient(p.dial())
	ctx, leave := context.WithCancel(p.caller())
	go func() {
		<-began
		leave()
	}()
	if _, err := client.SendMessage(ctx, hello10); status.Code(err) != codes.Canceled {
		t.Fatal(err)
	}
	close(proceed)
	p.eventually("the task of a client that left", func() bool {
		page, err := client.ListTasks(p.caller(), &v10.ListTasksRequest{})
		return err == nil && page.GetTotalSize() == 1 && page.GetTasks()[0].GetStatus().GetState() == v10.TaskState_TASK_STATE_COMPLETED
	})
}

func TestWire20_Draining(t *testing.T) {
	t.Parallel() // it waits most of the time
	p := newPod(t, respondHi, nil)
	conn := p.dial()
	p.drain()
	if _, err := v03.NewA2AServiceClient(conn).SendMessage(p.caller(), hello03); status.Code(err) != codes.Unavailable {
		t.Errorf("a new turn is answered with %v", err)
	}
	got, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil || got.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health = %v, %v", got, err)
	}
}

// TestPublicRequestsReadLittle checks that a request that needs no credential cannot use the
// memory for the bodies of authenticated ones.
func TestPublicRequestsReadLittle(t *testing.T) {
	p := newPod(t, respondHi, nil)
	_, err := healthpb.NewHealthClient(p.dial()).Check(t.Context(), &healthpb.HealthCheckRequest{Service: strings.Repeat("x", 2<<10)})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a health check of 2 KiB: %v, want RESOURCE_EXHAUSTED", err)
	}
	if used := p.sidecar.limits.HTTP().Bodies.Used(); used != 0 {
		t.Errorf("%d bytes of the budget of authenticated requests are in use", used)
	}
}
