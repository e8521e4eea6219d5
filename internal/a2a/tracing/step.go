// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// The operations of steps, as OpenTelemetry's conventions for generative AI name them.
const (
	operationChat = "chat"
	operationTool = "execute_tool"
	// toolType is the type of tools that the agent itself calls.
	toolType = "extension"
)

const (
	keyRequestModel  = attribute.Key("gen_ai.request.model")
	keyResponseModel = attribute.Key("gen_ai.response.model")
	keyFinish        = attribute.Key("gen_ai.response.finish_reasons")
	keyInputTokens   = attribute.Key("gen_ai.usage.input_tokens")
	keyOutputTokens  = attribute.Key("gen_ai.usage.output_tokens")
	keyTool          = attribute.Key("gen_ai.tool.name")
	keyToolCall      = attribute.Key("gen_ai.tool.call.id")
	keyToolType      = attribute.Key("gen_ai.tool.type")
)

// Chat is an answer of a model. Its zero fields are not recorded.
type Chat struct {
	// Model is the model that answered, and FinishReason the reason for which it stopped.
	Model, FinishReason       string
	InputTokens, OutputTokens int64
}

// StartChat starts the span of a request to a model, a child of the span that parent names. model is "" if the server chooses it.
// StartChat returns nil while tracing is off.
func (t *Tracer) StartChat(ctx context.Context, parent a2a.TraceContext, model, conversation string) (context.Context, *Span) {
	ctx, span := t.startStep(ctx, parent, trace.SpanKindClient, operationChat, model)
	if span != nil && span.span.IsRecording() {
		span.span.SetAttributes(keyGenAI.String(operationChat), text(keyConversation, conversation))
		if model != "" {
			span.span.SetAttributes(text(keyRequestModel, model))
		}
	}
	return ctx, span
}

// Chat records the answer of a model.
func (s *Span) Chat(c *Chat) {
	if s == nil || !s.span.IsRecording() {
		return
	}
	if c.Model != "" {
		s.span.SetAttributes(text(keyResponseModel, c.Model))
	}
	if c.FinishReason != "" {
		s.span.SetAttributes(keyFinish.StringSlice([]string{bounded(c.FinishReason)}))
	}
	if c.InputTokens > 0 || c.OutputTokens > 0 {
		s.span.SetAttributes(keyInputTokens.Int64(c.InputTokens), keyOutputTokens.Int64(c.OutputTokens))
	}
}

// StartTool starts the span of a call of a tool, a child of the span that parent names. StartTool returns nil while tracing is off.
func (t *Tracer) StartTool(ctx context.Context, parent a2a.TraceContext, tool, call, task string) (context.Context, *Span) {
	ctx, span := t.startStep(ctx, parent, trace.SpanKindInternal, operationTool, tool)
	if span != nil && span.span.IsRecording() {
		span.span.SetAttributes(keyGenAI.String(operationTool), text(keyTool, tool), text(keyToolCall, call), keyToolType.String(toolType), text(keyTask, task))
	}
	return ctx, span
}

func (t *Tracer) startStep(ctx context.Context, parent a2a.TraceContext, kind trace.SpanKind, operation, of string) (context.Context, *Span) {
	s := t.current()
	if s == nil {
		return ctx, nil
	}
	name := operation
	if of != "" {
		name += " " + bounded(of)
	}
	ctx = trace.ContextWithRemoteSpanContext(ctx, spanContextOf(parent))
	ctx, span := s.Tracer.Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, &Span{span: span, Trace: Continue(ctx, a2a.TraceContext{Baggage: parent.Baggage})}
}

// Of returns the trace context for what a span calls, and parent for a nil span.
func (s *Span) Of(parent a2a.TraceContext) a2a.TraceContext {
	if s == nil {
		return parent
	}
	return s.Trace
}
