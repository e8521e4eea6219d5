// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"strings"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

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
		task = strings.Clone(task) // the task may be part of a body
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
