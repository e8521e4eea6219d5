// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// maxReferences bounds the referenced tasks of a message that the agent receives. Further
// references are ignored.
const maxReferences = 16

// prepare returns the input of the backend for a run. It reads the conversation and the
// referenced tasks, and adds the message to the conversation. Reads of a shared store are
// retried for Options.OutageRetryFor, also while there is no memory for them.
func (t *task) prepare(ctx context.Context, r *run) (*backend.Turn, error) {
	tn := r.turn
	var history []*a2a.Message
	var references []*a2a.Task
	reader := t.engine.options.Loads.Reader(t.key.Owner)
	err := t.engine.retryOutage(ctx, func() (err error) {
		ctx := reader.InWhole(ctx)
		history, err = t.recall(ctx, tn)
		if err == nil {
			references, err = t.engine.references(ctx, t.key, tn.message.ReferenceTasks)
		}
		if err != nil {
			reader.Release() // others may use the memory until the next attempt
		}
		return err
	})
	if refusal, ok := errors.AsType[*a2a.Error](err); ok {
		return nil, backend.Failed(refusal.Message, nil)
	}
	if err != nil {
		return nil, err
	}
	attempt := 1
	var interrupted time.Time
	if tn.rerun != nil {
		attempt = tn.rerun.descriptor.Attempt
		interrupted = tn.rerun.interrupted
		history = t.historyBefore(history, tn.message.ID)
	} else {
		_ = t.startRemembering(ctx, tn.logged) // the agent does not wait for the store
	}
	return &backend.Turn{
		TaskID: t.key.TaskID, ContextID: t.contextID, Number: tn.number, Attempt: attempt, Interrupted: interrupted,
		Owner: a2a.Owner(t.key.Owner.Principal()), AccountingPrincipal: tn.principal, Message: tn.message,
		Task: tn.taskBefore, History: history, References: references, Counted: reader.Release,
		AcceptedOutputModes: tn.request.AcceptedOutputModes,
		Metadata:            tn.request.Metadata,
		Extensions:          tn.request.Extensions,
		Tenant:              tn.request.Tenant,
		Trace:               tn.request.Trace,
		Subject:             subjectOf(tn.request, t.key.Owner),
		Input:               t.asInput(ctx, r),
		Journal:             &journal{task: t, run: r},
	}, nil
}

// subjectOf returns the subject of a turn: the one of its request or, if the request came from a store or from another replica, the owner of
// the task without a credential.
func subjectOf(r *a2a.SendRequest, owner a2a.Owner) *a2a.Subject {
	if r.Subject != nil {
		return r.Subject
	}
	return a2a.SubjectOf(owner)
}

// retryOutage calls call, and repeats it for at most Options.OutageRetryFor while a
// shared store has an outage (store.ErrUnavailable). If the caller holds the lock of a task,
// other users of the task wait meanwhile.
func (e *Engine) retryOutage(ctx context.Context, call func() error) error {
	err := call()
	if e.coordinator.Exclusive() || !errors.Is(err, store.ErrUnavailable) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, e.options.OutageRetryFor)
	defer cancel()
	defer context.AfterFunc(e.retries, cancel)() // it ends with the engine
	return store.Retry(ctx, call)
}

// historyBefore returns the conversation as it was before the message id of this task: it
// leaves out this message and the later messages of this task. A re-run therefore receives
// the same history as the first attempt.
func (t *task) historyBefore(history []*a2a.Message, id string) []*a2a.Message {
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

// recall returns the earlier messages of the conversation of a turn.
func (t *task) recall(ctx context.Context, tn *turn) ([]*a2a.Message, error) {
	if tn.newContext {
		return nil, nil
	}
	history, err := t.engine.options.Store.Recall(ctx, store.Conversation{Owner: t.key.Owner, ContextID: t.contextID})
	return history, readError("recall conversation", err)
}

// unavailableWithoutMemory adds store.ErrUnavailable to the error of a read for which others use the memory, as in an outage.
func unavailableWithoutMemory(err error) error {
	if refusal, ok := errors.AsType[*a2a.Error](err); ok && refusal.RetryAfter > 0 {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, refusal)
	}
	return err
}

// readError returns the error for a read that has failed, nil for none. Without memory, see unavailableWithoutMemory.
func readError(what string, err error) error {
	refusal, isRefused := errors.AsType[*a2a.Error](err)
	switch {
	case err == nil:
		return nil
	case isRefused && refusal.RetryAfter > 0:
		return fmt.Errorf("%s: %w", what, unavailableWithoutMemory(err))
	case isRefused:
		return refusal
	default:
		return fmt.Errorf("%s: %w: %w", what, errStore, err)
	}
}

// references returns the tasks of the owner with the given ids, except the task itself.
// Ids without a task of the owner are skipped.
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
			return nil, readError("read referenced task", err)
		}
	}
	return tasks, nil
}

// asInput reports whether r delivers its message to another run. If the other run has
// returned, asInput makes r the run of the task and returns false.
func (t *task) asInput(ctx context.Context, r *run) bool {
	t.lock(ctx)
	defer t.unlock()
	if t.input == r && (t.run == nil || t.run.returned) {
		t.delivered(onReplace)
		t.run = r
		r.input = false
	}
	return r.input
}
