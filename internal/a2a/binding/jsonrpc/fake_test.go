// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

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
	"github.com/a2a-operator/a2a-operator/internal/a2a/requestcheck"
	"github.com/a2a-operator/a2a-operator/test/bindingtest"
)

type fake = bindingtest.Handler

var status, artifact = bindingtest.Status, bindingtest.Artifact

func newTask(state a2a.State) *a2a.Task { return bindingtest.Task(a2a.DialectV03, state) }

func snapshot(seq uint64, state a2a.State) *a2a.Record {
	return bindingtest.Snapshot(seq, newTask(state))
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
		Config: httpcall.Config{
			Handler: admitted, Push: admitted, Card: served, ExtendedCard: f.ExtendedCard, Limits: bindingtest.Limits(1 << 20),
			Observe: func(_ context.Context, o httpcall.Outcome) { x.observed = append(x.observed, o) }, Log: slog.New(slog.DiscardHandler),
		},
		Streams: sse.Config{KeepAlive: time.Minute, WriteTimeout: time.Minute, Now: time.Now},
	})
	return x
}

// post sends a body as a caller named alice. headers alternates names and values.
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
