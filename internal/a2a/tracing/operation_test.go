// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestSpanOfAHandlerThatPanicsIsAnError(t *testing.T) {
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		outcome string
		code    codes.Code
	}{
		"panics":          {func(http.ResponseWriter, *http.Request) { panic("bug") }, "INTERNAL_ERROR", codes.Error},
		"ends no request": {func(http.ResponseWriter, *http.Request) {}, OutcomeCanceled, codes.Unset},
	} {
		t.Run(name, func(t *testing.T) {
			ended, tracer := tracetest.NewSpanRecorder(), new(Tracer)
			tracer.Swap(&Settings{Tracer: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(ended)).Tracer("test")})
			func() {
				defer func() { _ = recover() }()
				tracer.Serve(tt.handler).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", nil))
			}()
			span, outcome := ended.Ended()[0], ""
			for _, a := range span.Attributes() {
				if a.Key == keyOutcome {
					outcome = a.Value.AsString()
				}
			}
			if outcome != tt.outcome || span.Status().Code != tt.code {
				t.Errorf("span has outcome %q and code %v, want %q and %v", outcome, span.Status().Code, tt.outcome, tt.code)
			}
		})
	}
}
