// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/requestcheck"
	"github.com/a2a-operator/a2a-operator/test/bindingtest"
)

type fake = bindingtest.Handler

var newYear, status, artifact, snapshot = bindingtest.Time, bindingtest.Status, bindingtest.Artifact, bindingtest.Snapshot

func newTask(state a2a.State) *a2a.Task { return bindingtest.Task(a2a.DialectV10, state) }

// kindTask returns a task that a client of DialectKindREST made.
func kindTask(state a2a.State) *a2a.Task { return bindingtest.Task(a2a.DialectKindREST, state) }

type fixture struct {
	*Handler
	fake     *fake
	card     card.Card
	observed []httpcall.Outcome
}

func newFixture(f *fake) *fixture {
	f.Push = &a2a.PushConfig{ID: "p1", TaskID: "t1", URL: "https://x/"}
	f.Pushes = &a2a.PushPage{Configs: []*a2a.PushConfig{f.Push}, NextPageToken: "more"}
	f.Card = []byte(`{"name":"known"}`)
	x := &fixture{fake: f}
	x.card.Capabilities.PushNotifications = true
	x.card.Capabilities.Streaming = true
	served := func() *card.Card { return &x.card }
	admitted := &requestcheck.Handler{Handler: f, Push: f, Card: served}
	x.Handler = New(Config{
		Config: httpcall.Config{
			Handler: admitted, Push: admitted, Card: served, ExtendedCard: f.ExtendedCard, Limits: bindingtest.Limits(1 << 20),
			Observe: func(_ context.Context, o httpcall.Outcome) { x.observed = append(x.observed, o) }, Log: slog.New(slog.DiscardHandler),
		},
		PublicCard: func(_ *http.Request, form card.Form) ([]byte, error) { return []byte(`{"name":"public"}`), nil },
		Streams:    sse.Config{KeepAlive: time.Minute, WriteTimeout: time.Minute, Now: time.Now},
	})
	return x
}

// do sends a request as a caller named alice. headers alternates names and values; an empty
// value removes a header.
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

// freedWriter is a response to a client that may read slowly. It checks that the memory of
// the request is released before the response begins.
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
