// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// unprocessedMessages is the member of a task's metadata with the ids of the accepted
// messages whose turns have not begun. If the task has ended, these turns never begin.
const unprocessedMessages = "a2a.unprocessedMessages"

// enqueue adds a message to the waiting messages of the task. If the request sets
// ReturnImmediately, enqueue first stores the message (acceptAfter), unless the task waits
// for sensitive input. If an equal message waits already, tn follows it.
func (t *task) enqueue(ctx context.Context, tn *turn) error {
	if t.followWaiting(tn) {
		return nil
	}
	if len(t.waiting) >= t.engine.options.MaxWaiting || !t.engine.reserveWaitingBytes(tn) {
		return errTooManyWaiting(t.key.TaskID)
	}
	err := t.attachPush(ctx, tn)
	// The answer to a request for sensitive input must not be stored. It waits in memory,
	// and its client waits for the turn.
	request, _ := t.inputRequest()
	if err == nil && tn.request.ReturnImmediately && !request.Sensitive {
		err = t.appendMessage(ctx, tn, t.acceptAfter)
	}
	if err != nil {
		t.engine.releaseWaitingBytes(tn)
		if errors.Is(err, errFollowed) {
			return nil
		}
		return err
	}
	t.engine.endReservation(tn) // its own turn does not run yet; the task changes what the turn costs when it does
	t.waiting = append(t.waiting, tn)
	return nil
}

// followWaiting makes tn follow an accepted message that waits and has the same id and
// parts, and reports whether there is one. A client sends a message again if the replica
// that accepted the first copy ended before it answered the client.
func (t *task) followWaiting(tn *turn) bool {
	if t.engine.coordinator.Exclusive() || t.engine.options.DeduplicationWindow() <= 0 {
		return false
	}
	for _, w := range t.waiting {
		if w.acceptedAt != 0 && w.message.ID == tn.message.ID && reflect.DeepEqual(w.message.Parts, tn.message.Parts) {
			tn.foundInLog = true
			tn.follow(t.log, t.key, w.first)
			return true
		}
	}
	return false
}

// acceptAfter stores the message of tn, which has to wait, with an event that repeats the
// status of the task. The metadata of the event lists the message as accepted. If another
// replica ends the task at the same time, its append returns store.ErrConflict, because every
// append compares the number of the last event. That replica then reads the event of this
// message before it ends the task. before is the task as it was last read.
func (t *task) acceptAfter(ctx context.Context, tn *turn, before *a2a.Task) error {
	repeated := t.statusEvent(t.state(), t.last.Status.Message)
	repeated.Status.Paused = t.last.Paused
	repeated.Status.Metadata = t.unprocessed(tn)
	request := *tn.request
	request.Message = tn.message
	request.Push = nil
	events := append(t.batch[:0], repeated)
	seq, err := t.engine.coordinator.Append(ctx, t.log, store.Append{
		After: t.seq, Events: events, Hold: store.Keep,
		Waiting: &store.WaitingChange{Add: &store.WaitingMessage{Request: &request, Claim: tn.claim}, Before: t.acceptedBytes()},
		Write:   store.Write{RetryFor: t.engine.options.OutageRetryFor},
	})
	if err != nil {
		return err
	}
	t.seq = seq
	tn.acceptedAt = seq
	fold := store.Resume(before)
	t.appliedFirst(ctx, fold, events)
	t.decide(tn, &a2a.Record{Seq: seq, Event: a2a.Event{Task: fold.Task()}})
	return nil
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

// continuePaused delivers the next waiting message to the run that waits for input.
func (t *task) continuePaused(ctx context.Context) {
	for t.run != nil && !t.run.ignored && t.input == nil && t.state().Interrupted() && len(t.waiting) > 0 {
		wasPaused := t.last.Paused
		if tn := t.beginNextWaiting(ctx); tn != nil {
			_ = t.engine.reserveRun(t, tn, false)
			t.deliverInput(ctx, tn, wasPaused)
		}
	}
}

// beginNextWaiting begins the turn of the next waiting message and returns the turn. If the
// turn cannot begin, it refuses the message and returns nil. The client of an accepted message
// has an answer already. If the turn of such a message cannot begin, the task fails if the
// store is full, and is given up (lose) during an outage.
func (t *task) beginNextWaiting(ctx context.Context) *turn {
	tn := t.nextWaiting()
	err := t.beginWaiting(ctx, tn)
	if err == nil {
		return tn
	}
	tn.refuse(err)
	switch {
	case tn.acceptedAt == 0, t.phase == phaseLost, t.state().Terminal():
	case errors.Is(err, store.ErrFull):
		t.finish(ctx, a2a.StateFailed, t.agentMessage(reasonFull))
	case outage(err):
		t.lose(errStore) // the replica that takes the task over begins the turn
	}
	return nil
}

// beginWaiting begins the turn of a message that waited. For a message whose client waits
// for the answer, it first calls Options.Allow. For an accepted message, it first waits
// until the store answers, at most for Options.OutageRetryFor.
func (t *task) beginWaiting(ctx context.Context, tn *turn) error {
	var err error
	if tn.acceptedAt == 0 {
		err = t.engine.allow(ctx, tn)
	} else {
		err = t.engine.retryOutage(ctx, func() error {
			_, err := t.snapshot(ctx)
			return err
		})
	}
	if err != nil {
		return err
	}
	return t.begin(ctx, tn)
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

// refuseUndecided refuses the waiting messages whose clients have no answer, because the
// engine drains. The other messages were accepted, and keep waiting for their turn.
func (t *task) refuseUndecided() {
	t.refuseWaiting(func(tn *turn) error {
		if tn.acceptedAt != 0 {
			return nil
		}
		return errShuttingDown()
	})
}
