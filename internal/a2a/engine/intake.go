// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine/coordination"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// intake is what the engine knows of a message while it finds out who processes the message: an
// earlier copy, another replica, a paused task or a new one.
type intake struct {
	// former is an earlier turn of the same message, nil for none. This turn replaces it
	// if the claim of the earlier turn has ended.
	former *turn
	// claim is the claim on the message in a shared store, the zero value without one.
	// releaseClaim ends the claim; nil if the claim belongs to another turn or must stay.
	claim        store.ClaimedMessage
	releaseClaim func()
	// term is the term of the lease in which the message was claimed (coordination.Lease).
	term uint64
	// handling records whether this replica forwards the message or has received a forwarded
	// copy of it. It is set at most once: two replicas could otherwise forward their copies
	// of a message to each other, and each wait for the other.
	handling atomic.Uint32
	// forwarded is true while reserveForwarded counts the message as waiting.
	forwarded bool
	// counted is SendRequest.Counted until it is called. Only submit and what it calls use it.
	counted func()
	// reserved is true while the turn queue counts the turn as running and no run has been
	// counted for it.
	reserved bool
	// searched is true once findPaused has searched the context for a paused task.
	// pausedTask is the id of this task, "" for none.
	searched   bool
	pausedTask string
	// continues is true if the message continues a task that had stopped. onlyPaused is
	// true if the message names a context and no task, and may continue only a paused
	// task.
	continues, onlyPaused bool
}

// The values of intake.handling.
const (
	// forwardedAway means that this replica forwards the message.
	forwardedAway = iota + 1
	// handledHere means that another replica has forwarded a copy to this replica.
	handledHere
)

// handle sets handling, and returns false if it already has another value.
func (in *intake) handle(how uint32) bool {
	return in.handling.CompareAndSwap(0, how) || in.handling.Load() == how
}

// submit starts to process a message and returns its turn. If the client has sent the
// same message before, this is the turn of the first copy. If submit refuses the message,
// the turn is decided when submit returns. submit adds the client to turn.clients.
func (e *Engine) submit(ctx context.Context, r *a2a.SendRequest) *turn {
	if e.draining.Load() {
		tn := newTurn(r)
		tn.clients.add()
		tn.refuse(errShuttingDown())
		return tn
	}
	counted := r.Counted
	r.Counted = nil // the turn keeps the request
	tn, joined := e.recent.findOrAdd(r, e.options.Now())
	tn.clients.add()
	if joined {
		callCounted(counted)
		return tn
	}
	tn.counted = counted
	defer func() { callCounted(tn.counted) }()
	if !e.coordinator.Exclusive() {
		tn.setMessage()
		err := e.findPaused(ctx, tn)
		var followed bool
		if err == nil {
			followed, err = e.claim(ctx, tn)
		}
		if err != nil {
			e.refuse(ctx, tn, err)
		}
		if err != nil || followed {
			return tn
		}
	}
	err := e.allow(ctx, tn)
	if err == nil {
		err = e.admit(ctx, tn)
	}
	if replica, ok := isElsewhere(err); ok {
		err = errMoving()
		if tn.handle(forwardedAway) {
			err = e.forward(tn, replica, "")
		}
	}
	if err != nil {
		e.refuse(ctx, tn, err)
	}
	return tn
}

// callCounted calls SendRequest.Counted, unless it is nil.
func callCounted(counted func()) {
	if counted != nil {
		counted()
	}
}

// findPaused finds the task that a message with a context and no task may continue
// (Options.ContinuePaused): the only paused task of the owner in that context or, of several, the
// only one that the message refers to. It searches once for each turn, when the message arrives.
func (e *Engine) findPaused(ctx context.Context, tn *turn) error {
	m := tn.message
	if tn.searched || m.TaskID != "" || m.ContextID == "" || !e.options.ContinuePaused() {
		return nil
	}
	ids, err := e.options.Store.Paused(ctx, store.Conversation{Owner: tn.request.Owner, ContextID: m.ContextID})
	if err != nil {
		return storeError("find paused tasks", "", err)
	}
	tn.searched = true
	tn.pausedTask = ""
	switch {
	case len(ids) == 1:
		tn.pausedTask = ids[0]
	case len(ids) > 1:
		tn.pausedTask, err = e.referencedPaused(ctx, tn)
	}
	return err
}

// referencedPaused returns the id of the only paused task in the context of a message to which the
// message refers, "" if there is none or more than one.
func (e *Engine) referencedPaused(ctx context.Context, tn *turn) (string, error) {
	references := tn.message.ReferenceTasks
	reader := e.options.Loads.Reader(tn.request.Owner)
	defer reader.Release()
	ctx = reader.In(ctx)
	found := ""
	for _, id := range references[:min(len(references), maxReferences)] {
		log, err := e.options.Store.Open(ctx, store.Key{Owner: tn.request.Owner, TaskID: id})
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return "", storeError("find paused tasks", id, err)
		}
		now, err := log.Snapshot(ctx)
		reader.Release() // the task is not kept
		if err != nil {
			return "", storeError("find paused tasks", id, err)
		}
		if now.Task.ContextID != tn.message.ContextID || !now.Task.Status.State.Interrupted() || id == found {
			continue
		}
		if found != "" {
			return "", nil
		}
		found = id
	}
	return found, nil
}

// claim claims the message of a turn, so that no other replica processes it. It returns true
// if the message has a turn already: tn.former, a turn in a log, or a turn of the replica
// that has the claim. In the first two cases, tn takes the outcome of that turn. In the
// third case, claim forwards the message, and the other replica decides tn.
func (e *Engine) claim(ctx context.Context, tn *turn) (followed bool, err error) {
	tn.term = e.coordinator.Term()
	if tn.recent == nil {
		return false, nil
	}
	task := cmp.Or(tn.message.TaskID, tn.pausedTask)
	if task == "" {
		tn.taskID = newID()
		task = tn.taskID
	}
	request := coordination.ClaimRequest{Request: tn.request, Task: task, Window: e.options.DeduplicationWindow()}
	if tn.former != nil {
		request.Former = tn.former.claim
	}
	reading, release := e.options.Loads.Briefly(ctx, tn.request.Owner)
	c, err := e.coordinator.Claim(reading, request)
	release()
	if err != nil {
		return false, storeError("claim message", tn.taskID, err)
	}
	tn.claim = c.Claim
	switch {
	case c.Mine:
		tn.former = nil
		tn.term = c.Term
		tn.releaseClaim = c.Release
		return false, nil
	case c.Former:
		tn.become(tn.former)
		return true, nil
	case c.Found != nil:
		tn.foundInLog = true
		return true, e.followFrom(ctx, tn, c.Found)
	case !tn.handle(forwardedAway): // the replica with the claim has forwarded a copy and waits for it
		tn.former = nil
		return false, nil
	default:
		return true, e.forward(tn, c.Replica, c.Task)
	}
}

// become decides the turn with the outcome of another turn of the same message, which has
// stopped.
func (tn *turn) become(other *turn) {
	tn.taskID = other.taskID
	tn.claim = other.claim
	tn.last = other.last
	tn.foundInLog = other.foundInLog
	tn.elsewhere = other.elsewhere
	tn.decideWithTask(other.log, other.first)
	tn.stop()
	tn.releaseRequest()
}

// followFrom decides a turn whose message another replica processes or has processed. at is
// the event with which the turn began there.
func (e *Engine) followFrom(ctx context.Context, tn *turn, at *coordination.Position) error {
	first, err := e.taskAt(ctx, at.Log, at.Key, at.Seq)
	if err != nil {
		return err
	}
	tn.follow(at.Log, at.Key, first)
	return nil
}

// taskAt returns the task as it was after the event numbered seq, or the current task if
// the log no longer has its beginning.
func (e *Engine) taskAt(ctx context.Context, log store.Log, k store.Key, seq uint64) (*a2a.Record, error) {
	reader := e.options.Loads.Reader(k.Owner)
	defer reader.Release()
	ctx = reader.In(ctx)
	record, err := store.TaskAt(ctx, log, seq)
	if record == nil {
		return nil, storeError("read task", k.TaskID, err)
	}
	return record, nil
}

// follow decides a turn whose message another replica processes or has processed. first is
// the task at the beginning of the turn there.
func (tn *turn) follow(log store.Log, k store.Key, first *a2a.Record) {
	tn.taskID = k.TaskID
	tn.elsewhere = true
	tn.decideWithTask(log, first)
	tn.stop()
}

// refuse refuses a message. ctx is the context of the request: if it has ended, the client
// has disconnected, and refuse sets outcome.abandoned.
func (e *Engine) refuse(ctx context.Context, tn *turn, err error) {
	if !tn.isDecided() {
		tn.abandoned = ctx.Err() != nil
	}
	e.drop(tn, err)
}

// drop refuses the message of a turn and forgets it, so that the client may send it
// again.
func (e *Engine) drop(tn *turn, err error) {
	e.recent.forget(tn)
	if tn.releaseClaim != nil {
		tn.releaseClaim()
	}
	tn.refuse(err)
}

// allow returns nil if Options.Allow accepts a message, and otherwise its refusal.
func (e *Engine) allow(ctx context.Context, tn *turn) error {
	if e.options.Allow == nil {
		return nil
	}
	return storeErrorOrNil("check whether a turn may begin", "", e.options.Allow(ctx, tn.principal))
}

// admit assigns a message to a task. If the limits of turns allow no run now, the message
// first waits in the turn queue, without a lock. admit then looks for the task again,
// because the task of the message may have changed.
func (e *Engine) admit(ctx context.Context, tn *turn) error {
	err := e.route(ctx, tn)
	if err == error(errTurnLimit) { //nolint:errorlint // only the unwrapped error counts
		if err = e.queue(ctx, tn); err == nil {
			tn.reserved = true
			if err = e.allow(ctx, tn); err == nil {
				err = e.route(ctx, tn)
			}
		}
	}
	e.endReservation(tn) // the message was refused
	if problem, ok := errors.AsType[*a2a.Error](err); ok && (problem == errTurnLimit || problem == errQueueFull || problem == errQueueBytes) {
		e.options.Observer.Refused()
	}
	return err
}

func isElsewhere(err error) (store.Replica, bool) {
	elsewhere, ok := errors.AsType[*elsewhereError](err)
	if !ok {
		return "", false
	}
	return elsewhere.replica, true
}

// route assigns a message to a task: the task that it names, the task whose input request
// it answers, the paused task of its context, or a new task.
func (e *Engine) route(ctx context.Context, tn *turn) error {
	tn.setMessage()
	m := tn.message
	if err := e.checkPush(ctx, tn.request.Push); err != nil {
		return err
	}
	if m.TaskID == "" {
		if accepted, err := e.answerInput(ctx, tn); accepted || err != nil {
			return err
		}
		if accepted, err := e.reply(ctx, tn); accepted || err != nil {
			return err
		}
		return e.startTask(ctx, tn)
	}
	tn.taskID = m.TaskID
	t, err := e.acquire(ctx, store.Key{Owner: tn.request.Owner, TaskID: m.TaskID}, tn.request.ClientTaskID)
	if err != nil {
		return err
	}
	defer e.release(t)
	return t.accept(ctx, tn)
}

func (e *Engine) checkPush(ctx context.Context, p *a2a.PushConfig) error {
	switch {
	case p == nil:
		return nil
	case e.options.Pushes == nil:
		return &a2a.Error{Reason: a2a.ReasonPushNotSupported}
	}
	return wrapUnlessClientError("check push configuration", e.options.Pushes.Check(ctx, *p))
}

// answerInput accepts a message without a task id as the answer to an input request, if the
// message refers to exactly one task (ReferenceTasks) and answers the request of this task.
// Otherwise it returns false.
func (e *Engine) answerInput(ctx context.Context, tn *turn) (accepted bool, err error) {
	if len(tn.message.ReferenceTasks) != 1 || !tn.message.HasResult() {
		return false, nil
	}
	return e.withTask(ctx, tn, tn.message.ReferenceTasks[0], func(t *task) (bool, error) {
		request, ok := t.inputRequest()
		if c := tn.message.ContextID; !ok || !tn.message.Answers(request.ID) || c != "" && c != t.contextID {
			return false, nil
		}
		claimed := tn.taskID
		tn.message.TaskID = t.key.TaskID
		tn.taskID = t.key.TaskID
		err := t.acceptLoaded(ctx, tn)
		if err == error(errTurnLimit) { //nolint:errorlint // only the unwrapped error counts
			tn.taskID = claimed // the task may stop waiting before the queue starts the turn
		}
		return true, err
	})
}

// reply accepts a message with a context and no task for the paused task of the context.
// It returns false if the message has to begin a new task. Of two concurrent replies, one
// continues the paused task, and the other begins a new task.
func (e *Engine) reply(ctx context.Context, tn *turn) (accepted bool, err error) {
	if err := e.findPaused(ctx, tn); err != nil {
		return false, err
	}
	if tn.pausedTask != "" {
		accepted, err = e.replyTo(ctx, tn, tn.pausedTask)
		if accepted || err != nil {
			return accepted, err
		}
		tn.pausedTask = ""
	}
	return e.claimNewTask(ctx, tn)
}

func (e *Engine) replyTo(ctx context.Context, tn *turn, id string) (accepted bool, err error) {
	return e.withTask(ctx, tn, id, func(t *task) (bool, error) {
		if !t.awaitsMessage() {
			return false, nil
		}
		claimed := tn.taskID
		tn.message.TaskID = id
		tn.taskID = id
		tn.onlyPaused = true
		err := t.acceptLoaded(ctx, tn)
		switch {
		case errors.Is(err, errNotPaused):
			tn.message.TaskID = ""
			tn.taskID = claimed
			tn.onlyPaused = false
			return false, nil
		case err == error(errTurnLimit): //nolint:errorlint // only the unwrapped error counts
			// The message now waits in the turn queue, and the task may continue or end before the
			// turn starts. admit then looks for a task again.
			tn.taskID = claimed
			tn.onlyPaused = false
		}
		return true, err
	})
}

// claimNewTask claims a message again, for a new task, if its claim names a paused task that
// did not accept the message. The claim has to name the task of the message, because other
// replicas look for the message in that task. accepted is true if the message got a turn in
// the meantime, here or at another replica.
func (e *Engine) claimNewTask(ctx context.Context, tn *turn) (accepted bool, err error) {
	if tn.releaseClaim == nil || tn.taskID != "" {
		return false, nil
	}
	tn.releaseClaim()
	tn.releaseClaim = nil
	return e.claim(ctx, tn)
}

// withTask locks and loads a task of the owner of a turn, and calls do with it. If there
// is no such task, it returns false and does not call do.
func (e *Engine) withTask(ctx context.Context, tn *turn, id string, do func(*task) (bool, error)) (bool, error) {
	t, err := e.acquire(ctx, store.Key{Owner: tn.request.Owner, TaskID: id}, false)
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
	return do(t)
}

// startTask starts the first turn of a new task. If the request has neither
// ReturnImmediately nor a push configuration, it does not create the task yet, because the
// agent may answer without a task.
func (e *Engine) startTask(ctx context.Context, tn *turn) error {
	if tn.taskID == "" || e.isActive(store.Key{Owner: tn.request.Owner, TaskID: tn.taskID}) {
		tn.taskID = newID()
	}
	tn.message.TaskID = tn.taskID
	t := newTask(e, store.Key{Owner: tn.request.Owner, TaskID: tn.taskID}, nil)
	t.lock(ctx) // Drain must not see the reservation before the run is set
	defer t.unlock()
	return t.startFirstTurn(ctx, tn, tn.request.ReturnImmediately || tn.request.Push != nil)
}
