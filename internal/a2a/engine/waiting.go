// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// unprocessedMessages is the member of a task's metadata with the ids of the accepted
// messages whose turns have not begun. If the task has ended, these turns never begin.
const unprocessedMessages = "a2a.unprocessedMessages"

// A message waits while another turn of its task runs. If the request sets
// ReturnImmediately, the message is accepted at once: an append stores the message with
// the task, before the client gets the task as its answer. A replica that takes the task
// over begins the turns of the accepted messages. If it fails the task instead (Options.Retry
// is false, or the interrupted turn cannot be re-run), unprocessedMessages lists them. All
// other messages, and the answers to requests for sensitive input, wait in memory, and their
// clients wait for the answer.

// unprocessed returns metadata with the ids of the accepted messages that wait, and of
// the messages added.
func (t *task) unprocessed(added ...*turn) a2a.Object {
	ids := []string{}
	for _, tn := range append(slices.Clip(t.waiting), added...) {
		if tn.acceptedAt != 0 || slices.Contains(added, tn) {
			ids = append(ids, tn.message.ID)
		}
	}
	metadata, err := json.Marshal(map[string][]string{unprocessedMessages: ids})
	if err != nil {
		panic(err) // unreachable: every list of strings has an encoding
	}
	return metadata
}

// restoreWaiting adds the accepted messages of a task that this replica takes over. now
// is the current task.
func (t *task) restoreWaiting(stored []store.WaitingMessage, now *a2a.Record) {
	for i := range stored {
		tn := newTurn(stored[i].Request)
		tn.setMessage()
		tn.taskID = t.key.TaskID
		tn.claim = stored[i].Claim
		tn.acceptedAt = stored[i].Seq
		tn.decideWithTask(t.log, now)
		t.engine.waitingBytes.Add(tn.size)
		t.waiting = append(t.waiting, tn)
	}
}

// storedWaiting returns the accepted messages of a task that this replica may take over.
func (t *task) storedWaiting(ctx context.Context) ([]store.WaitingMessage, error) {
	stored, err := t.engine.coordinator.Waiting(ctx, t.key)
	if err != nil {
		return nil, storeError("read waiting messages of task", t.key.TaskID, err)
	}
	return stored, nil
}

func (t *task) nextWaiting() *turn {
	tn := t.waiting[0]
	t.waiting = slices.Delete(t.waiting, 0, 1)
	t.engine.releaseWaitingBytes(tn)
	return tn
}

// hasAccepted reports whether an accepted message waits.
func (t *task) hasAccepted() bool {
	return slices.ContainsFunc(t.waiting, func(tn *turn) bool { return tn.acceptedAt != 0 })
}

// acceptedBytes returns the size of the accepted messages that wait, in bytes.
func (t *task) acceptedBytes() (size int) {
	for _, tn := range t.waiting {
		if tn.acceptedAt != 0 {
			size += tn.message.Size()
		}
	}
	return size
}

// refuseWaiting refuses the waiting messages for which why returns an error.
func (t *task) refuseWaiting(why func(*turn) error) {
	kept := t.waiting[:0]
	for _, tn := range t.waiting {
		if err := why(tn); err != nil {
			t.engine.releaseWaitingBytes(tn)
			tn.refuse(err)
		} else {
			kept = append(kept, tn)
		}
	}
	clear(t.waiting[len(kept):])
	t.waiting = kept
}

// refuseUndecided refuses the waiting messages whose clients have no answer, because the
// engine drains. The other messages were accepted, and keep waiting for their turn.
func (t *task) refuseUndecided() {
	t.refuseWaiting(func(tn *turn) error {
		if tn.acceptedAt != 0 {
			return nil
		}
		return errUnavailable()
	})
}
