// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bindingtest

import (
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// Handler implements a2a.Handler and a2a.PushHandler for tests. Each method records its
// request and returns the field with its result. The fields must not change during a call.
type Handler struct {
	// Event, Task, Page, Push, Pushes and Card are the results of calls. Records are the
	// records of each stream. One call of Next returns Batch records; a Batch of 0 means 1.
	Event   a2a.Event
	Task    *a2a.Task
	Page    *a2a.TaskPage
	Records []*a2a.Record
	Batch   int
	Push    *a2a.PushConfig
	Pushes  *a2a.PushPage
	Card    []byte
	// Err is the error of all calls.
	Err error
	// StreamErr is the error with which streams end; nil means io.EOF. If Endless is true,
	// streams repeat their last record instead.
	StreamErr error
	Endless   bool
	// Entered is called at the beginning of each call, if it is not nil.
	Entered func()
	// If Left is not nil, each call waits until its context ends, sends the error of the
	// context to Left, and returns this error.
	Left chan error

	mu   sync.Mutex
	last any
	sent int
}

var (
	_ a2a.Handler     = (*Handler)(nil)
	_ a2a.PushHandler = (*Handler)(nil)
)

// Last returns the last request, nil for none. For a request of an extended card, it
// returns the form.
func (h *Handler) Last() any {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// Sent returns the number of calls of Next on all streams. It does not count calls whose
// context had ended.
func (h *Handler) Sent() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sent
}

func (h *Handler) called(ctx context.Context, request any) error {
	h.mu.Lock()
	h.last = request
	h.mu.Unlock()
	if h.Entered != nil {
		h.Entered()
	}
	if h.Left != nil {
		<-ctx.Done()
		h.Left <- ctx.Err()
		return ctx.Err()
	}
	return h.Err
}

// Send implements a2a.Handler.
func (h *Handler) Send(ctx context.Context, r *a2a.SendRequest) (a2a.Event, error) {
	return h.Event, h.called(ctx, r)
}

// Stream implements a2a.Handler.
func (h *Handler) Stream(ctx context.Context, r *a2a.SendRequest) (a2a.Stream, error) {
	return &stream{h, h.Records}, h.called(ctx, r)
}

// Get implements a2a.Handler.
func (h *Handler) Get(ctx context.Context, r *a2a.GetRequest) (*a2a.Task, error) {
	return h.Task, h.called(ctx, r)
}

// List implements a2a.Handler.
func (h *Handler) List(ctx context.Context, r *a2a.ListRequest) (*a2a.TaskPage, error) {
	return h.Page, h.called(ctx, r)
}

// Cancel implements a2a.Handler.
func (h *Handler) Cancel(ctx context.Context, r *a2a.CancelRequest) (*a2a.Task, error) {
	return h.Task, h.called(ctx, r)
}

// Subscribe implements a2a.Handler.
func (h *Handler) Subscribe(ctx context.Context, r *a2a.SubscribeRequest) (a2a.Stream, error) {
	return &stream{h, h.Records}, h.called(ctx, r)
}

// SetPush implements a2a.PushHandler.
func (h *Handler) SetPush(ctx context.Context, r *a2a.SetPushRequest) (*a2a.PushConfig, error) {
	return h.Push, h.called(ctx, r)
}

// GetPush implements a2a.PushHandler.
func (h *Handler) GetPush(ctx context.Context, r *a2a.PushRequest) (*a2a.PushConfig, error) {
	return h.Push, h.called(ctx, r)
}

// ListPush implements a2a.PushHandler.
func (h *Handler) ListPush(ctx context.Context, r *a2a.ListPushRequest) (*a2a.PushPage, error) {
	return h.Pushes, h.called(ctx, r)
}

// DeletePush implements a2a.PushHandler.
func (h *Handler) DeletePush(ctx context.Context, r *a2a.PushRequest) error {
	return h.called(ctx, r)
}

// ExtendedCard returns Card. It is a value for the field ExtendedCard of the configuration
// of a binding.
func (h *Handler) ExtendedCard(r *http.Request, _ string, form card.Form) ([]byte, error) {
	return h.Card, h.called(r.Context(), form)
}

type stream struct {
	handler *Handler
	records []*a2a.Record
}

// Next implements a2a.Stream.
func (s *stream) Next(ctx context.Context) ([]*a2a.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h := s.handler
	h.mu.Lock()
	h.sent++
	h.mu.Unlock()
	if len(s.records) == 0 {
		if h.StreamErr == nil {
			return nil, io.EOF
		}
		return nil, h.StreamErr
	}
	n := min(max(h.Batch, 1), len(s.records))
	next := s.records[:n]
	if !h.Endless || len(s.records) > n {
		s.records = s.records[n:]
	}
	return next, nil
}

// Close implements a2a.Stream.
func (s *stream) Close() {}
