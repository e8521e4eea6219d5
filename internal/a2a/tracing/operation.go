// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// operation is an operation that a client calls, with its span.
type operation struct {
	span     trace.Span
	settings *Settings
	// parked is true if the stream of the response outlives its handler. ended is true once
	// the span has ended.
	parked, ended atomic.Bool
	// method names the operation once the Handler is called. It names the span if the
	// result names no method, because the client disconnected before the response.
	method a2a.Method
	// task, conversation and state are the id, the context and the state of the task in the
	// response.
	task, conversation string
	state              a2a.State
	// parent is the first task to which the message refers. answered is true once the response has named the
	// task or the context: both exist, and the caller may see them.
	parent   string
	answered bool
	// logged is true if IDsOf is needed.
	logged bool
}

type operationKey struct{}

func operationOf(ctx context.Context) *operation {
	op, _ := ctx.Value(operationKey{}).(*operation)
	return op
}

// IDs are the ids of a request that a log names. Each is "" if there is none, and has at most 256 bytes.
type IDs struct {
	Task, Context string
	// Parent is the first task to which the message refers. The gateway puts the task of the calling agent there.
	Parent string
}

// IDsOf returns the ids of the operation of ctx, after its response. They are empty if the response named no task
// and no context: ids that only the client names may be of another owner, or any text.
func IDsOf(ctx context.Context) IDs {
	op := operationOf(ctx)
	if op == nil || !op.answered {
		return IDs{}
	}
	return IDs{Task: bounded(op.task), Context: bounded(op.conversation), Parent: bounded(op.parent)}
}

// codeInternal is the code of an internal error in JSON-RPC.
const codeInternal = -32603

// Serve returns a handler that starts the span of an operation, as a child of the span that
// the client names. End ends the span. If the handler returns without a call of End and the
// stream is not parked, Serve ends the span: with an internal error if the handler panics,
// as canceled otherwise.
func (t *Tracer) Serve(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := t.current()
		logged := t != nil && t.Logs != nil && t.Logs()
		if s == nil && logged {
			op := &operation{span: trace.SpanFromContext(context.Background()), settings: &Settings{}, logged: true}
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), operationKey{}, op)))
			return
		}
		if s == nil {
			next.ServeHTTP(w, r)
			return
		}
		ctx := trace.ContextWithRemoteSpanContext(r.Context(), spanContextOf(OfRequest(r.Header)))
		// The span gets its name when the request is decoded.
		ctx, span := s.Tracer.Start(ctx, "A2A", trace.WithSpanKind(trace.SpanKindServer))
		op := &operation{span: span, settings: s, logged: logged}
		result := Result{}.Refused(a2a.ReasonInternal, codeInternal) // remains the result if the handler panics
		defer func() {
			if !op.parked.Load() {
				op.end(result)
			}
		}()
		next.ServeHTTP(w, r.WithContext(context.WithValue(ctx, operationKey{}, op)))
		result = Result{}.Canceled()
	})
}

// Park sets whether the stream of ctx outlives its handler. The span of such a stream ends
// with End, and not when the handler returns.
func Park(ctx context.Context, parked bool) {
	if op := operationOf(ctx); op != nil {
		op.parked.Store(parked)
	}
}

// Outcomes of spans other than the reasons of errors.
const (
	// outcomeSuccess is the outcome of an operation that returned no error.
	outcomeSuccess = "success"
	// OutcomeCanceled is the outcome of an operation or a call whose client disconnected.
	// It is no error.
	OutcomeCanceled = "canceled"
	// OutcomeAborted is the outcome of a call whose response ended before it was complete.
	OutcomeAborted = "aborted"
)

// Result is the result of an operation. Each of its values is one of a small fixed set; a
// client chooses none of them.
type Result struct {
	Binding string
	Method  a2a.Method
	Version string
	// Outcome is the reason of an error, "" for success.
	Outcome string
	// ErrorType is the code of an error in JSON-RPC, in all bindings.
	ErrorType string
}

// Refused returns a result for an error.
func (r Result) Refused(reason a2a.Reason, code int) Result {
	r.Outcome = string(reason)
	r.ErrorType = strconv.Itoa(code)
	return r
}

// Canceled returns a result for a request whose client disconnected before the end of the
// response.
func (r Result) Canceled() Result {
	r.Outcome = OutcomeCanceled
	r.ErrorType = OutcomeCanceled
	return r
}

// End ends the span of the operation of ctx, if it has one. Only the first call counts.
func End(ctx context.Context, r Result) {
	if op := operationOf(ctx); op != nil {
		op.end(r)
	}
}

func (op *operation) end(r Result) {
	if op.ended.Swap(true) {
		return
	}
	if !op.span.IsRecording() {
		op.span.End()
		return
	}
	r.Method = cmp.Or(r.Method, op.method)
	if r.Method != "" {
		op.span.SetName(string(r.Method))
		op.span.SetAttributes(keyOperation.String(string(r.Method)))
	}
	if r.Binding != "" {
		op.span.SetAttributes(keyBinding.String(r.Binding))
	}
	if r.Version != "" {
		op.span.SetAttributes(keyVersion.String(r.Version))
	}
	setOutcome(op.span, r.Outcome, r.ErrorType)
	op.describeTask()
	if op.settings.DraftAttributes {
		op.span.SetAttributes(draftMethod.String(string(r.Method)), draftVersion.String(r.Version),
			text(keyAgent, op.settings.Agent))
	}
	if op.settings.Version != "" {
		op.span.SetAttributes(text(keyAgentVersion, op.settings.Version))
	}
	op.span.End()
}

// setOutcome records how the work of a span has ended. outcome is "" for success.
func setOutcome(span trace.Span, outcome, errorType string) {
	if outcome == "" {
		span.SetAttributes(keyOutcome.String(outcomeSuccess))
		return
	}
	span.SetAttributes(keyOutcome.String(outcome), keyErrorType.String(errorType))
	if outcome != OutcomeCanceled {
		span.SetStatus(codes.Error, "")
	}
}

func (op *operation) describeTask() {
	if op.task != "" {
		op.span.SetAttributes(text(keyTask, op.task))
	}
	if op.conversation != "" {
		op.span.SetAttributes(text(keyConversation, op.conversation))
	}
	if op.state != a2a.StateUnknown {
		op.span.SetAttributes(keyState.String(op.state.String()))
	}
}

// The attributes of spans. Releases keep their names and meanings.
const (
	keyOperation = attribute.Key("a2a.operation")
	keyBinding   = attribute.Key("a2a.binding")
	keyVersion   = attribute.Key("a2a.version")
	keyOutcome   = attribute.Key("a2a.outcome")
	keyTask      = attribute.Key("a2a.task.id")
	keyState     = attribute.Key("a2a.task.state")
	keyAttempt   = attribute.Key("a2a.turn.attempt")
	keyProtocol  = attribute.Key("a2a.backend.protocol")

	keyConversation = attribute.Key("gen_ai.conversation.id")
	keyGenAI        = attribute.Key("gen_ai.operation.name")
	keyAgent        = attribute.Key("gen_ai.agent.name")
	keyAgentVersion = attribute.Key("gen_ai.agent.version")
	keyErrorType    = attribute.Key("error.type")
	keyStatusCode   = attribute.Key("http.response.status_code")
)

// The attributes of the draft that differ from those above (semantic-conventions-genai, pull
// request 195).
const (
	draftMethod     = attribute.Key("a2a.method.name")
	draftMessage    = attribute.Key("a2a.message.id")
	draftReferences = attribute.Key("a2a.message.reference_task_ids")
	draftVersion    = attribute.Key("a2a.protocol.version")
	draftTenant     = attribute.Key("a2a.tenant")
)

// invokeAgent is the name of calls of agents in the conventions of OpenTelemetry.
const invokeAgent = "invoke_agent"

// maxText bounds a text that a client or an agent chose, in bytes.
const maxText = 256

// text returns an attribute with the value, shortened by bounded.
func text(key attribute.Key, value string) attribute.KeyValue { return key.String(bounded(value)) }

// bounded returns the first maxText bytes of a text as valid UTF-8, because OTLP cannot encode
// other texts. The result is a copy: a span in the queue must not keep the body of a request in
// memory.
func bounded(value string) string {
	return strings.Clone(strings.ToValidUTF8(value[:min(len(value), maxText)], ""))
}
