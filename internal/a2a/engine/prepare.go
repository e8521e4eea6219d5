// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// maxReferences bounds the tasks that a message may bring along.
const maxReferences = 16

var errStore = errors.New("store is not available")

// prepare gathers what the agent may want to know about a message, and adds
// the message to what was said.
func (t *task) prepare(ctx context.Context, r *run) (*backend.Turn, error) {
	tn := r.turn
	c := store.Conversation{Owner: t.key.Owner, ContextID: t.contextID}
	var history []*a2a.Message
	if !tn.fresh {
		err := t.engine.insist(ctx, func() (err error) {
			history, err = t.engine.options.Store.Recall(ctx, c)
			return err //nolint:wrapcheck // below
		})
		if err != nil {
			return nil, fmt.Errorf("recall context: %w: %w", errStore, err)
		}
	}
	var references []*a2a.Task
	err := t.engine.insist(ctx, func() (err error) {
		references, err = t.engine.references(ctx, t.key, tn.message.ReferenceTasks)
		return err
	})
	if err != nil {
		return nil, err
	}
	attempt := 1
	if tn.again != nil {
		attempt = tn.again.brief.Attempt
		history = t.before(history, tn.message.ID)
	} else {
		_ = t.note(ctx, tn.kept) // the agent need not wait for it
	}
	return &backend.Turn{
		TaskID: t.key.TaskID, ContextID: t.contextID, Number: tn.number, Attempt: attempt,
		Owner: a2a.Owner(t.key.Owner.Principal()), Message: tn.message,
		Task: tn.before, History: history, References: references,
		AcceptedOutputModes: tn.request.AcceptedOutputModes,
		Metadata:            tn.request.Metadata,
		Extensions:          tn.request.Extensions,
		Tenant:              tn.request.Tenant,
		TraceParent:         tn.request.TraceParent,
		Input:               t.asInput(r),
	}, nil
}

// before returns a conversation without a message and what was said to it: a
// turn that is run again is shown what it was shown first.
func (t *task) before(history []*a2a.Message, id string) []*a2a.Message {
	at := slices.IndexFunc(history, func(m *a2a.Message) bool { return m.ID == id && m.TaskID == t.key.TaskID })
	if at < 0 {
		return history
	}
	earlier := slices.Clone(history[:at])
	for _, m := range history[at:] {
		if m.TaskID != t.key.TaskID {
			earlier = append(earlier, m)
		}
	}
	return earlier
}

// references returns the tasks that exist for the owner; of others the agent
// must not learn either.
func (e *Engine) references(ctx context.Context, k store.Key, ids []string) ([]*a2a.Task, error) {
	var tasks []*a2a.Task
	for _, id := range ids[:min(len(ids), maxReferences)] {
		if id == k.TaskID {
			continue
		}
		log, err := e.options.Store.Open(ctx, store.Key{Owner: k.Owner, TaskID: id})
		var record *a2a.Record
		if err == nil {
			record, err = log.Snapshot(ctx)
		}
		switch {
		case err == nil:
			tasks = append(tasks, record.Task)
		case !errors.Is(err, store.ErrNotFound):
			return nil, fmt.Errorf("read referenced task: %w: %w", errStore, err)
		}
	}
	return tasks, nil
}
