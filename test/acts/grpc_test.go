// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acts

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// grpcCaller calls a sidecar by gRPC.
type grpcCaller struct{ connection *grpc.ClientConn }

// messages are the types of the request and of the response of each operation.
var messages = map[string]struct{ request, response func() proto.Message }{
	"send_message":            {newMessage[pb.SendMessageRequest], newMessage[pb.SendMessageResponse]},
	"send_streaming_message":  {newMessage[pb.SendMessageRequest], newMessage[pb.StreamResponse]},
	"subscribe_to_task":       {newMessage[pb.SubscribeToTaskRequest], newMessage[pb.StreamResponse]},
	"get_task":                {newMessage[pb.GetTaskRequest], newMessage[pb.Task]},
	"cancel_task":             {newMessage[pb.CancelTaskRequest], newMessage[pb.Task]},
	"list_tasks":              {newMessage[pb.ListTasksRequest], newMessage[pb.ListTasksResponse]},
	"create_push_config":      {newMessage[pb.TaskPushNotificationConfig], newMessage[pb.TaskPushNotificationConfig]},
	"get_push_config":         {newMessage[pb.GetTaskPushNotificationConfigRequest], newMessage[pb.TaskPushNotificationConfig]},
	"list_push_configs":       {newMessage[pb.ListTaskPushNotificationConfigsRequest], newMessage[pb.ListTaskPushNotificationConfigsResponse]},
	"delete_push_config":      {newMessage[pb.DeleteTaskPushNotificationConfigRequest], newEmpty},
	"get_extended_agent_card": {newMessage[pb.GetExtendedAgentCardRequest], newMessage[pb.AgentCard]},
}

func newMessage[T any, P interface {
	*T
	proto.Message
}]() proto.Message {
	return P(new(T))
}

func newEmpty() proto.Message { return &emptypb.Empty{} }

func method(operation string) string { return "/lf.a2a.v1.A2AService/" + methods[operation] }

// request converts parameters in JSON.
func request(operation string, params map[string]any) (proto.Message, error) {
	text, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	if messages[operation].request == nil {
		return nil, errors.New("unknown operation " + operation)
	}
	in := messages[operation].request()
	return in, protojson.Unmarshal(text, in)
}

// toJSON returns the JSON of 1.0. It has the members that ListTasks always has, also if they are empty.
func toJSON(m proto.Message) (any, error) {
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	if page, ok := m.(*pb.ListTasksResponse); ok {
		v["nextPageToken"] = page.GetNextPageToken()
	}
	return v, nil
}

// outcome returns the response for the error of a call; nil is no error.
func outcome(err error) (*reply, error) {
	if err == nil {
		return &reply{status: http.StatusOK}, nil
	}
	s, ok := status.FromError(err)
	if !ok {
		return nil, err
	}
	p := &problem{message: s.Message(), native: int(s.Code())}
	for _, d := range s.Details() {
		m, ok := d.(proto.Message)
		if !ok {
			continue
		}
		v, err := toJSON(m)
		if err != nil {
			return nil, err
		}
		p.details = append(p.details, v)
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			p.reason = info.GetReason()
		}
	}
	return &reply{problem: p}, nil
}

func (c grpcCaller) call(ctx context.Context, operation string, params map[string]any) (*reply, error) {
	in, err := request(operation, params)
	if err != nil {
		return nil, err
	}
	out := messages[operation].response()
	r, err := outcome(c.connection.Invoke(ctx, method(operation), in, out))
	if err != nil || r.problem != nil {
		return r, err
	}
	r.body, err = toJSON(out)
	return r, err
}

func (c grpcCaller) stream(ctx context.Context, operation string, params map[string]any, handle func(map[string]any) bool) (*reply, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, err := request(operation, params)
	if err != nil {
		return nil, err
	}
	stream, err := c.connection.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method(operation))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(stream.SendMsg(in), stream.CloseSend()); err != nil {
		return nil, err
	}
	for {
		out := messages[operation].response()
		if err := stream.RecvMsg(out); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return outcome(err)
		}
		event, err := toJSON(out)
		if err != nil {
			return nil, err
		}
		if !handle(event.(map[string]any)) {
			return outcome(nil)
		}
	}
}
