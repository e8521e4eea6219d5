// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// turn is a message of a client with its outcome. It is decided once the client can be
// answered, and stops when its task has ended or waits for the client.
type turn struct {
	// recent is the entry by which repeated messages find the turn, nil for none.
	recent *recentMessage
	// request and the fields up to taskBefore are nil once the run has returned.
	request *a2a.SendRequest
	// message is that of the request with all ids, and logged what the log contains of it.
	message, logged *a2a.Message
	// taskBefore is the task without the message, nil for a new task.
	taskBefore *a2a.Task
	// former is the turn of the same message that this one replaces if the claim of the
	// former one has ended; nil for none.
	former *turn

	// principal is whom the turn queue charges. reserved is true while the turn queue
	// counts the turn and no run does.
	principal a2a.AccountingPrincipal
	reserved  bool
	// taskID is the id of the task that the message continues or creates.
	taskID string
	// newContext is true if the conversation of the context is empty.
	newContext bool
	// number counts the turns of the task from 1.
	number int
	// rerun is set if an earlier attempt of the turn was interrupted.
	rerun *rerun
	// claim is the claim on the message in a shared store, the zero value without one.
	// releaseClaim ends it; nil if the claim belongs to another turn.
	claim        store.ClaimedMessage
	releaseClaim func()
	// term is the term of the lease in which the message was claimed (coordination.Lease).
	term uint64
	// continues is true if the message continues a task which had stopped. onlyPaused is
	// true if the message names only a context, and may continue a paused task only.
	continues, onlyPaused bool
	// pausedTask is the paused task of that context, "" for none, once searched is true.
	pausedTask string
	searched   bool

	// decided closes when one of refusal, answer and first is set. They do not change
	// afterwards.
	decided chan struct{}
	refusal error
	// answer is the agent's answer without a task.
	answer *a2a.Record
	// first is the task at the beginning of the turn, and log its log.
	first *a2a.Record
	log   store.Log

	// stopped closes when the task is terminal or interrupted for the first time after the
	// turn began, or when the turn will not begin.
	stopped   chan struct{}
	isStopped bool
	// outcome is the task at that moment if it was about to continue, otherwise nil. It
	// does not change once stopped is closed.
	outcome *a2a.Record
	// elsewhere is true if another replica runs the turn or will: its outcome has to be
	// read from the log. It does not change once stopped is closed.
	elsewhere bool
}

// rerun describes the next attempt of a turn that was interrupted.
type rerun struct {
	descriptor store.TurnDescriptor
	// stale are the artifacts that the interrupted attempt created and the next attempt
	// has not replaced.
	stale map[string]bool
	// delay is the time until the attempt starts.
	delay time.Duration
}

func newTurn(r *a2a.SendRequest) *turn {
	return &turn{request: r, principal: chargedTo(r), decided: make(chan struct{}), stopped: make(chan struct{})}
}

// chargedTo returns the accounting principal of a request.
func chargedTo(r *a2a.SendRequest) a2a.AccountingPrincipal {
	return cmp.Or(r.AccountingPrincipal, a2a.AccountingPrincipal{Principal: r.Owner.Principal()})
}

// setMessage copies the message of the request and adds the ids that it lacks. The
// message keeps its id however often it is called.
func (tn *turn) setMessage() {
	m := *tn.request.Message
	if tn.message != nil {
		m.ID = tn.message.ID
	}
	tn.message, tn.logged = &m, &m
	m.Role = a2a.RoleUser // turns are counted by it, and the agent must recognize its own messages
	if m.ID == "" {
		m.ID = newID()
	}
}

// descriptor returns the turn descriptor of the first attempt. begin is the number of
// the event with the message.
func (tn *turn) descriptor(begin uint64) store.TurnDescriptor {
	return store.TurnDescriptor{
		Begin: begin, Attempt: 1, Redacted: tn.logged != tn.message, Claim: tn.claim, AccountingPrincipal: tn.request.AccountingPrincipal,
		AcceptedOutputModes: tn.request.AcceptedOutputModes, Metadata: tn.request.Metadata,
		Extensions: tn.request.Extensions, Trace: tn.request.Trace,
	}
}

// wait waits for the decision. It returns the refusal of the message, or the cause with
// which ctx ended.
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

// mayBeForgotten reports whether the turn has stopped in a task that another replica may
// have continued or canceled since.
func (tn *turn) mayBeForgotten() bool {
	select {
	case <-tn.stopped:
		return tn.isDecided() && tn.first != nil && tn.claim.Message != ""
	default:
		return false
	}
}

// become decides a turn like another one of the same message, which has stopped.
func (tn *turn) become(other *turn) {
	tn.taskID, tn.claim, tn.outcome, tn.elsewhere = other.taskID, other.claim, other.outcome, other.elsewhere
	tn.open(other.log, other.first)
	tn.stop()
	tn.releaseRequest()
}

// follow decides a turn that another replica runs or ran.
func (tn *turn) follow(log store.Log, k store.Key, first *a2a.Record) {
	tn.taskID, tn.elsewhere = k.TaskID, true
	tn.open(log, first)
	tn.stop()
}

// refuse, reply and open decide a turn, unless it is decided. The caller holds the lock
// of the task, or is the only user of the turn.
func (tn *turn) refuse(err error) {
	if tn.isDecided() {
		tn.stop()
		return
	}
	tn.refusal = err
	close(tn.decided)
}

func (tn *turn) reply(m *a2a.Message) {
	if tn.isDecided() {
		return
	}
	tn.answer = &a2a.Record{Event: a2a.Event{Message: m}}
	close(tn.decided)
}

func (tn *turn) open(log store.Log, first *a2a.Record) {
	if tn.isDecided() {
		return
	}
	tn.log, tn.first = log, first
	close(tn.decided)
}

func (tn *turn) stop() {
	if !tn.isStopped {
		tn.isStopped = true
		close(tn.stopped)
	}
}

// releaseRequest releases what only the run needed, because deduplication keeps the turn.
func (tn *turn) releaseRequest() {
	tn.request, tn.message, tn.logged, tn.taskBefore, tn.former = nil, nil, nil, nil, nil
}

type recentMessage struct {
	key   messageKey
	turn  *turn
	until time.Time
	bytes int
	// task is the zero value until the turn has a task.
	task store.Key
}

// messageKey identifies a message by owner, ids and content. body is a hash with a
// random seed, so that clients cannot construct collisions.
type messageKey struct {
	owner                        a2a.Owner
	contextID, taskID, messageID string
	body                         uint64
}

// newID returns a random id (UUID version 7). Ids sort by the time of their creation.
func newID() string { return uuid.Must(uuid.NewV7()).String() }
