// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall/httpcalltest"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/requestcheck"
)

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// fake is an a2a.Handler that answers what it was given and keeps what it was
// asked.
type fake struct {
	event   a2a.Event
	task    *a2a.Task
	records []*a2a.Record
	err     error
	// streamErr ends streams; nil for io.EOF.
	streamErr error
	asked     any

	page   *a2a.TaskPage
	push   *a2a.PushConfig
	pushes *a2a.PushPage
	card   []byte
}

func (f *fake) Send(_ context.Context, r *a2a.SendRequest) (a2a.Event, error) {
	f.asked = r
	return f.event, f.err
}

func (f *fake) Stream(_ context.Context, r *a2a.SendRequest) (a2a.Stream, error) {
	f.asked = r
	return &fakeStream{f.records, f.streamErr}, f.err
}

func (f *fake) Get(_ context.Context, r *a2a.GetRequest) (*a2a.Task, error) {
	f.asked = r
	return f.task, f.err
}

func (f *fake) List(_ context.Context, r *a2a.ListRequest) (*a2a.TaskPage, error) {
	f.asked = r
	return f.page, f.err
}

func (f *fake) Cancel(_ context.Context, r *a2a.CancelRequest) (*a2a.Task, error) {
	f.asked = r
	return f.task, f.err
}

func (f *fake) Subscribe(_ context.Context, r *a2a.SubscribeRequest) (a2a.Stream, error) {
	f.asked = r
	return &fakeStream{f.records, f.streamErr}, f.err
}

func (f *fake) Check(*a2a.PushConfig) error { return nil }

func (f *fake) SetPush(_ context.Context, r *a2a.SetPushRequest) (*a2a.PushConfig, error) {
	f.asked = r
	return f.push, f.err
}

func (f *fake) GetPush(_ context.Context, r *a2a.PushRequest) (*a2a.PushConfig, error) {
	f.asked = r
	return f.push, f.err
}

func (f *fake) ListPush(_ context.Context, r *a2a.ListPushRequest) (*a2a.PushPage, error) {
	f.asked = r
	return f.pushes, f.err
}

func (f *fake) DeletePush(_ context.Context, r *a2a.PushRequest) error {
	f.asked = r
	return f.err
}

func (f *fake) extendedCard(_ *http.Request, _ string, form card.Form) ([]byte, error) {
	f.asked = form
	return f.card, f.err
}

// fakeStream yields one record at a time, and then its error.
type fakeStream struct {
	records []*a2a.Record
	err     error
}

func (s *fakeStream) Next(ctx context.Context) ([]*a2a.Record, error) {
	if len(s.records) == 0 {
		if s.err == nil {
			return nil, io.EOF
		}
		return nil, s.err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	next := s.records[:1]
	s.records = s.records[1:]
	return next, nil
}

func (s *fakeStream) Close() {}

func newTask(state a2a.State) *a2a.Task {
	return &a2a.Task{ID: "t1", ContextID: "c1", Status: a2a.Status{State: state, Time: newYear}}
}

func status(seq uint64, state a2a.State) *a2a.Record {
	return &a2a.Record{Seq: seq, Event: a2a.Event{Status: &a2a.StatusUpdate{
		TaskID: "t1", ContextID: "c1", Status: a2a.Status{State: state, Time: newYear},
	}}}
}

func artifact(seq uint64, text string) *a2a.Record {
	return &a2a.Record{Seq: seq, Event: a2a.Event{Artifact: &a2a.ArtifactUpdate{
		TaskID: "t1", ContextID: "c1", Artifact: a2a.Artifact{ID: "a1", Parts: []a2a.Part{a2a.TextPart(text)}}, LastChunk: true,
	}}}
}

func snapshot(seq uint64, state a2a.State) *a2a.Record {
	return &a2a.Record{Seq: seq, Event: a2a.Event{Task: newTask(state)}}
}

type fixture struct {
	*Handler
	fake     *fake
	card     card.Card
	observed []httpcall.Outcome
}

func newFixture(f *fake) *fixture {
	x := &fixture{fake: f}
	x.card.Capabilities.Streaming = true
	served := func() *card.Card { return &x.card }
	admitted := &requestcheck.Handler{Handler: f, Push: f, Card: served}
	x.Handler = New(Config{
		Handler: admitted, Push: admitted,
		Card: served, ExtendedCard: f.extendedCard,
		Streams: sse.Config{KeepAlive: time.Minute, WriteTimeout: time.Minute, Now: time.Now},
		Limits:  httpcalltest.Limits(1 << 20),
		Observe: func(o httpcall.Outcome) { x.observed = append(x.observed, o) },
		Log:     slog.New(slog.DiscardHandler),
	})
	return x
}

// post sends a body as a caller named alice. Headers are name and value in turn.
func (x *fixture) post(t *testing.T, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return x.postTo(t, "/", body, headers...)
}

func (x *fixture) postTo(t *testing.T, target, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	r = r.WithContext(auth.WithCaller(t.Context(), auth.Caller{Owner: "alice"}))
	w := httptest.NewRecorder()
	x.ServeHTTP(w, r)
	return w
}
