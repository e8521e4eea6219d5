// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
)

// endedSpans receives the spans that ended.
type endedSpans chan sdktrace.ReadOnlySpan

// record returns a channel that receives the ended spans of a tracer.
func record(tracer *tracing.Tracer) endedSpans {
	ended := make(endedSpans, 1)
	tracer.Swap(&tracing.Settings{Tracer: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(ended)).Tracer("test")})
	return ended
}

func (endedSpans) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (e endedSpans) OnEnd(s sdktrace.ReadOnlySpan)                 { e <- s }
func (endedSpans) Shutdown(context.Context) error                  { return nil }
func (endedSpans) ForceFlush(context.Context) error                { return nil }

// expectResult receives the next span and compares its outcome and the HTTP status of the
// response.
func (e endedSpans) expectResult(t *testing.T, outcome, status string, code codes.Code) {
	t.Helper()
	span := <-e
	got := map[string]string{}
	for _, a := range span.Attributes() {
		got[string(a.Key)] = a.Value.String()
	}
	if got["a2a.outcome"] != outcome || got["http.response.status_code"] != status || span.Status().Code != code {
		t.Errorf("span has outcome %q, status %q and code %v, want %q, %q and %v", got["a2a.outcome"], got["http.response.status_code"], span.Status().Code, outcome, status, code)
	}
}

func TestSpanOfACallHasItsOutcome(t *testing.T) {
	begin := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: x\n\n")
		_ = http.NewResponseController(w).Flush()
	}
	for name, tt := range map[string]struct {
		answer          http.HandlerFunc
		outcome, status string
		code            codes.Code
	}{
		"success": {ok, "success", "200", codes.Unset},
		"the agent is busy": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}, "503", "503", codes.Error},
		"the agent breaks off": {func(w http.ResponseWriter, _ *http.Request) {
			begin(w)
			panic(http.ErrAbortHandler)
		}, "aborted", "200", codes.Error},
		"the agent does not answer": {func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		}, string(a2a.ReasonUnavailable), "", codes.Error},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, tt.answer)
			ended := record(&c.tracer)
			c.do(t, http.MethodPost, "/agents/team/echo/", "{}")
			ended.expectResult(t, tt.outcome, tt.status, tt.code)
		})
	}
	for name, answered := range map[string]bool{"before the response": false, "during the response": true} {
		t.Run("the caller disconnects "+name, func(t *testing.T) {
			arrived, status := make(chan struct{}), ""
			c := newCluster(t, func(w http.ResponseWriter, r *http.Request) {
				if answered {
					begin(w)
				}
				close(arrived)
				<-r.Context().Done()
			})
			if answered {
				status = "200"
			}
			ended := record(&c.tracer)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.gateway.URL+"/agents/team/echo/", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if !answered {
				go func() { <-arrived; leave() }()
			}
			if response, err := c.client.Do(r); err == nil {
				leave()
				_ = response.Body.Close()
			}
			ended.expectResult(t, "canceled", status, codes.Unset)
		})
	}
}

func TestSpanOfACallOfARemoteAgentHasItsOutcome(t *testing.T) {
	for name, tt := range map[string]struct {
		remote          http.HandlerFunc
		outcome, status string
		code            codes.Code
	}{
		"success": {nil, "success", "200", codes.Unset},
		"refused": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
		}, "429", "429", codes.Error},
		"an error in a response with status 200": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "{}")
			Conclude(r.Context(), a2a.ReasonTaskNotFound, false)
		}, string(a2a.ReasonTaskNotFound), "200", codes.Error},
		"the caller leaves": {func(_ http.ResponseWriter, r *http.Request) {
			Conclude(r.Context(), "", true)
		}, "canceled", "", codes.Unset},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.remote = tt.remote
			ended := record(&f.tracer)
			f.h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:8643/agents/team/weather/", strings.NewReader("{}")))
			ended.expectResult(t, tt.outcome, tt.status, tt.code)
		})
	}
}
