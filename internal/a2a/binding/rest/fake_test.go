// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

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
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/requestcheck"
)

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// fake is an a2a.Handler that answers what it was given and keeps what it was
// asked.
type fake struct {
	event   a2a.Event
	task    *a2a.Task
	page    *a2a.TaskPage
	records []*a2a.Record
	err     error
	// streamErr ends streams; nil for io.EOF.
	streamErr error
	asked     any
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

// fakePush is a fake that keeps push configurations.
type fakePush struct {
	*fake
	config *a2a.PushConfig
}

func (f *fakePush) Check(*a2a.PushConfig) error { return nil }

func (f *fakePush) SetPush(_ context.Context, r *a2a.SetPushRequest) (*a2a.PushConfig, error) {
	f.asked = r
	return f.config, f.err
}

func (f *fakePush) GetPush(_ context.Context, r *a2a.PushRequest) (*a2a.PushConfig, error) {
	f.asked = r
	return f.config, f.err
}

func (f *fakePush) ListPush(_ context.Context, r *a2a.ListPushRequest) (*a2a.PushPage, error) {
	f.asked = r
	return &a2a.PushPage{Configs: []*a2a.PushConfig{f.config}, NextPageToken: "more"}, f.err
}

func (f *fakePush) DeletePush(_ context.Context, r *a2a.PushRequest) error {
	f.asked = r
	return f.err
}

// fakeStream yields one record at a time, and then its error.
type fakeStream struct {
	records []*a2a.Record
	err     error
}

func (s *fakeStream) Next(ctx context.Context) ([]*a2a.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(s.records) == 0 {
		if s.err == nil {
			return nil, io.EOF
		}
		return nil, s.err
	}
	next := s.records[:1]
	s.records = s.records[1:]
	return next, nil
}

func (s *fakeStream) Close() {}

func newTask(state a2a.State) *a2a.Task {
	return &a2a.Task{ID: "t1", ContextID: "c1", Status: a2a.Status{State: state, Time: newYear}, Dialect: a2a.DialectV10}
}

// kindTask was made by a client that speaks of kinds.
func kindTask(state a2a.State) *a2a.Task {
	t := newTask(state)
	t.Dialect = a2a.DialectKindREST
	return t
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

func snapshot(seq uint64, t *a2a.Task) *a2a.Record {
	return &a2a.Record{Seq: seq, Event: a2a.Event{Task: t}}
}

type fixture struct {
	*Handler
	fake     *fake
	push     *fakePush
	card     card.Card
	observed []httpcall.Outcome
}

func newFixture(f *fake) *fixture {
	x := &fixture{fake: f, push: &fakePush{fake: f, config: &a2a.PushConfig{ID: "p1", TaskID: "t1", URL: "https://x/"}}}
	x.card.Capabilities.PushNotifications = true
	x.card.Capabilities.Streaming = true
	served := func() *card.Card { return &x.card }
	admitted := &requestcheck.Handler{Handler: f, Push: x.push, Card: served}
	x.Handler = New(Config{
		Handler: admitted,
		Push:    admitted,
		Card:    served,
		ExtendedCard: func(_ *http.Request, _ string, form card.Form) ([]byte, error) {
			f.asked = form
			return []byte(`{"name":"known"}`), f.err
		},
		PublicCard: func(_ *http.Request, form card.Form) ([]byte, error) { return []byte(`{"name":"public"}`), nil },
		Streams:    sse.Config{KeepAlive: time.Minute, WriteTimeout: time.Minute, Now: time.Now},
		Limits:     httpcalltest.Limits(1 << 20),
		Observe:    func(o httpcall.Outcome) { x.observed = append(x.observed, o) },
		Log:        slog.New(slog.DiscardHandler),
	})
	return x
}

// do sends a request as a caller named alice. Headers are name and value in
// turn; an empty value takes a header away.
func (x *fixture) do(t *testing.T, method, url, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, url, strings.NewReader(body))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Del(headers[i]); headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	r = r.WithContext(auth.WithCaller(t.Context(), auth.Caller{Owner: "alice"}))
	w := httptest.NewRecorder()
	x.ServeHTTP(&freedWriter{w, t, x.Limits.Bodies}, r)
	return w
}

// freedWriter has a client that may be slow to read: what it has sent must be
// given back before.
type freedWriter struct {
	*httptest.ResponseRecorder
	t      *testing.T
	bodies *limit.Budget
}

func (w *freedWriter) WriteHeader(status int) {
	if held := w.bodies.Used(); held > 0 && status == http.StatusOK {
		w.t.Errorf("the answer waits for its client, and %d bytes of the request are held", held)
	}
	w.ResponseRecorder.WriteHeader(status)
}

func (w *freedWriter) Unwrap() http.ResponseWriter { return w.ResponseRecorder }
