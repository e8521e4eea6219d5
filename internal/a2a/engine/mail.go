// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// readMail hands out the mail. It waits for nobody but the store.
func (r *replica) readMail() {
	for r.ctx.Err() == nil {
		mail, err := r.Receive(r.ctx)
		if err != nil {
			// The lease is renewed from the same store, which logs the outage.
			sleep(r.ctx, insistMost)
			continue
		}
		for _, m := range mail {
			r.read(m)
		}
	}
}

func (r *replica) read(m *store.InboxMessage) {
	switch m.Kind {
	case store.MessageAccepted, store.MessageDecided:
		r.mu.Lock()
		defer r.mu.Unlock()
		if answers := r.questions[m.Number]; answers != nil {
			select {
			case answers <- m:
			default:
				// There is room for all answers that a question has.
			}
		}
	case store.ReviewTask:
		select {
		case r.looks <- m.Task:
		default:
			// The next renewal of the lease tells, too.
		}
	case store.ForwardedMessage:
		select {
		case r.places <- struct{}{}:
			r.group.Go(func() {
				defer func() { <-r.places }()
				r.accept(m)
			})
		default:
			r.group.Go(func() { r.decide(m, errTooManyMails()) })
		}
	}
}

// accept takes the message of a client of another replica, as if the client
// were this one's, and tells what becomes of it.
func (r *replica) accept(m *store.InboxMessage) {
	if m.Request == nil || m.Request.Message == nil {
		return
	}
	// All that ask what became of the message look for the task that was claimed.
	claimed := m.Task.TaskID
	if slices.Contains(m.Request.Message.ReferenceTasks, claimed) {
		claimed = ""
	}
	tn := r.engine.submitHere(r.ctx, m.Request, claimed, m.Claim)
	if !tn.isDecided() {
		_ = r.engine.insist(r.ctx, func() error { return r.reply(m, &store.InboxMessage{Kind: store.MessageAccepted}) })
	}
	r.decide(m, tn.wait(r.ctx), tn)
}

// decide answers what the sender of a message is told.
func (r *replica) decide(m *store.InboxMessage, err error, turns ...*turn) {
	answer := &store.InboxMessage{Kind: store.MessageDecided}
	switch {
	case err != nil:
		if errors.Is(err, errDrained) {
			err = errUnavailable()
		}
		answer.Problem = a2a.ErrorOf(err)
	case turns[0].answer != nil:
		answer.Message = turns[0].answer.Message
	default:
		tn := turns[0]
		answer.Task = store.Key{Owner: m.Request.Owner, TaskID: tn.taskID}
		answer.Seq = tn.opening.Seq
	}
	_ = r.engine.insist(r.ctx, func() error { return r.reply(m, answer) })
}

func (r *replica) reply(to, answer *store.InboxMessage) error {
	answer.From, answer.Number = r.Self(), to.Number
	// The last answers are given while the engine ends.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), lastCall)
	defer cancel()
	_, err := r.Post(ctx, to.From, answer)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		r.engine.options.Log.ErrorContext(ctx, "answer a message of another replica", "error", err)
	}
	return err //nolint:wrapcheck // its caller knows the outcomes
}

// ask registers a question, and ends it.
func (r *replica) ask() (number uint64, answers chan *store.InboxMessage, end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.number++
	number = r.number
	answers = make(chan *store.InboxMessage, 4)
	r.questions[number] = answers
	return number, answers, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.questions, number)
	}
}

// tell has the replica look that runs a task.
func (r *replica) tell(ctx context.Context, held store.Hold, k store.Key) {
	if held.Replica == "" || held.Replica == r.Self() || !held.Alive {
		return
	}
	// If that fails, it sees for itself when it renews its lease.
	_, _ = r.Post(ctx, held.Replica, &store.InboxMessage{From: r.Self(), Kind: store.ReviewTask, Task: k})
}
