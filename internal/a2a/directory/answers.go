// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// answers implements a2a.Handler. It answers each message with a message, and has no
// tasks.
type answers struct{ registry Registry }

// Send implements a2a.Handler.
func (h answers) Send(ctx context.Context, r *a2a.SendRequest) (a2a.Event, error) {
	m, err := h.answer(ctx, r)
	return a2a.Event{Message: m}, err
}

// Stream implements a2a.Handler. The stream contains the answer only.
func (h answers) Stream(ctx context.Context, r *a2a.SendRequest) (a2a.Stream, error) {
	m, err := h.answer(ctx, r)
	if err != nil {
		return nil, err
	}
	return &single{&a2a.Record{Event: a2a.Event{Message: m}}}, nil
}

// Get implements a2a.Handler.
func (answers) Get(_ context.Context, r *a2a.GetRequest) (*a2a.Task, error) {
	return nil, a2a.TaskNotFound(r.TaskID)
}

// List implements a2a.Handler.
func (answers) List(context.Context, *a2a.ListRequest) (*a2a.TaskPage, error) {
	return &a2a.TaskPage{PageSize: 50}, nil
}

// Cancel implements a2a.Handler.
func (answers) Cancel(_ context.Context, r *a2a.CancelRequest) (*a2a.Task, error) {
	return nil, a2a.TaskNotFound(r.TaskID)
}

// Subscribe implements a2a.Handler.
func (answers) Subscribe(_ context.Context, r *a2a.SubscribeRequest) (a2a.Stream, error) {
	return nil, a2a.TaskNotFound(r.TaskID)
}

// single is the stream of one answer.
type single struct{ record *a2a.Record }

// Next implements a2a.Stream.
func (s *single) Next(context.Context) ([]*a2a.Record, error) {
	if s.record == nil {
		return nil, io.EOF
	}
	r := s.record
	s.record = nil
	return []*a2a.Record{r}, nil
}

// Close implements a2a.Stream.
func (*single) Close() {}

// answer returns the agent's answer to a message. Its errors are *a2a.Error and the
// errors of ctx.
func (h answers) answer(ctx context.Context, r *a2a.SendRequest) (*a2a.Message, error) {
	if r.Message.TaskID != "" && !r.ClientTaskID {
		return nil, a2a.TaskNotFound(r.Message.TaskID)
	}
	skill, err := r.Skill()
	if err != nil {
		return nil, err
	}
	text, data, err := content(r.Message)
	if err != nil {
		return nil, err
	}
	var result any
	var summary string
	switch skill {
	case "", SkillFind:
		result, summary, err = h.find(ctx, text, data)
	case SkillCard:
		result, summary, err = h.card(ctx, r.Dialect, text, data)
	default:
		return nil, a2a.InvalidParams("message.metadata", "names no skill of the directory; use "+SkillFind+" or "+SkillCard)
	}
	if err != nil {
		return nil, err
	}
	encoded, err := plainjson.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	m := &a2a.Message{ID: uuid.NewString(), ContextID: r.Message.ContextID, Role: a2a.RoleAgent}
	if r.ClientTaskID {
		// A response of 0.1 is a task. The codec of 0.1 makes a completed task with this id,
		// which the client has chosen.
		m.TaskID = r.Message.TaskID
	}
	if accepts(r, "application/json") {
		m.Parts = append(m.Parts, a2a.Part{Content: a2a.ContentData, Data: encoded, MediaType: "application/json"})
	}
	if accepts(r, "text/plain") || len(m.Parts) == 0 {
		m.Parts = append(m.Parts, a2a.TextPart(summary))
	}
	return m, nil
}

// accepts reports whether the client of a request accepts parts of a media type.
func accepts(r *a2a.SendRequest, mediaType string) bool {
	all, _, _ := strings.Cut(mediaType, "/")
	return len(r.AcceptedOutputModes) == 0 || slices.ContainsFunc(r.AcceptedOutputModes, func(mode string) bool {
		mode, _, _ = strings.Cut(strings.ToLower(mode), ";")
		mode = strings.TrimSpace(mode)
		return mode == mediaType || mode == all+"/*" || mode == "*/*"
	})
}

// content returns the texts of a message, joined by spaces, and its only data part, or
// nil. A second data part or a file is an *a2a.Error.
func content(m *a2a.Message) (text string, data []byte, err error) {
	var texts []string
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Content == a2a.ContentText:
			texts = append(texts, p.Text)
		case p.Content == a2a.ContentData && data == nil:
			data = p.Data
		case p.Content == a2a.ContentData:
			return "", nil, a2a.InvalidParams(fmt.Sprintf("message.parts[%d]", i), "is a second data part; send one")
		default:
			return "", nil, a2a.InvalidParams(fmt.Sprintf("message.parts[%d]", i), "is a file; send text or data")
		}
	}
	return strings.TrimSpace(strings.Join(texts, " ")), data, nil
}

func (h answers) find(ctx context.Context, text string, data []byte) (result any, summary string, err error) {
	parameters := url.Values{}
	if data != nil {
		if parameters, err = Parameters(data, SearchParameters); err != nil {
			return nil, "", err
		}
	}
	if text != "" {
		if parameters.Has("q") {
			return nil, "", a2a.InvalidParams("q", "is in the data, and the message has a text; send one of them")
		}
		parameters.Set("q", text)
	}
	page, err := h.registry.Find(ctx, parameters)
	if err != nil {
		return nil, "", err
	}
	return page, summarize(page), nil
}

// summarize lists the agents of a page, one per line. Texts of agents cannot begin a new
// line or hide other text.
func summarize(page *Page) string {
	if len(page.Items) == 0 {
		return "No agent matches."
	}
	var out strings.Builder
	for _, item := range page.Items {
		var entry struct {
			Namespace   string `json:"namespace"`
			Name        string `json:"name"`
			Description string `json:"description"`
			URL         string `json:"url"`
			Ready       bool   `json:"ready"`
		}
		if json.Unmarshal(item, &entry) != nil {
			continue
		}
		fmt.Fprintf(&out, "%s/%s", entry.Namespace, entry.Name)
		if !entry.Ready {
			out.WriteString(" (not ready)")
		}
		if entry.Description != "" {
			out.WriteString(": " + safetext.Line(entry.Description))
		}
		if entry.URL != "" {
			out.WriteString(" " + safetext.Line(entry.URL))
		}
		out.WriteByte('\n')
	}
	for _, c := range page.Corrections {
		fmt.Fprintf(&out, "No agent has the word %s. These agents have %s.\n", safetext.Line(c.Word), safetext.Line(strings.Join(c.As, ", ")))
	}
	if page.NextCursor != "" {
		fmt.Fprintf(&out, "%d agents match in all: for more, search again with cursor %s\n", page.Total, page.NextCursor)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// agentIn returns the agent that a data part names, as namespace/name. Its errors are
// *a2a.Error.
func agentIn(data []byte) (string, error) {
	r := jsonread.New(data)
	defer r.Close()
	if r.Kind() != '{' {
		return "", a2a.InvalidParams("message.parts", `must have an object with "namespace" and "name"`)
	}
	var namespace, name string
	for member := range r.Members() {
		switch string(member) {
		case "namespace":
			namespace = r.String()
		case "name":
			name = r.String()
		default:
			return "", UnknownMember(string(member), "is not a member of this request", []string{"namespace", "name"})
		}
	}
	return namespace + "/" + name, Explain(data, r.End())
}

func (h answers) card(ctx context.Context, client a2a.Dialect, text string, data []byte) (result any, summary string, err error) {
	if data != nil {
		named, err := agentIn(data)
		if err != nil {
			return nil, "", err
		}
		if text != "" && text != named {
			return nil, "", a2a.InvalidParams("message.parts", "have a text that is not the agent of the data; send one of them")
		}
		text = named
	}
	agent, ok := ParseAgent(text)
	if !ok {
		return nil, "", a2a.InvalidParams("message.parts", "must name one agent, such as team/echo")
	}
	card, err := h.registry.Card(ctx, agent, cardVersion(client))
	if err != nil {
		return nil, "", err
	}
	return card, string(card), nil
}

// cardVersion returns the version of the card for a client (Registry.Card): "1.0", or "" for the
// union card, which clients of earlier versions read. It has no default case, so that the linter
// (exhaustive) reports a new dialect.
func cardVersion(client a2a.Dialect) string {
	switch client {
	case a2a.DialectV10, a2a.DialectV10GRPC:
		return "1.0"
	case a2a.DialectV01, a2a.DialectV03, a2a.DialectV03Proto, a2a.DialectV03GRPC, a2a.DialectKindREST, a2a.DialectUnion:
	}
	return ""
}
