// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"errors"
	"net/http"
	"testing"

	"connectrpc.com/connect"
	v03 "github.com/a2aproject/a2a-go/a2apb"
	v10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// web runs a test with a client of gRPC-Web over HTTP/1.1, and with one over HTTP/2.
func web(t *testing.T, x *fixture, test func(t *testing.T, client *http.Client, url string)) {
	t.Helper()
	for _, version := range []string{"HTTP/1.1", "HTTP/2"} {
		t.Run(version, func(t *testing.T) {
			transport := &http.Transport{Protocols: new(http.Protocols)}
			transport.Protocols.SetHTTP1(version == "HTTP/1.1")
			transport.Protocols.SetUnencryptedHTTP2(version == "HTTP/2")
			t.Cleanup(transport.CloseIdleConnections)
			test(t, &http.Client{Transport: transport}, "http://"+x.address)
		})
	}
}

func TestWire20_Web(t *testing.T) {
	x := newFixture(t, &fake{
		Task:      newTask(a2a.StateWorking),
		Records:   []*a2a.Record{snapshot(1, a2a.StateWorking), artifact(2, "Hi"), status(3, a2a.StateWorking)},
		StreamErr: a2a.ErrDraining,
	})
	web(t, x, func(t *testing.T, client *http.Client, url string) {
		get := connect.NewClient[v10.GetTaskRequest, v10.Task](client, url+"/lf.a2a.v1.A2AService/GetTask", connect.WithGRPCWeb(), connect.WithSendGzip())
		task, err := get.CallUnary(t.Context(), connect.NewRequest(&v10.GetTaskRequest{Id: "t1"}))
		if err != nil || task.Msg.GetId() != "t1" {
			t.Errorf("GetTask of 1.0 = %v, %v", task, err)
		}
		get03 := connect.NewClient[v03.GetTaskRequest, v03.Task](client, url+"/a2a.v1.A2AService/GetTask", connect.WithGRPCWeb())
		if task, err := get03.CallUnary(t.Context(), connect.NewRequest(&v03.GetTaskRequest{Name: "tasks/t1"})); err != nil || task.Msg.GetId() != "t1" {
			t.Errorf("GetTask of 0.3 = %v, %v", task, err)
		}
		follow := connect.NewClient[v10.SubscribeToTaskRequest, v10.StreamResponse](client, url+"/lf.a2a.v1.A2AService/SubscribeToTask", connect.WithGRPCWeb())
		stream, err := follow.CallServerStream(t.Context(), connect.NewRequest(&v10.SubscribeToTaskRequest{Id: "t1"}))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = stream.Close() }()
		var got []string
		for stream.Receive() {
			got = append(got, kind10(stream.Msg()))
		}
		if diff := cmp.Diff([]string{"task", "artifact", "TASK_STATE_WORKING"}, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if connect.CodeOf(stream.Err()) != connect.CodeUnavailable || stream.ResponseTrailer().Get("Last-Event-Id") != "3" {
			t.Errorf("end of the stream = %v, %v", stream.Err(), stream.ResponseTrailer())
		}
	})
}

func TestWire20_WebErrors(t *testing.T) {
	x := newFixture(t, &fake{Err: a2a.TaskNotFound("t9")})
	web(t, x, func(t *testing.T, client *http.Client, url string) {
		get := connect.NewClient[v10.GetTaskRequest, v10.Task](client, url+"/lf.a2a.v1.A2AService/GetTask", connect.WithGRPCWeb())
		wantConnectError := func(r *connect.Request[v10.GetTaskRequest], code connect.Code, reason string) {
			t.Helper()
			_, err := get.CallUnary(t.Context(), r)
			status, ok := errors.AsType[*connect.Error](err)
			if !ok || status.Code() != code || len(status.Details()) == 0 {
				t.Fatalf("GetTask = %v, want %v with details", err, code)
			}
			if detail, err := status.Details()[0].Value(); err != nil || detail.(*errdetails.ErrorInfo).GetReason() != reason {
				t.Errorf("detail = %v, %v, want %s", detail, err, reason)
			}
		}
		wantConnectError(connect.NewRequest(&v10.GetTaskRequest{Id: "t9"}), connect.CodeNotFound, "TASK_NOT_FOUND")
		denied := connect.NewRequest(&v10.GetTaskRequest{Id: "t9"})
		denied.Header().Set("Authorization", "forbidden")
		wantConnectError(denied, connect.CodePermissionDenied, "PERMISSION_DENIED")
	})
}
