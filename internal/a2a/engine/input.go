// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// inputTimedOut is in the metadata of a task that failed since nobody answered.
const inputTimedOut = `{"a2a.inputTimeout":true}`

// answer gives a message without a task to the one whose question it answers,
// and reports whether there is one: the only task that it refers to, when that
// waits for this answer. All others refer to a task and begin one of their own.
func (e *Engine) answer(ctx context.Context, tn *turn) (taken bool, err error) {
	if len(tn.message.ReferenceTasks) != 1 || !tn.message.HasResult() {
		return false, nil
	}
	t, err := e.acquire(ctx, store.Key{Owner: tn.request.Owner, TaskID: tn.message.ReferenceTasks[0]}, false)
	if err != nil {
		return false, unlessMissing(err)
	}
	defer e.release(t)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.log == nil {
		return false, nil
	}
	if err := t.load(ctx); err != nil {
		return false, unlessMissing(err)
	}
	asked, ok := t.asks()
	if c := tn.message.ContextID; !ok || !tn.message.Answers(asked.ID) || c != "" && c != t.contextID {
		return false, nil
	}
	claimed := tn.taskID
	tn.message.TaskID, tn.taskID = t.key.TaskID, t.key.TaskID
	if err = t.take(ctx, tn); err == error(errTurnLimit) { //nolint:errorlint // it is this very error
		tn.taskID = claimed // when there is a place, it may be no answer any more
	}
	return true, err
}

// asks returns what the task waits for.
func (t *task) asks() (a2a.InputRequest, bool) {
	if t.state() != a2a.StateInputRequired {
		return a2a.InputRequest{}, false
	}
	return t.status.Message.InputRequest()
}

// keeping returns what is kept of a message that the task goes on with.
func (t *task) keeping(m *a2a.Message) *a2a.Message {
	if asked, ok := t.asks(); ok && asked.Sensitive {
		return m.Redacted()
	}
	return m
}

// expect follows every status: a run that waits for its client does not wait
// for ever. Without a run a task may wait as long as it is kept.
func (t *task) expect(ctx context.Context) {
	t.expectNothing()
	if t.run == nil || t.run.gone || !t.paused || t.state() != a2a.StateInputRequired {
		return
	}
	patience := t.engine.options.InputTimeout()
	if asked, ok := t.asks(); ok && asked.Timeout > 0 {
		patience = min(patience, asked.Timeout)
	}
	question := t.questions
	ctx = context.WithoutCancel(ctx)
	t.patience = time.AfterFunc(patience, func() { t.giveUp(ctx, question, patience) })
}

func (t *task) expectNothing() {
	t.questions++
	if t.patience != nil {
		t.patience.Stop()
		t.patience = nil
	}
}

// giveUp fails a task that nobody answered, unless somebody just did.
func (t *task) giveUp(ctx context.Context, question uint64, patience time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calm() // its answer may be on its way into the log
	if t.questions != question {
		return
	}
	failed := t.says(a2a.StateFailed, t.word(reasonInput+patience.String()))
	failed.Status.Metadata = a2a.Object(inputTimedOut)
	t.end(ctx, failed)
}
