// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"
)

// v03 is a2a-go v0.3: protocol 0.3.
type v03 struct {
	client *a2aclient.Client
	card   *a2a.AgentCard
}

// newV03 speaks 0.3 over a binding that the card offers.
func newV03(binding a2a.TransportProtocol) opener {
	return func(ctx context.Context, at target) (sdk, error) {
		card, err := agentcard.NewResolver(at.client).Resolve(ctx, at.url)
		if err != nil {
			return nil, err
		}
		offered := append(card.AdditionalInterfaces, a2a.AgentInterface{URL: card.URL, Transport: card.PreferredTransport})
		if !slices.ContainsFunc(offered, func(i a2a.AgentInterface) bool { return i.Transport == binding }) {
			return nil, errNotOnCard
		}
		with := a2aclient.WithJSONRPCTransport(at.client)
		if binding == a2a.TransportProtocolGRPC {
			with = a2aclient.WithGRPCTransport(at.dial()...)
		}
		c, err := a2aclient.NewFromCard(ctx, card, a2aclient.WithDefaultsDisabled(), with,
			a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{binding}}))
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = c.Destroy() })
		return &v03{client: c, card: card}, nil
	}
}

func (*v03) params(m message) *a2a.MessageSendParams {
	msg := a2a.NewMessage(a2a.MessageRoleUser, a2a.TextPart{Text: m.Text})
	msg.TaskID, msg.ContextID = a2a.TaskID(m.TaskID), m.ContextID
	p := &a2a.MessageSendParams{Message: msg}
	if m.Immediately {
		p.Config = &a2a.MessageSendConfig{Blocking: new(false)}
	}
	return p
}

func (s *v03) send(ctx context.Context, m message) (event, error) {
	result, err := s.client.SendMessage(ctx, s.params(m))
	if err != nil {
		return event{}, err
	}
	return s.event(result), nil
}

func (s *v03) stream(ctx context.Context, m message) iter.Seq2[event, error] {
	return convert(s.client.SendStreamingMessage(ctx, s.params(m)), s.event)
}

func (s *v03) get(ctx context.Context, id string, history *int) (task, error) {
	t, err := s.client.GetTask(ctx, &a2a.TaskQueryParams{ID: a2a.TaskID(id), HistoryLength: history})
	return s.task(t), err
}

func (s *v03) cancel(ctx context.Context, id string) (task, error) {
	t, err := s.client.CancelTask(ctx, &a2a.TaskIDParams{ID: a2a.TaskID(id)})
	return s.task(t), err
}

func (s *v03) subscribe(ctx context.Context, id string) iter.Seq2[event, error] {
	return convert(s.client.ResubscribeToTask(ctx, &a2a.TaskIDParams{ID: a2a.TaskID(id)}), s.event)
}

func (s *v03) list(ctx context.Context, contextID string) ([]task, error) {
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

func (s *v03) setPush(ctx context.Context, taskID, id, url string) (string, error) {
	c, err := s.client.SetTaskPushConfig(ctx, &a2a.TaskPushConfig{TaskID: a2a.TaskID(taskID), Config: a2a.PushConfig{ID: id, URL: url}})
	return s.push(c), err
}

func (s *v03) getPush(ctx context.Context, taskID, id string) (string, error) {
	c, err := s.client.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigParams{TaskID: a2a.TaskID(taskID), ConfigID: id})
	return s.push(c), err
}

func (s *v03) listPush(ctx context.Context, taskID string) ([]string, error) {
	all, err := s.client.ListTaskPushConfig(ctx, &a2a.ListTaskPushConfigParams{TaskID: a2a.TaskID(taskID)})
	var out []string
	for _, c := range all {
		out = append(out, s.push(c))
	}
	return out, err
}

func (s *v03) deletePush(ctx context.Context, taskID, id string) error {
	return s.client.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigParams{TaskID: a2a.TaskID(taskID), ConfigID: id})
}

func (*v03) push(c *a2a.TaskPushConfig) string {
	if c == nil {
		return ""
	}
	return c.Config.ID + " " + c.Config.URL
}

func (s *v03) extended(ctx context.Context) (string, error) {
	if !s.card.SupportsAuthenticatedExtendedCard {
		return "", a2a.ErrAuthenticatedExtendedCardNotConfigured // the client would return the public card without a call
	}
	card, err := s.client.GetAgentCard(ctx)
	if err != nil {
		return "", err
	}
	return card.Name + " " + strconv.Itoa(len(card.Skills)), nil
}

func (s *v03) parts(ctx context.Context) ([]string, error) {
	msg := a2a.NewMessage(a2a.MessageRoleUser,
		a2a.TextPart{Text: "t"},
		a2a.FilePart{File: a2a.FileBytes{
			FileMeta: a2a.FileMeta{Name: "h.txt", MimeType: "text/plain"},
			Bytes:    base64.StdEncoding.EncodeToString([]byte("hi")),
		}},
		a2a.DataPart{Data: map[string]any{"n": 1.5}},
		a2a.FilePart{File: a2a.FileURI{FileMeta: a2a.FileMeta{MimeType: "text/html"}, URI: "https://example.com/f"}},
	)
	result, err := s.client.SendMessage(ctx, &a2a.MessageSendParams{Message: msg})
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
			text, err := s.part(p)
			if err != nil {
				return nil, err
			}
			out = append(out, text)
		}
	}
	return out, nil
}

func (*v03) part(p a2a.Part) (string, error) {
	switch p := p.(type) {
	case a2a.TextPart:
		return "text " + p.Text, nil
	case a2a.DataPart:
		text, err := json.Marshal(p.Data)
		return "data " + string(text), err
	case a2a.FilePart:
		switch f := p.File.(type) {
		case a2a.FileBytes:
			raw, err := base64.StdEncoding.DecodeString(f.Bytes)
			return "raw " + string(raw) + " " + f.Name + " " + f.MimeType, err
		case a2a.FileURI:
			return "url " + f.URI + " " + f.MimeType, nil
		}
	}
	return fmt.Sprintf("%T", p), nil
}

func (s *v03) task(t *a2a.Task) task {
	if t == nil {
		return task{}
	}
	out := task{ID: string(t.ID), ContextID: t.ContextID, State: string(t.Status.State), History: len(t.History)}
	for _, a := range t.Artifacts {
		out.Text += s.text(a.Parts)
	}
	return out
}

func (*v03) text(parts []a2a.Part) (text string) {
	for _, p := range parts {
		if t, ok := p.(a2a.TextPart); ok {
			text += t.Text
		}
	}
	return text
}

func (s *v03) event(e a2a.Event) event {
	switch e := e.(type) {
	case *a2a.Task:
		t := s.task(e)
		return event{Kind: "task", TaskID: t.ID, State: t.State, Text: t.Text}
	case *a2a.Message:
		return event{Kind: "message", Text: s.text(e.Parts)}
	case *a2a.TaskStatusUpdateEvent:
		return event{Kind: "status", TaskID: string(e.TaskID), State: string(e.Status.State)}
	case *a2a.TaskArtifactUpdateEvent:
		return event{Kind: "artifact", TaskID: string(e.TaskID), Text: s.text(e.Artifact.Parts)}
	default:
		return event{Kind: fmt.Sprintf("%T", e)}
	}
}
