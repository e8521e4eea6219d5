// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"strings"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// maxTurns bounds the tasks whose last recorded turn is remembered.
const maxTurns = 1024

// turns remember the span of the last recorded turn of a task, for links. The zero value is
// ready to use, and holds no memory until the first turn.
type turns struct {
	mu     sync.Mutex
	byTask map[string]recordedTurn
	// order are the tasks in the order in which they came; next is the one to replace.
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

// link returns a link to the last recorded turn of a task, nil if none is known. If owner is
// not nil, the task must be that owner's: 0.1 lets clients choose ids.
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
