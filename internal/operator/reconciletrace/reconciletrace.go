// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reconciletrace makes a span for each reconcile that writes to the API server or
// fails, and a span for each of its writes. Other reconciles have no span, so that the traces
// contain only changes and failures. The API server receives the trace context of a write.
package reconciletrace

import (
	"context"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Name is the name of the instrumentation scope of the spans.
const Name = "github.com/a2a-operator/a2a-operator/internal/operator/reconciletrace"

// Tracer makes the spans of reconciles. A nil Tracer makes no spans.
type Tracer struct{ tracer trace.Tracer }

// New returns a Tracer.
func New(t trace.Tracer) *Tracer { return &Tracer{t} }

// pass is one reconcile. Its span is created at the first write, or at the end if the reconcile
// fails without a write. The start time of the span is that of the reconcile.
type pass struct {
	tracer  trace.Tracer
	kind    string
	request ctrl.Request
	started time.Time

	mu   sync.Mutex
	span trace.Span
}

type passKey struct{}

// Reconciler returns a reconciler that makes the spans of the reconciles of a kind. now is
// the clock.
func (t *Tracer) Reconciler(kind string, r reconcile.Reconciler, now func() time.Time) reconcile.Reconciler {
	if t == nil {
		return r
	}
	return reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
		p := &pass{tracer: t.tracer, kind: kind, request: request, started: now()}
		result, err := r.Reconcile(context.WithValue(ctx, passKey{}, p), request)
		p.end(ctx, err)
		return result, err
	})
}

// of returns the span of the reconcile. The first call creates the span.
func (p *pass) of(ctx context.Context) trace.Span {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.span == nil {
		_, p.span = p.tracer.Start(ctx, "reconcile "+p.kind, trace.WithTimestamp(p.started), trace.WithNewRoot(), trace.WithAttributes(
			attribute.String("k8s.namespace.name", p.request.Namespace), attribute.String("a2a.object.kind", p.kind),
			attribute.String("a2a.object.name", p.request.Name),
		))
	}
	return p.span
}

func (p *pass) end(ctx context.Context, err error) {
	p.mu.Lock()
	silent := p.span == nil && err == nil
	p.mu.Unlock()
	if silent {
		return
	}
	span := p.of(ctx)
	if err != nil {
		// The text of an error may contain values of objects, so it is not exported.
		span.SetStatus(codes.Error, "")
		span.SetAttributes(attribute.String("error.type", "reconcile"))
	}
	span.End()
}

// Wrap returns a transport to the API server that makes the spans of the writes of reconciles.
func (t *Tracer) Wrap(next http.RoundTripper) http.RoundTripper { return &transport{next} }

type transport struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	p, ok := r.Context().Value(passKey{}).(*pass)
	if !ok || r.Method == http.MethodGet || r.Method == http.MethodHead {
		return t.RoundTripper.RoundTrip(r) // a transport returns the errors of the next transport unchanged
	}
	ctx := trace.ContextWithSpan(r.Context(), p.of(r.Context()))
	ctx, span := p.tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("http.request.method", r.Method), attribute.String("url.path", r.URL.Path),
	))
	defer span.End()
	out := r.Clone(ctx)
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(out.Header))
	response, err := t.RoundTripper.RoundTrip(out)
	if err != nil {
		span.SetStatus(codes.Error, "")
		span.SetAttributes(attribute.String("error.type", "_OTHER"))
	} else {
		span.SetAttributes(attribute.Int("http.response.status_code", response.StatusCode))
		if response.StatusCode >= http.StatusBadRequest {
			span.SetStatus(codes.Error, "")
		}
	}
	return response, err // a transport returns the errors of the next transport unchanged
}

// WrappedRoundTripper returns the next transport, for client-go, which unwraps transports.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }
