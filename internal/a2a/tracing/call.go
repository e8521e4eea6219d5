// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/trace"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Span is the span of a turn or a call that the sidecar makes. A nil Span records nothing.
type Span struct {
	span trace.Span
	// Trace is the trace context for the called program.
	Trace a2a.TraceContext
}

// Turn describes a turn of the agent.
type Turn struct {
	TaskID, ContextID string
	// Owner is the principal without its tenant.
	Owner   a2a.Owner
	Attempt int
	// Protocol is the protocol of the backend.
	Protocol string
	// Trace is the trace context of the message.
	Trace a2a.TraceContext
}

// StartTurn starts the span of a turn, a child of the span of the message. If the span is
// recorded, the Tracer keeps it, so that calls and push notifications of the turn can link
// to it. StartTurn returns nil while tracing is off.
func (t *Tracer) StartTurn(ctx context.Context, turn Turn) (context.Context, *Span) {
	s := t.current()
	if s == nil {
		return ctx, nil
	}
	// The goroutine of a run serves the messages of several requests, so ctx may have the span
	// of another request.
	ctx = trace.ContextWithRemoteSpanContext(ctx, spanContextOf(turn.Trace))
	ctx, call := s.start(ctx, invokeAgent+" "+s.Agent, turn.Trace, nil)
	if call.span.IsRecording() {
		call.span.SetAttributes(keyGenAI.String(invokeAgent), text(keyAgent, s.Agent), text(keyTask, turn.TaskID), text(keyConversation, turn.ContextID),
			keyProtocol.String(turn.Protocol), keyAttempt.Int(turn.Attempt))
		if s.Version != "" {
			call.span.SetAttributes(text(keyAgentVersion, s.Version))
		}
		t.turns.put(turn.TaskID, turn.Owner, call.span.SpanContext())
	}
	return ctx, call
}

// StartCall starts the span of a call of the agent to another agent, and puts its trace
// context into the header of the request. The span has the parent that the header names, and
// a link to the turn of the task that caused the call. StartCall returns nil while tracing
// is off.
func (t *Tracer) StartCall(ctx context.Context, h http.Header, agent, task string) (context.Context, *Span) {
	s := t.current()
	if s == nil {
		return ctx, nil
	}
	parent := OfRequest(h)
	ctx = trace.ContextWithRemoteSpanContext(ctx, spanContextOf(parent))
	ctx, call := s.start(ctx, invokeAgent+" "+agent, parent, t.turns.link(task, nil))
	if call.span.IsRecording() {
		call.span.SetAttributes(keyGenAI.String(invokeAgent), text(keyAgent, agent))
	}
	h.Set("Traceparent", call.Trace.Parent)
	h.Del("Tracestate")
	if call.Trace.State != "" {
		h.Set("Tracestate", call.Trace.State)
	}
	return ctx, call
}

// StartDelivery starts the span of an attempt to post a push notification. The span begins
// a trace, and has a link to the turn of the task. If the Tracer holds no recorded turn of
// the task, the link is to the span of the message with which the client registered the
// webhook. StartDelivery returns nil while tracing is off.
func (t *Tracer) StartDelivery(ctx context.Context, task string, owner a2a.Owner, registered a2a.TraceContext) (context.Context, *Span) {
	s := t.current()
	if s == nil {
		return ctx, nil
	}
	link := t.turns.link(task, &owner)
	if link == nil {
		if from := spanContextOf(registered); from.IsValid() {
			link = &trace.Link{SpanContext: from}
		}
	}
	ctx = trace.ContextWithSpanContext(ctx, trace.SpanContext{})
	ctx, call := s.start(ctx, "push notification", a2a.TraceContext{}, link)
	if call.span.IsRecording() {
		call.span.SetAttributes(text(keyTask, task))
	}
	return ctx, call
}

// start starts a span for a call. Its caller adds the attributes, and only if the span is
// recorded, because most spans are not recorded.
func (s *Settings) start(ctx context.Context, name string, received a2a.TraceContext, link *trace.Link) (context.Context, *Span) {
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient)}
	if link != nil {
		options = append(options, trace.WithLinks(*link))
	}
	ctx, span := s.Tracer.Start(ctx, name, options...)
	return ctx, &Span{span: span, Trace: Continue(ctx, a2a.TraceContext{Baggage: received.Baggage})}
}

// Answered records the HTTP status of the response to a call. It records nothing for status 0,
// which means that there was no response.
func (s *Span) Answered(status int) {
	if s != nil && status != 0 && s.span.IsRecording() {
		s.span.SetAttributes(keyStatusCode.Int(status))
	}
}

// End ends the span. failure is the outcome, one of a small fixed set of values, or "" for
// success.
func (s *Span) End(failure string) {
	if s == nil {
		return
	}
	if s.span.IsRecording() {
		setOutcome(s.span, failure, failure)
	}
	s.span.End()
}
