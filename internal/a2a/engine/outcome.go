// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// outcome is what the clients of a message get. A turn is decided once the engine can answer the
// client. It stops when its task has ended or waits for the client.
type outcome struct {
	// recent is the entry by which repeated messages find the turn, nil for none.
	recent *recentMessage
	// clients are the clients that wait for the answer of the turn.
	clients pendingClients

	// decided closes when one of refusal, answer and first is set. These fields do not
	// change afterwards.
	decided chan struct{}
	refusal error
	// abandoned is true if the client disconnected before the refusal, which therefore does
	// not apply to the clients of later copies of the message.
	abandoned bool
	// answer is the agent's answer without a task.
	answer *a2a.Record
	// first is the task at the beginning of the turn, and log is the log of the task.
	first *a2a.Record
	log   store.Log
	// foundInLog is true if the turn of an earlier copy of the message was found in a log. The
	// replica that processed this copy may have ended before it attached the push
	// configuration. The field does not change once decided is closed.
	foundInLog bool

	// stopped closes when the task is terminal or interrupted for the first time after the
	// turn began, or when the turn will not begin.
	stopped   chan struct{}
	isStopped bool
	// last is the task at the moment when stopped closes, if a waiting message is about to
	// continue the task; otherwise nil. It does not change once stopped is closed.
	last *a2a.Record
	// elsewhere is true if another replica runs or will run the turn. The outcome of the turn
	// then has to be read from the log. The field does not change once stopped is closed.
	elsewhere bool
}

// wait waits for the decision. It returns the refusal of the message, or the cause with
// which ctx ended.
func (o *outcome) wait(ctx context.Context) error {
	select {
	case <-o.decided:
		return o.refusal
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (o *outcome) isDecided() bool {
	select {
	case <-o.decided:
		return true
	default:
		return false
	}
}

func (o *outcome) isRefused() bool { return o.isDecided() && o.refusal != nil }

// refuse, decideWithAnswer and decideWithTask decide a turn. If the turn is decided already, they
// change nothing, but refuse stops the turn. The caller holds the lock of the task, or is the only
// user of the turn.
func (o *outcome) refuse(err error) {
	if o.isDecided() {
		o.stop()
		return
	}
	o.refusal = err
	close(o.decided)
	o.recent.isOver()
}

func (o *outcome) decideWithAnswer(m *a2a.Message) {
	if o.isDecided() {
		return
	}
	o.answer = &a2a.Record{Event: a2a.Event{Message: m}}
	close(o.decided)
	o.recent.isOver()
}

func (o *outcome) decideWithTask(log store.Log, first *a2a.Record) {
	if o.isDecided() {
		return
	}
	o.log = log
	o.first = first
	close(o.decided)
}

func (o *outcome) stop() {
	if !o.isStopped {
		o.isStopped = true
		close(o.stopped)
		o.recent.isOver()
	}
}

// pendingClients counts the clients that wait for the answer of a turn: Send has not returned,
// or Stream has not subscribed. Until the last client has its answer, the log of the turn has a
// watcher. A full memory store evicts ended tasks without a watcher first, and on a busy machine
// it could otherwise evict the task before the goroutine of the client runs again.
type pendingClients struct {
	mu    sync.Mutex
	count int
	// log is the log of the turn. It is nil until the turn is decided with a task, and always if
	// other replicas use the store.
	log     store.Log
	unwatch func()
}

// add counts a client. The client may join a turn that is decided.
func (p *pendingClients) add() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	p.hold()
}

// watch sets the log of the turn.
func (p *pendingClients) watch(log store.Log) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = log
	p.hold()
}

// hold adds the watcher if a client waits, the log is known and has no watcher yet.
func (p *pendingClients) hold() {
	if p.count > 0 && p.log != nil && p.unwatch == nil {
		p.unwatch = p.log.Watch(func() {})
	}
}

// remove uncounts a client that has its answer or has disconnected. It removes the watcher after the
// last client.
func (p *pendingClients) remove() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count--
	if p.count == 0 && p.unwatch != nil {
		p.unwatch()
		p.unwatch = nil
	}
}
