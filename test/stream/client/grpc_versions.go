// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"strings"

	oldpb "github.com/a2aproject/a2a-go/a2apb"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/a2a-operator/a2a-operator/test/stream/history"
)

var grpcV10 = &grpcDialect{
	stream: func(ctx context.Context, conn *grpc.ClientConn, a *Request) (receiver, error) {
		c := pb.NewA2AServiceClient(conn)
		if a.Text == "" {
			stream, err := c.SubscribeToTask(ctx, &pb.SubscribeToTaskRequest{Id: a.TaskID})
			return streamV10{stream}, err
		}
		stream, err := c.SendStreamingMessage(ctx, &pb.SendMessageRequest{Message: &pb.Message{
			MessageId: a.MessageID, TaskId: a.TaskID, Role: pb.Role_ROLE_USER,
			Parts: []*pb.Part{{Content: &pb.Part_Text{Text: a.Text}}},
		}})
		return streamV10{stream}, err
	},
	read: func(ctx context.Context, conn *grpc.ClientConn, task string) (Item, error) {
		t, err := pb.NewA2AServiceClient(conn).GetTask(ctx, &pb.GetTaskRequest{Id: task})
		if err != nil {
			return Item{}, err
		}
		return taskV10(t), nil
	},
}

type streamV10 struct {
	grpc.ServerStreamingClient[pb.StreamResponse]
}

func (s streamV10) receive() (Item, error) {
	r, err := s.Recv()
	if err != nil {
		return Item{}, err
	}
	switch p := r.GetPayload().(type) {
	case *pb.StreamResponse_Task:
		return taskV10(p.Task), nil
	case *pb.StreamResponse_StatusUpdate:
		return Item{Event: history.Event{Kind: history.Status, State: stateOf(p.StatusUpdate.GetStatus().GetState().String())}, TaskID: p.StatusUpdate.GetTaskId()}, nil
	case *pb.StreamResponse_ArtifactUpdate:
		return Item{Event: history.Event{Kind: history.Chunk, Text: textV10(p.ArtifactUpdate.GetArtifact())}, TaskID: p.ArtifactUpdate.GetTaskId()}, nil
	}
	return Item{}, status.Error(codes.Internal, "no event")
}

func taskV10(t *pb.Task) Item {
	return Item{Event: history.Event{Kind: history.Snapshot, State: stateOf(t.GetStatus().GetState().String()), Text: textV10(t.GetArtifacts()...)}, TaskID: t.GetId()}
}

func textV10(artifacts ...*pb.Artifact) string {
	var b strings.Builder
	for _, a := range artifacts {
		for _, p := range a.GetParts() {
			b.WriteString(p.GetText())
		}
	}
	return b.String()
}

var grpcV03 = &grpcDialect{
	stream: func(ctx context.Context, conn *grpc.ClientConn, a *Request) (receiver, error) {
		c := oldpb.NewA2AServiceClient(conn)
		if a.Text == "" {
			stream, err := c.TaskSubscription(ctx, &oldpb.TaskSubscriptionRequest{Name: "tasks/" + a.TaskID})
			return streamV03{stream}, err
		}
		stream, err := c.SendStreamingMessage(ctx, &oldpb.SendMessageRequest{Request: &oldpb.Message{
			MessageId: a.MessageID, TaskId: a.TaskID, Role: oldpb.Role_ROLE_USER,
			Parts: []*oldpb.Part{{Part: &oldpb.Part_Text{Text: a.Text}}},
		}})
		return streamV03{stream}, err
	},
	read: func(ctx context.Context, conn *grpc.ClientConn, task string) (Item, error) {
		t, err := oldpb.NewA2AServiceClient(conn).GetTask(ctx, &oldpb.GetTaskRequest{Name: "tasks/" + task})
		if err != nil {
			return Item{}, err
		}
		return taskV03(t), nil
	},
}

type streamV03 struct {
	grpc.ServerStreamingClient[oldpb.StreamResponse]
}

func (s streamV03) receive() (Item, error) {
	r, err := s.Recv()
	if err != nil {
		return Item{}, err
	}
	switch p := r.GetPayload().(type) {
	case *oldpb.StreamResponse_Task:
		return taskV03(p.Task), nil
	case *oldpb.StreamResponse_StatusUpdate:
		return Item{Event: history.Event{Kind: history.Status, State: stateOf(p.StatusUpdate.GetStatus().GetState().String())}, TaskID: p.StatusUpdate.GetTaskId()}, nil
	case *oldpb.StreamResponse_ArtifactUpdate:
		return Item{Event: history.Event{Kind: history.Chunk, Text: textV03(p.ArtifactUpdate.GetArtifact())}, TaskID: p.ArtifactUpdate.GetTaskId()}, nil
	}
	return Item{}, status.Error(codes.Internal, "no event")
}

func taskV03(t *oldpb.Task) Item {
	return Item{Event: history.Event{Kind: history.Snapshot, State: stateOf(t.GetStatus().GetState().String()), Text: textV03(t.GetArtifacts()...)}, TaskID: t.GetId()}
}

func textV03(artifacts ...*oldpb.Artifact) string {
	var b strings.Builder
	for _, a := range artifacts {
		for _, p := range a.GetParts() {
			b.WriteString(p.GetText())
		}
	}
	return b.String()
}
