// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

type pausing struct{}

func (pausing) Run(_ context.Context, _ *backend.Turn, emit backend.Emit) error {
	return emit([]a2a.Event{{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateInputRequired}}}})
}

// Two cancels rarely overlap, so the test makes them overlap: the second begins
// before the first has ended.
func TestWire11_CancelJoinsACancelUnderWay(t *testing.T) {
	e, err := New(Options{Store: memory.New(memory.Options{}), Backend: pausing{}})
	if err != nil {
		t.Fatal(err)
	}
	event, err := e.Send(t.Context(), &a2a.SendRequest{Message: &a2a.Message{ID: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	id := event.Task.ID
	second, err := e.acquire(t.Context(), store.Key{TaskID: id}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer e.release(second)
	late := second.canceled.Load()
	if _, err := e.Cancel(t.Context(), &a2a.CancelRequest{TaskID: id}); err != nil {
		t.Fatalf("first Cancel() error = %v", err)
	}
	second.lock(t.Context())
	err = second.cancel(t.Context(), late)
	second.unlock()
	if err != nil {
		t.Errorf("cancel() that began before the first ended: error = %v", err)
	}
	_, err = e.Cancel(t.Context(), &a2a.CancelRequest{TaskID: id})
	if problem, ok := errors.AsType[*a2a.Error](err); !ok || problem.Reason != a2a.ReasonTaskNotCancelable {
		t.Errorf("later Cancel() error = %v", err)
	}
	if err := e.Drain(t.Context()); err != nil {
		t.Errorf("Drain() error = %v", err)
	}
}
