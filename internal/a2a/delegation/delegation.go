// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delegation knows for whom the agent calls other agents: the subjects of the turns that run
// now. A subject has the credential of the caller, which stays in the memory of the sidecar and is
// dropped at the end of the turn. The agent's container names a turn by the id of its task.
package delegation

import (
	"context"
	"slices"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Turns has the subjects of the running turns. The zero value has none. It is safe for concurrent use.
type Turns struct {
	mu sync.Mutex
	// running has the subjects of the turns of a task, by its id. Two turns of a task run while one waits for the
	// input that the other one delivers.
	running map[string][]*a2a.Subject
}

// Begin adds a turn of a task. end removes the turn; further calls of it do nothing. subject may be nil.
func (t *Turns) Begin(task string, subject *a2a.Subject) (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running == nil {
		t.running = map[string][]*a2a.Subject{}
	}
	t.running[task] = append(t.running[task], subject)
	return sync.OnceFunc(func() { t.end(task, subject) })
}

func (t *Turns) end(task string, subject *a2a.Subject) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.running[task]
	if at := slices.Index(all, subject); at >= 0 {
		all = slices.Delete(all, at, at+1)
	}
	t.running[task] = all
	if len(all) == 0 {
		delete(t.running, task)
	}
}

// Of returns the subject of the newest running turn of a task, nil for a turn without one. It returns false if no turn runs. It also returns false
// if turns of different owners run: clients of A2A 0.1 choose the ids of their tasks, so another client may have chosen the same one.
func (t *Turns) Of(task string) (subject *a2a.Subject, isRunning bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.running[task]
	if len(all) == 0 {
		return nil, false
	}
	newest := all[len(all)-1]
	for _, other := range all {
		if (other == nil) != (newest == nil) || other != nil && (other.Owner != newest.Owner || other.Principal != newest.Principal) {
			return nil, false
		}
	}
	return newest, true
}

type subjectKey struct{}

// With returns a context for requests of this process to the gateway on behalf of a subject. The subject may be nil.
func With(ctx context.Context, subject *a2a.Subject) context.Context {
	return context.WithValue(ctx, subjectKey{}, subject)
}

type cancelKey struct{}

// ToCancel returns a context whose requests to the gateway belong to a running turn, whose task they name. When the turn has ended, the requests of
// Canceling(ctx) still belong to the subject, which may be nil.
func ToCancel(ctx context.Context, subject *a2a.Subject) context.Context {
	return context.WithValue(ctx, cancelKey{}, subject)
}

// Passed returns a context with the subject that ToCancel has named in another context.
func Passed(ctx, from context.Context) context.Context {
	if subject, isNamed := from.Value(cancelKey{}).(*a2a.Subject); isNamed {
		return ToCancel(ctx, subject)
	}
	return ctx
}

// Canceling returns the context for the request that cancels a task of a called agent: on behalf of the subject that ToCancel has named, if any.
func Canceling(ctx context.Context) context.Context {
	if subject, isNamed := ctx.Value(cancelKey{}).(*a2a.Subject); isNamed {
		return With(ctx, subject)
	}
	return ctx
}

// From returns the subject of a context, and nil if there is none.
func From(ctx context.Context) *a2a.Subject {
	subject, _ := Named(ctx)
	return subject
}

// Named returns the subject of a context, and whether With has named it, also as nil.
func Named(ctx context.Context) (subject *a2a.Subject, isNamed bool) {
	subject, isNamed = ctx.Value(subjectKey{}).(*a2a.Subject)
	return subject, isNamed
}
