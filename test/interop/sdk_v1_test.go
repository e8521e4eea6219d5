// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	oldgrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v0"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
)

// v1 is the client of a2a-go v2, which speaks 1.0 and, for compatibility, 0.3.
type v1 struct {
	client  *a2aclient.Client
	version a2a.ProtocolVersion
}

// newV1 speaks a version over a binding that the card offers.
func newV1(version a2a.ProtocolVersion, binding a2a.TransportProtocol) opener {
	return func(ctx context.Context, at target) (sdk, error) {
		card, err := agentcard.NewResolver(at.client).Resolve(ctx, at.url)
		if err != nil {
			return nil, err
		}
		offered := card.SupportedInterfaces
		card.SupportedInterfaces = slices.DeleteFunc(slices.Clone(offered), func(i *a2a.AgentInterface) bool {
			return i.ProtocolBinding != binding || i.ProtocolVersion != version
		})
		if len(card.SupportedInterfaces) == 0 {
			return nil, errNotOnCard
		}
		c, err := a2aclient.NewFromCard(ctx, card,
			a2aclient.WithDefaultsDisabled(),
			a2aclient.WithJSONRPCTransport(at.client),
			a2aclient.WithRESTTransport(at.client),
			a2agrpc.WithGRPCTransport(at.dial()...),
			a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{Client: at.client}),
			a2av0.WithRESTTransport(a2av0.RESTTransportConfig{Client: at.client}),
			oldgrpc.WithGRPCTransport(at.dial()...),
		)
		if err != nil {
			return nil, err
		}
		// Destroy ends the goroutines of the client's gRPC connection.
		context.AfterFunc(ctx, func() { _ = c.Destroy() })
		return &v1{c, version}, nil
	}
}

func (*v1) request(m message) *a2a.SendMessageRequest {
	msg := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(m.Text))
	msg.TaskID, msg.ContextID = a2a.TaskID(m.TaskID), m.ContextID
	r := &a2a.SendMessageRequest{Message: msg}
	if m.Immediately {
		r.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	}
	return r
}

func (s *v1) send(ctx context.Context, m message) (event, error) {
	result, err := s.client.SendMessage(ctx, s.request(m))
	if err != nil {
		return event{}, err
	}
	return s.event(result), nil
}

func (s *v1) stream(ctx context.Context, m message) iter.Seq2[event, error] {
	return convert(s.client.SendStreamingMessage(ctx, s.request(m)), s.event)
}

func (s *v1) get(ctx context.Context, id string, history *int) (task, error) {
	t, err := s.client.GetTask(ctx, &a2a.GetTaskRequest{ID: a2a.TaskID(id), HistoryLength: history})
	return s.task(t), err
}

func (s *v1) cancel(ctx context.Context, id string) (task, error) {
	t, err := s.client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: a2a.TaskID(id)})
	return s.task(t), err
}

func (s *v1) subscribe(ctx context.Context, id string) iter.Seq2[event, error] {
	return convert(s.client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: a2a.TaskID(id)}), s.event)
}

func (s *v1) list(ctx context.Context, contextID string) ([]task, error) {
	if s.version != a2a.Version {
		return nil, errNone // in 0.3, the client does not list tasks
	}
	page, err := s.client.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: contextID, IncludeArtifacts: true})
	if err != nil {
		return nil, err
	}
	var out []task
	for _, t := range page.Tasks {
		out = append(out, s.task(t))
	}
	return out, nil
}

func (s *v1) setPush(ctx context.Context, taskID, id, url string) (string, error) {
	c, err := s.client.CreateTaskPushConfig(ctx, &a2a.PushConfig{TaskID: a2a.TaskID(taskID), ID: id, URL: url})
	return s.push(c), err
}

func (s *v1) getPush(ctx context.Context, taskID, id string) (string, error) {
	c, err := s.client.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: a2a.TaskID(taskID), ID: id})
	return s.push(c), err
}

func (s *v1) listPush(ctx context.Context, taskID string) ([]string, error) {
	all, err := s.client.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: a2a.TaskID(taskID)})
	var out []string
	for _, c := range all {
		out = append(out, s.push(c))
	}
	return out, err
}

func (s *v1) deletePush(ctx context.Context, taskID, id string) error {
	return s.client.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigRequest{TaskID: a2a.TaskID(taskID), ID: id})
}

func (*v1) push(c *a2a.PushConfig) string {
	if c == nil {
		return ""
	}
	return c.ID + " " + c.URL
}

func (s *v1) extended(ctx context.Context) (string, error) {
	card, err := s.client.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{})
	if err != nil {
		return "", err
	}
	return card.Name + " " + strconv.Itoa(len(card.Skills)), nil
}

func (s *v1) parts(ctx context.Context) ([]string, error) {
	raw := a2a.NewRawPart([]byte("hi"))
	raw.Filename, raw.MediaType = "h.txt", "text/plain"
	data := a2a.NewDataPart(map[string]any{"n": 1.5})
	url := a2a.NewFileURLPart("https://example.com/f", "text/html")
	msg := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("t"), raw, data, url)
	result, err := s.client.SendMessage(ctx, &a2a.SendMessageRequest{Message: msg})
	if err != nil {
		return nil, err
	}
	t, ok := result.(*a2a.Task)
	if !ok {
		return nil, fmt.Errorf("answer is a %T", result)
	}
	var out []string
	for _, a := range t.Artifacts {
		for _, p := range a.Parts {
			switch content := p.Content.(type) {
			case a2a.Text:
				out = append(out, "text "+string(content))
			case a2a.Raw:
				out = append(out, "raw "+string(content)+" "+p.Filename+" "+p.MediaType)
			case a2a.Data:
				text, err := json.Marshal(content.Value)
				if err != nil {
					return nil, err
				}
				out = append(out, "data "+string(text))
			case a2a.URL:
				out = append(out, "url "+string(content)+" "+p.MediaType)
			}
		}
	}
	return out, nil
}

func (s *v1) task(t *a2a.Task) task {
	if t == nil {
		return task{}
	}
	out := task{ID: string(t.ID), ContextID: t.ContextID, State: s.state(t.Status.State), History: len(t.History)}
	for _, a := range t.Artifacts {
		out.Text += s.text(a.Parts)
	}
	return out
}

func (*v1) state(s a2a.TaskState) string {
	name := strings.ToLower(strings.TrimPrefix(string(s), "TASK_STATE_"))
	return strings.ReplaceAll(name, "_", "-")
}

func (*v1) text(parts []*a2a.Part) (text string) {
	for _, p := range parts {
		text += p.Text()
	}
	return text
}

func (s *v1) event(e a2a.Event) event {
	switch e := e.(type) {
	case *a2a.Task:
		t := s.task(e)
		return event{Kind: "task", TaskID: t.ID, State: t.State, Text: t.Text}
	case *a2a.Message:
		return event{Kind: "message", Text: s.text(e.Parts)}
	case *a2a.TaskStatusUpdateEvent:
		return event{Kind: "status", TaskID: string(e.TaskID), State: s.state(e.Status.State)}
	case *a2a.TaskArtifactUpdateEvent:
		return event{Kind: "artifact", TaskID: string(e.TaskID), Text: s.text(e.Artifact.Parts)}
	default:
		return event{Kind: fmt.Sprintf("%T", e)}
	}
}
