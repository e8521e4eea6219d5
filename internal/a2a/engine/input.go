// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// inputTimedOut is the metadata of a task that failed because its client did not answer.
const inputTimedOut = `{"a2a.inputTimeout":true}`

// answerInput accepts a message without a task as the answer to an input request of the
// only task to which it refers, and reports whether that task waits for it. A message
// that refers to other tasks begins a task of its own.
func (e *Engine) answerInput(ctx context.Context, tn *turn) (accepted bool, err error) {
	if len(tn.message.ReferenceTasks) != 1 || !tn.message.HasResult() {
		return false, nil
	}
	t, err := e.acquire(ctx, store.Key{Owner: tn.request.Owner, TaskID: tn.message.ReferenceTasks[0]}, false)
	if err != nil {
		return false, unlessMissing(err)
	}
	defer e.release(t)
	if err := t.lockWithin(ctx); err != nil {
		return false, err
	}
	defer t.unlock()
	if t.log == nil {
		return false, nil
	}
	if err := t.load(ctx); err != nil {
		return false, unlessMissing(err)
	}
	request, ok := t.inputRequest()
	if c := tn.message.ContextID; !ok || !tn.message.Answers(request.ID) || c != "" && c != t.contextID {
		return false, nil
	}
	claimed := tn.taskID
	tn.message.TaskID, tn.taskID = t.key.TaskID, t.key.TaskID
	if err = t.acceptLoaded(ctx, tn); err == error(errTurnLimit) { //nolint:errorlint // it is this very error
		tn.taskID = claimed // when the queue starts the turn, the task may not wait any more
	}
	return true, err
}

// inputRequest returns the input that the task waits for.
func (t *task) inputRequest() (a2a.InputRequest, bool) {
	if t.state() != a2a.StateInputRequired {
		return a2a.InputRequest{}, false
	}
	return t.status.Message.InputRequest()
}

// loggedForm returns what the log contains of a message: a redacted copy if the message
// answers a request for sensitive input.
func (t *task) loggedForm(m *a2a.Message) *a2a.Message {
	if request, ok := t.inputRequest(); ok && request.Sensitive {
		return m.Redacted()
	}
	return m
}

// startInputTimer follows every status. It limits how long a run waits for its client. A
// task without a run may wait for as long as the store keeps it.
func (t *task) startInputTimer(ctx context.Context) {
	t.stopInputTimer()
	if t.run == nil || t.run.ignored || !t.paused || t.state() != a2a.StateInputRequired {
		return
	}
	timeout := t.engine.options.InputTimeout()
	if request, ok := t.inputRequest(); ok && request.Timeout > 0 {
		timeout = min(timeout, request.Timeout)
	}
	question := t.question
	ctx = context.WithoutCancel(ctx)
	t.inputTimer = time.AfterFunc(timeout, func() { t.failInputTimeout(ctx, question, timeout) })
}

func (t *task) stopInputTimer() {
	t.question++
	if t.inputTimer != nil {
		t.inputTimer.Stop()
		t.inputTimer = nil
	}
}

// failInputTimeout fails a task whose client did not answer a question, unless the
// question was answered meanwhile.
func (t *task) failInputTimeout(ctx context.Context, question uint64, timeout time.Duration) {
	t.lock(ctx)
	defer t.unlock()
	if t.question != question {
		return
	}
	failed := t.statusEvent(a2a.StateFailed, t.agentMessage(reasonInput+timeout.String()))
	failed.Status.Metadata = a2a.Object(inputTimedOut)
	t.appendEnd(ctx, failed)
}
