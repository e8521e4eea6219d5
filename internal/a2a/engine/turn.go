// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// turn is one message and what its sender waits for.
type turn struct {
	// recent is where the turn is known to those who send the message again.
	recent *recentMessage
	// request is let go when the turn has ended.
	request *a2a.SendRequest
	// message is the request's, with all its ids.
	message *a2a.Message
	// payer is who is charged for the turn; placed is true while it has a place
	// and no run.
	principal a2a.AccountingPrincipal
	reserved  bool
	// kept is the message as it is kept.
	kept *a2a.Message
	// taskID is that of the message.
	taskID string
	// fresh is true when nothing can have been said in the context before.
	fresh bool
	// before is the task without the message, nil for a new one; number counts
	// the turns of the task from 1. Both are set when the turn begins.
	before *a2a.Task
	number int
	// again is nil but for a turn that is run again.
	again *again
	// claim is the one that stands for the message on a shared store; the zero
	// value without one. It does not change once the turn is decided. unclaim lets
	// other replicas take the message; nil when the claim is not this turn's own.
	claim   store.ClaimedMessage
	unclaim func()
	// former is the turn of the same message that this one took the place of, if
	// its claim still stands; nil without one.
	former *turn
	// continues is true when the message continues a task that had stopped, and
	// onlyPaused when it may do nothing else there: it named a context only.
	continues, onlyPaused bool
	// pausedTask is the task that such a message may continue, once looked is true;
	// "" for none.
	pausedTask string
	looked     bool

	// decided closes when one of refusal, answer and opening is set; they do
	// not change afterwards.
	decided chan struct{}
	refusal error
	// answer is a message without a task.
	answer *a2a.Record
	// opening is the task at the beginning of the turn, and log its log.
	opening *a2a.Record
	log     store.Log

	// settled closes when the task first is terminal or interrupted after the
	// turn began, or when the turn never will begin.
	settled   chan struct{}
	isSettled bool
	// outcome is the task at that moment; nil when nothing waited then to move
	// it on. It does not change once settled is closed.
	outcome *a2a.Record
	// moved is true when another replica runs the turn, or will: its log tells
	// what becomes of it. It does not change once settled is closed.
	moved bool
}

// again is what a turn that is run again has beside.
type again struct {
	brief store.TurnDescriptor
	// stale are the artifacts that the former attempt made.
	stale map[string]bool
	// pause is how long the agent is given to be back.
	pause time.Duration
}

func newTurn(r *a2a.SendRequest) *turn {
	return &turn{request: r, principal: chargedTo(r), decided: make(chan struct{}), settled: make(chan struct{})}
}

// chargedTo returns the accounting principal of a turn.
func chargedTo(r *a2a.SendRequest) a2a.AccountingPrincipal {
	return cmp.Or(r.AccountingPrincipal, a2a.AccountingPrincipal{Principal: r.Owner.Principal()})
}

// wait returns when the turn is decided.
func (tn *turn) wait(ctx context.Context) error {
	select {
	case <-tn.decided:
		return tn.refusal
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (tn *turn) isDecided() bool {
	select {
	case <-tn.decided:
		return true
	default:
		return false
	}
}

func (tn *turn) isRefused() bool { return tn.isDecided() && tn.refusal != nil }

// mayBeForgotten reports whether the turn has stopped in a task, so that another
// replica may have continued or canceled that since.
func (tn *turn) mayBeForgotten() bool {
	select {
	case <-tn.settled:
		return tn.isDecided() && tn.opening != nil && tn.claim.Message != ""
	default:
		return false
	}
}

// become decides a turn as another one of the same message, which has stopped.
func (tn *turn) become(other *turn) {
	tn.taskID, tn.claim, tn.outcome, tn.moved = other.taskID, other.claim, other.outcome, other.moved
	tn.open(other.log, other.opening)
	tn.settle()
	tn.forget()
}

// refuse, reply and open decide a turn, unless it is decided. The task's lock
// is held, or nobody else has the turn yet.
func (tn *turn) refuse(err error) {
	if tn.isDecided() {
		tn.settle()
		return
	}
	tn.refusal = err
	close(tn.decided)
}

// forget lets go of what only the run of the turn needed: the turn itself is
// known for a while.
func (tn *turn) forget() {
	tn.request, tn.message, tn.kept, tn.before, tn.former = nil, nil, nil, nil, nil
}

func (tn *turn) settle() {
	if !tn.isSettled {
		tn.isSettled = true
		close(tn.settled)
	}
}

func (tn *turn) reply(m *a2a.Message) {
	if tn.isDecided() {
		return
	}
	tn.answer = &a2a.Record{Event: a2a.Event{Message: m}}
	close(tn.decided)
}

func (tn *turn) open(log store.Log, opening *a2a.Record) {
	if tn.isDecided() {
		return
	}
	tn.log, tn.opening = log, opening
	close(tn.decided)
}
