// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Handler adds the ids and the state of the tasks in requests and responses to the spans of
// operations.
type Handler struct{ a2a.Handler }

var _ a2a.Handler = Handler{}

// recording returns the operation of ctx, and sets its method. If neither the span of the operation
// nor a log needs it, recording returns nil. The methods of a nil operation do nothing.
func recording(ctx context.Context, method a2a.Method) *operation {
	if op := operationOf(ctx); op != nil && (op.logged || op.span.IsRecording()) {
		op.method = method
		return op
	}
	return nil
}

// Send implements a2a.Handler.
func (h Handler) Send(ctx context.Context, r *a2a.SendRequest) (a2a.Event, error) {
	op := recording(ctx, a2a.MethodSendMessage)
	op.request(r)
	event, err := h.Handler.Send(ctx, r)
	if err == nil {
		op.event(&event)
	}
	return event, err
}

// Stream implements a2a.Handler.
func (h Handler) Stream(ctx context.Context, r *a2a.SendRequest) (a2a.Stream, error) {
	op := recording(ctx, a2a.MethodSendStreamingMessage)
	op.request(r)
	s, err := h.Handler.Stream(ctx, r)
	return op.stream(s, err)
}

// Get implements a2a.Handler.
func (h Handler) Get(ctx context.Context, r *a2a.GetRequest) (*a2a.Task, error) {
	task, err := h.Handler.Get(ctx, r)
	recording(ctx, a2a.MethodGetTask).about(r.TaskID, task)
	return task, err
}

// Cancel implements a2a.Handler.
func (h Handler) Cancel(ctx context.Context, r *a2a.CancelRequest) (*a2a.Task, error) {
	task, err := h.Handler.Cancel(ctx, r)
	recording(ctx, a2a.MethodCancelTask).about(r.TaskID, task)
	return task, err
}

// Subscribe implements a2a.Handler.
func (h Handler) Subscribe(ctx context.Context, r *a2a.SubscribeRequest) (a2a.Stream, error) {
	op := recording(ctx, a2a.MethodSubscribeToTask)
	op.about(r.TaskID, nil)
	s, err := h.Handler.Subscribe(ctx, r)
	return op.stream(s, err)
}

// request records the ids that a message contains.
func (op *operation) request(r *a2a.SendRequest) {
	if op == nil {
		return
	}
	op.task = r.Message.TaskID
	op.conversation = r.Message.ContextID
	if len(r.Message.ReferenceTasks) > 0 {
		op.parent = r.Message.ReferenceTasks[0]
	}
	if !op.settings.DraftAttributes {
		return
	}
	op.span.SetAttributes(text(draftMessage, r.Message.ID))
	if r.Tenant != "" {
		op.span.SetAttributes(text(draftTenant, r.Tenant))
	}
	if references := r.Message.ReferenceTasks; len(references) > 0 {
		op.span.SetAttributes(draftReferences.StringSlice(firstIDs(references)))
	}
}

// maxReferences bounds the ids of an attribute.
const maxReferences = 16

// firstIDs returns the first maxReferences ids of a list, each shortened by bounded.
func firstIDs(ids []string) []string {
	out := make([]string, 0, min(len(ids), maxReferences))
	for _, id := range ids[:min(len(ids), maxReferences)] {
		out = append(out, bounded(id))
	}
	return out
}

func (op *operation) about(id string, t *a2a.Task) {
	if op == nil {
		return
	}
	op.task = id
	if t != nil {
		op.event(&a2a.Event{Task: t})
	}
}

// event records the ids and the state that an event contains.
func (op *operation) event(e *a2a.Event) {
	if op != nil {
		op.answered = op.answered || e.Task != nil || e.Status != nil || e.Message != nil
	}
	switch {
	case op == nil:
	case e.Task != nil:
		op.task = e.Task.ID
		op.conversation = e.Task.ContextID
		op.state = e.Task.Status.State
	case e.Status != nil:
		op.task = e.Status.TaskID
		op.conversation = e.Status.ContextID
		op.state = e.Status.Status.State
	case e.Message != nil:
		op.conversation = e.Message.ContextID
	}
}

func (op *operation) stream(s a2a.Stream, err error) (a2a.Stream, error) {
	if op == nil || err != nil {
		return s, err
	}
	return &stream{s, op}, nil
}

// stream is a stream that records the last state of its task in its operation.
type stream struct {
	a2a.Stream
	operation *operation
}

// Next implements a2a.Stream.
func (s *stream) Next(ctx context.Context) ([]*a2a.Record, error) {
	records, err := s.Stream.Next(ctx)
	for _, r := range records {
		s.operation.event(&r.Event)
	}
	return records, err
}
