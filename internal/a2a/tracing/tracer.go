// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tracing makes the spans of the request path: one for each operation that a client
// calls, one for each turn of the agent, for each step of a model and its tools, for each call through the gateway, and for each
// attempt of a push notification. It imports no exporter.
//
// A span holds ids, states and reasons, and no content, credential or principal. While
// tracing is off, nothing here allocates.
package tracing

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Name is the name of the instrumentation scope of the spans.
const Name = "github.com/a2a-operator/a2a-operator/internal/a2a/tracing"

// Settings configure a Tracer.
type Settings struct {
	// Tracer starts spans.
	Tracer trace.Tracer
	// DraftAttributes adds the attributes of the draft of OpenTelemetry's conventions for
	// A2A, which may change with each release.
	DraftAttributes bool
	// Agent and Version are the name and the version on the agent's card.
	Agent, Version string
}

// Tracer makes spans. A nil Tracer and a Tracer without Settings make none. The methods are
// safe for concurrent use.
type Tracer struct {
	// Logs reports whether IDsOf is needed while tracing is off; nil for never. It is set before the first
	// request.
	Logs     func() bool
	settings atomic.Pointer[Settings]
	turns    turns
}

// Swap replaces the settings; nil turns tracing off. Spans that have started end with the
// settings with which they started.
func (t *Tracer) Swap(s *Settings) { t.settings.Store(s) }

func (t *Tracer) current() *Settings {
	if t == nil {
		return nil
	}
	return t.settings.Load()
}

var propagator propagation.TraceContext

// carrier is a trace context in the form in which OpenTelemetry reads and writes it.
type carrier a2a.TraceContext

// Get implements propagation.TextMapCarrier.
func (c *carrier) Get(key string) string {
	switch key {
	case "traceparent":
		return c.Parent
	case "tracestate":
		return c.State
	default:
		return ""
	}
}

// Set implements propagation.TextMapCarrier.
func (c *carrier) Set(key, value string) {
	switch key {
	case "traceparent":
		c.Parent = value
	case "tracestate":
		c.State = value
	}
}

// Keys implements propagation.TextMapCarrier.
func (*carrier) Keys() []string { return []string{"traceparent", "tracestate"} }

// spanContextOf returns the span that a trace context names; the zero value if it names none.
func spanContextOf(t a2a.TraceContext) trace.SpanContext {
	return trace.SpanContextFromContext(propagator.Extract(context.Background(), (*carrier)(&t)))
}

// Continue returns a trace context with the span of ctx, if there is one, in place of the span
// that t names, so that the calls of the request become children of the span of ctx. The
// baggage stays.
func Continue(ctx context.Context, t a2a.TraceContext) a2a.TraceContext {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return t
	}
	c := &carrier{Baggage: t.Baggage}
	propagator.Inject(ctx, c)
	return a2a.TraceContext(*c)
}

// The maximum lengths of the headers of a trace context, in bytes. W3C asks to pass on
// 512 bytes of tracestate and 8 KiB of baggage. The maxima limit the memory of a turn, which
// keeps the headers while it runs.
const (
	maxTraceParent = 128
	maxTraceState  = 512
	maxBaggage     = 8 << 10
)

// OfRequest returns the trace context in the headers of a request. It drops a value that
// exceeds its maximum length, and a tracestate without a traceparent.
func OfRequest(h http.Header) (t a2a.TraceContext) {
	t.Parent = joined(h["Traceparent"], maxTraceParent)
	if t.Parent != "" {
		t.State = joined(h["Tracestate"], maxTraceState)
	}
	t.Baggage = joined(h["Baggage"], maxBaggage)
	return t
}

// joined joins the values of a header that is a list. It returns "" if the result exceeds a
// limit in bytes.
func joined(values []string, limit int) string {
	size := len(values) - 1
	for _, v := range values {
		size += len(v)
	}
	if size > limit {
		return ""
	}
	return strings.Join(values, ",")
}

// maxTurns bounds the number of tasks in turns.
const maxTurns = 1024

// turns hold the span of the last recorded turn of each of the last maxTurns tasks, for
// links. The zero value is ready to use, and holds no memory until the first turn.
type turns struct {
	mu     sync.Mutex
	byTask map[string]recordedTurn
	// order is a ring of the tasks in the order of their first turn; next is the index of the
	// task to replace.
	order []string
	next  int
}

type recordedTurn struct {
	owner a2a.Owner
	span  trace.SpanContext
}

func (t *turns) put(task string, owner a2a.Owner, span trace.SpanContext) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byTask == nil {
		t.byTask = map[string]recordedTurn{}
	}
	if _, known := t.byTask[task]; !known {
		task = strings.Clone(task) // without a copy, the id could keep the body of a request in memory
		if len(t.order) < maxTurns {
			t.order = append(t.order, task)
		} else {
			delete(t.byTask, t.order[t.next])
			t.order[t.next] = task
			t.next = (t.next + 1) % maxTurns
		}
	}
	t.byTask[task] = recordedTurn{owner, span}
}

// link returns a link to the last recorded turn of a task, nil if turns hold none. If owner is
// not nil, the task must belong to it: clients of 0.1 choose task ids, so two owners may have
// tasks with the same id.
func (t *turns) link(task string, owner *a2a.Owner) *trace.Link {
	if task == "" {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	turn, known := t.byTask[task]
	if !known || owner != nil && turn.owner != *owner {
		return nil
	}
	return &trace.Link{SpanContext: turn.span}
}
