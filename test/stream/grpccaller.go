// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	oldpb "github.com/a2aproject/a2a-go/a2apb"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// overGRPC calls a method on a new connection, and maps its error as jsonCaller does.
func overGRPC(ctx context.Context, address string, call func(context.Context, *grpc.ClientConn) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	err = call(ctx, conn)
	switch code := status.Code(err); {
	case code == codes.Unavailable, code == codes.DeadlineExceeded, code == codes.Canceled:
		return errAway
	case code == codes.Internal && strings.Contains(err.Error(), "RST_STREAM"): // of the client, for a broken connection
		return errAway
	case code == codes.FailedPrecondition:
		return errNotCancelable
	case err != nil:
		return fmt.Errorf("gRPC: %w", err)
	default:
		return nil
	}
}

// grpcCaller is a client of gRPC 1.0.
type grpcCaller struct{}

func (grpcCaller) send(ctx context.Context, address, text, id, conversation, webhook string) (t taskState, err error) {
	err = overGRPC(ctx, address, func(ctx context.Context, conn *grpc.ClientConn) error {
		response, err := pb.NewA2AServiceClient(conn).SendMessage(ctx, &pb.SendMessageRequest{
			Message: &pb.Message{MessageId: id, ContextId: conversation, Role: pb.Role_ROLE_USER, Parts: []*pb.Part{{Content: &pb.Part_Text{Text: text}}}},
			Configuration: &pb.SendMessageConfiguration{
				ReturnImmediately: true, TaskPushNotificationConfig: &pb.TaskPushNotificationConfig{Url: webhook},
			},
		})
		t = stateV10(response.GetTask())
		return err
	})
	return t, err
}

func (grpcCaller) get(ctx context.Context, address, id string) (t taskState, err error) {
	err = overGRPC(ctx, address, func(ctx context.Context, conn *grpc.ClientConn) error {
		response, err := pb.NewA2AServiceClient(conn).GetTask(ctx, &pb.GetTaskRequest{Id: id})
		t = stateV10(response)
		return err
	})
	return t, err
}

func (grpcCaller) cancel(ctx context.Context, address, id string) error {
	return overGRPC(ctx, address, func(ctx context.Context, conn *grpc.ClientConn) error {
		_, err := pb.NewA2AServiceClient(conn).CancelTask(ctx, &pb.CancelTaskRequest{Id: id})
		return err
	})
}

func (grpcCaller) list(ctx context.Context, address, conversation, page string) (tasks []taskState, next string, err error) {
	err = overGRPC(ctx, address, func(ctx context.Context, conn *grpc.ClientConn) error {
		size := int32(pageSize)
		response, err := pb.NewA2AServiceClient(conn).ListTasks(ctx, &pb.ListTasksRequest{ContextId: conversation, PageSize: &size, PageToken: page})
		for _, t := range response.GetTasks() {
			tasks = append(tasks, stateV10(t))
		}
		next = response.GetNextPageToken()
		return err
	})
	return tasks, next, err
}

func (grpcCaller) webhooks(ctx context.Context, address, id string) (urls []string, err error) {
	err = overGRPC(ctx, address, func(ctx context.Context, conn *grpc.ClientConn) error {
		response, err := pb.NewA2AServiceClient(conn).ListTaskPushNotificationConfigs(ctx, &pb.ListTaskPushNotificationConfigsRequest{TaskId: id})
		for _, each := range response.GetConfigs() {
			urls = append(urls, each.GetUrl())
		}
		return err
	})
	return urls, err
}

func (grpcCaller) addWebhook(ctx context.Context, address, id, config, webhook string) error {
	return overGRPC(ctx, address, func(ctx context.Context, conn *grpc.ClientConn) error {
		_, err := pb.NewA2AServiceClient(conn).CreateTaskPushNotificationConfig(ctx, &pb.TaskPushNotificationConfig{TaskId: id, Id: config, Url: webhook})
		return err
	})
}

func (grpcCaller) removeWebhook(ctx context.Context, address, id, config string) error {
	return overGRPC(ctx, address, func(ctx context.Context, conn *grpc.ClientConn) error {
		_, err := pb.NewA2AServiceClient(conn).DeleteTaskPushNotificationConfig(ctx, &pb.DeleteTaskPushNotificationConfigRequest{TaskId: id, Id: config})
		return err
	})
}

func stateV10(t *pb.Task) taskState {
	out := taskState{ID: t.GetId(), Status: taskStatus{State: t.GetStatus().GetState().String()}}
	for _, part := range t.GetStatus().GetMessage().GetParts() {
		out.Status.Message.add(part.GetText())
	}
	for _, each := range t.GetArtifacts() {
		var a taskArtifact
		for _, part := range each.GetParts() {
			a.add(part.GetText())
		}
		out.Artifacts = append(out.Artifacts, a)
	}
	return out
}

// grpcCallerV03 is a client of gRPC 0.3, which cannot list tasks. It lists them as a client of 1.0.
type grpcCallerV03 struct{ grpcCaller }

func (grpcCallerV03) send(ctx context.Context, address, text, id, conversation, webhook string) (t taskState, err error) {
	err = overGRPC(ctx, address, func(ctx context.Context, conn *grpc.ClientConn) error {
		response, err := oldpb.NewA2AServiceClient(conn).SendMessage(ctx, &oldpb.SendMessageRequest{
			Request:       &oldpb.Message{MessageId: id, ContextId: conversation, Role: oldpb.Role_ROLE_USER, Parts: []*oldpb.Part{{Part: &oldpb.Part_Text{Text: text}}}},
			Configuration: &oldpb.SendMessageConfiguration{PushNotification: &oldpb.PushNotificationConfig{Url: webhook}},
		})
		t = stateV03(response.GetTask())
		return err
	})
	return t, err
}

func (grpcCallerV03) get(ctx context.Context, address, id string) (t taskState, err error) {
	err = overGRPC(ctx, address, func(ctx context.Context, conn *grpc.ClientConn) error {
		response, err := oldpb.NewA2AServiceClient(conn).GetTask(ctx, &oldpb.GetTaskRequest{Name: "tasks/" + id})
		t = stateV03(response)
		return err
	})
	return t, err
}

func (grpcCallerV03) cancel(ctx context.Context, address, id string) error {
	return overGRPC(ctx, address, func(ctx context.Context, conn *grpc.ClientConn) error {
		_, err := oldpb.NewA2AServiceClient(conn).CancelTask(ctx, &oldpb.CancelTaskRequest{Name: "tasks/" + id})
		return err
	})
}

func (grpcCallerV03) webhooks(ctx context.Context, address, id string) (urls []string, err error) {
	err = overGRPC(ctx, address, func(ctx context.Context, conn *grpc.ClientConn) error {
		response, err := oldpb.NewA2AServiceClient(conn).ListTaskPushNotificationConfig(ctx, &oldpb.ListTaskPushNotificationConfigRequest{Parent: "tasks/" + id})
		for _, each := range response.GetConfigs() {
			urls = append(urls, each.GetPushNotificationConfig().GetUrl())
		}
		return err
	})
	return urls, err
}

func (grpcCallerV03) addWebhook(ctx context.Context, address, id, config, webhook string) error {
	return overGRPC(ctx, address, func(ctx context.Context, conn *grpc.ClientConn) error {
		_, err := oldpb.NewA2AServiceClient(conn).CreateTaskPushNotificationConfig(ctx, &oldpb.CreateTaskPushNotificationConfigRequest{
			Parent: "tasks/" + id, ConfigId: config,
			Config: &oldpb.TaskPushNotificationConfig{Name: configName(id, config), PushNotificationConfig: &oldpb.PushNotificationConfig{Id: config, Url: webhook}},
		})
		return err
	})
}

func (grpcCallerV03) removeWebhook(ctx context.Context, address, id, config string) error {
	return overGRPC(ctx, address, func(ctx context.Context, conn *grpc.ClientConn) error {
		_, err := oldpb.NewA2AServiceClient(conn).DeleteTaskPushNotificationConfig(ctx, &oldpb.DeleteTaskPushNotificationConfigRequest{Name: configName(id, config)})
		return err
	})
}

func configName(id, config string) string {
	return "tasks/" + id + "/pushNotificationConfigs/" + config
}

func stateV03(t *oldpb.Task) taskState {
	state := t.GetStatus().GetState().String()
	if t.GetStatus().GetState() == oldpb.TaskState_TASK_STATE_CANCELLED {
		state = "TASK_STATE_CANCELED"
	}
	out := taskState{ID: t.GetId(), Status: taskStatus{State: state}}
	for _, part := range t.GetStatus().GetUpdate().GetParts() {
		out.Status.Message.add(part.GetText())
	}
	for _, each := range t.GetArtifacts() {
		var a taskArtifact
		for _, part := range each.GetParts() {
			a.add(part.GetText())
		}
		out.Artifacts = append(out.Artifacts, a)
	}
	return out
}
