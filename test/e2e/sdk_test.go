//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"iter"
	"net"
	"net/http"

	legacy "github.com/a2aproject/a2a-go/a2a"
	legacyclient "github.com/a2aproject/a2a-go/a2aclient"
	legacycard "github.com/a2aproject/a2a-go/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
)

// gRPC must not resolve names, because dialService resolves the names of Services.
func init() { resolver.SetDefaultScheme("passthrough") }

// task holds the members of a task that the tests check, of any SDK.
type task struct {
	ID    string
	State string
	Text  string
}

// event is a task or an update in a stream.
type event struct {
	TaskID string
	// State is "" for an event without a status.
	State string
	Text  string
}

// sdk is an official client that was created from an agent's card.
type sdk interface {
	send(ctx context.Context, text string) (task, error)
	stream(ctx context.Context, text string) iter.Seq2[event, error]
	get(ctx context.Context, id string) (task, error)
	cancel(ctx context.Context, id string) (task, error)
	resubscribe(ctx context.Context, id string) iter.Seq2[event, error]
}

// The states in the spelling of both SDKs.
var states = map[string]string{
	string(a2a.TaskStateCompleted): "completed", string(a2a.TaskStateFailed): "failed",
	string(a2a.TaskStateCanceled): "canceled", string(a2a.TaskStateWorking): "working",
	string(a2a.TaskStateSubmitted): "submitted", string(a2a.TaskStateInputRequired): "input-required",
}

func plain[S ~string](state S) string {
	if s, ok := states[string(state)]; ok {
		return s
	}
	return string(state)
}

// sdkV1 is a client of a2a-go v2 for protocol 1.0.
type sdkV1 struct{ client *a2aclient.Client }

func newSDKV1(ctx context.Context, client *http.Client, url string) (sdk, error) {
	return resolveV1(ctx, client, url, a2aclient.WithJSONRPCTransport(client))
}

func newSDKV1REST(ctx context.Context, client *http.Client, url string) (sdk, error) {
	return resolveV1(ctx, client, url, a2aclient.WithRESTTransport(client))
}

func newSDKV1GRPC(ctx context.Context, client *http.Client, url string) (sdk, error) {
	return resolveV1(ctx, client, url, a2agrpc.WithGRPCTransport(
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return dialService(ctx, "tcp", address) }),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, in, out any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
			return invoke(withToken(ctx, client), method, in, out, conn, o...)
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
			return open(withToken(ctx, client), d, conn, method, o...)
		}),
	))
}

// withToken adds the token of an HTTP client to a gRPC call.
func withToken(ctx context.Context, client *http.Client) context.Context {
	b, ok := client.Transport.(bearer)
	if !ok || b.token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+b.token)
}

// resolveV1 reads the card and uses the given transport.
func resolveV1(ctx context.Context, client *http.Client, url string, transport a2aclient.FactoryOption) (sdk, error) {
	card, err := agentcard.NewResolver(client).Resolve(ctx, url)
	if err != nil {
		return nil, err
	}
	c, err := a2aclient.NewFromCard(ctx, card, a2aclient.WithDefaultsDisabled(), transport)
	return &sdkV1{c}, err
}

func (s *sdkV1) request(text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))}
}

func (s *sdkV1) send(ctx context.Context, text string) (task, error) {
	result, err := s.client.SendMessage(ctx, s.request(text))
	if err != nil {
		return task{}, err
	}
	t, ok := result.(*a2a.Task)
	if !ok {
		return task{}, fmt.Errorf("the answer is a %T", result)
	}
	return s.task(t), nil
}

func (s *sdkV1) stream(ctx context.Context, text string) iter.Seq2[event, error] {
	return s.events(s.client.SendStreamingMessage(ctx, s.request(text)))
}

func (s *sdkV1) get(ctx context.Context, id string) (task, error) {
	t, err := s.client.GetTask(ctx, &a2a.GetTaskRequest{ID: a2a.TaskID(id)})
	if err != nil {
		return task{}, err
	}
	return s.task(t), nil
}

func (s *sdkV1) cancel(ctx context.Context, id string) (task, error) {
	t, err := s.client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: a2a.TaskID(id)})
	if err != nil {
		return task{}, err
	}
	return s.task(t), nil
}

func (s *sdkV1) resubscribe(ctx context.Context, id string) iter.Seq2[event, error] {
	return s.events(s.client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: a2a.TaskID(id)}))
}

func (s *sdkV1) task(t *a2a.Task) task {
	out := task{ID: string(t.ID), State: plain(t.Status.State)}
	for _, a := range t.Artifacts {
		out.Text += s.text(a.Parts)
	}
	return out
}

func (s *sdkV1) text(parts []*a2a.Part) (text string) {
	for _, p := range parts {
		text += p.Text()
	}
	return text
}

func (s *sdkV1) events(in iter.Seq2[a2a.Event, error]) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		for e, err := range in {
			out := event{}
			switch e := e.(type) {
			case *a2a.Task:
				t := s.task(e)
				out = event{TaskID: t.ID, State: t.State, Text: t.Text}
			case *a2a.TaskStatusUpdateEvent:
				out = event{TaskID: string(e.TaskID), State: plain(e.Status.State)}
			case *a2a.TaskArtifactUpdateEvent:
				out = event{TaskID: string(e.TaskID), Text: s.text(e.Artifact.Parts)}
			}
			if !yield(out, err) {
				return
			}
		}
	}
}

// sdkV03 is a client of a2a-go v0.3 for protocol 0.3.
type sdkV03 struct{ client *legacyclient.Client }

func newSDKV03(ctx context.Context, client *http.Client, url string) (sdk, error) {
	card, err := legacycard.NewResolver(client).Resolve(ctx, url)
	if err != nil {
		return nil, err
	}
	c, err := legacyclient.NewFromCard(ctx, card, legacyclient.WithJSONRPCTransport(client))
	return &sdkV03{c}, err
}

func (s *sdkV03) params(text string) *legacy.MessageSendParams {
	return &legacy.MessageSendParams{Message: legacy.NewMessage(legacy.MessageRoleUser, legacy.TextPart{Text: text})}
}

func (s *sdkV03) send(ctx context.Context, text string) (task, error) {
	result, err := s.client.SendMessage(ctx, s.params(text))
	if err != nil {
		return task{}, err
	}
	t, ok := result.(*legacy.Task)
	if !ok {
		return task{}, fmt.Errorf("the answer is a %T", result)
	}
	return s.task(t), nil
}

func (s *sdkV03) stream(ctx context.Context, text string) iter.Seq2[event, error] {
	return s.events(s.client.SendStreamingMessage(ctx, s.params(text)))
}

func (s *sdkV03) get(ctx context.Context, id string) (task, error) {
	t, err := s.client.GetTask(ctx, &legacy.TaskQueryParams{ID: legacy.TaskID(id)})
	if err != nil {
		return task{}, err
	}
	return s.task(t), nil
}

func (s *sdkV03) cancel(ctx context.Context, id string) (task, error) {
	t, err := s.client.CancelTask(ctx, &legacy.TaskIDParams{ID: legacy.TaskID(id)})
	if err != nil {
		return task{}, err
	}
	return s.task(t), nil
}

func (s *sdkV03) resubscribe(ctx context.Context, id string) iter.Seq2[event, error] {
	return s.events(s.client.ResubscribeToTask(ctx, &legacy.TaskIDParams{ID: legacy.TaskID(id)}))
}

func (s *sdkV03) task(t *legacy.Task) task {
	out := task{ID: string(t.ID), State: plain(t.Status.State)}
	for _, a := range t.Artifacts {
		out.Text += s.text(a.Parts)
	}
	return out
}

func (s *sdkV03) text(parts []legacy.Part) (text string) {
	for _, p := range parts {
		if t, ok := p.(legacy.TextPart); ok {
			text += t.Text
		}
	}
	return text
}

func (s *sdkV03) events(in iter.Seq2[legacy.Event, error]) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		for e, err := range in {
			out := event{}
			switch e := e.(type) {
			case *legacy.Task:
				t := s.task(e)
				out = event{TaskID: t.ID, State: t.State, Text: t.Text}
			case *legacy.TaskStatusUpdateEvent:
				out = event{TaskID: string(e.TaskID), State: plain(e.Status.State)}
			case *legacy.TaskArtifactUpdateEvent:
				out = event{TaskID: string(e.TaskID), Text: s.text(e.Artifact.Parts)}
			}
			if !yield(out, err) {
				return
			}
		}
	}
}
