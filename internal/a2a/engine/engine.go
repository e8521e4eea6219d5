// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package engine runs turns and owns tasks. It implements a2a.Handler.
//
// Every change of a task takes one path, under the task's lock: the engine validates the
// events, appends them to the log and publishes them. A task belongs to the engine and
// not to a connection, so it continues when its client disconnects.
//
// The engine depends on no transport, no encoding and no protocol version. Its caller
// passes the owner of each request. docs/explanation/concurrency.md lists its goroutines
// and locks.
//
// The files, in the order of a message:
//
//	send           Send and Stream, and the wait of their callers
//	deduplication  finds the turn of a message that a client sends again
//	reply          finds the paused task that a message without a task id continues
//	forward        claims a message, and forwards it to another replica
//	phase          the state of a task at this replica, and the table of its transitions
//	accept         queues, starts or refuses a message of a task
//	waiting        messages that were accepted during a running turn
//	begin          the events with which a turn begins, and the first append of a task
//	turnqueue      limits the turns that run at a time, fairly among callers
//	drive          runs the turns of a task one after the other
//	prepare        the input of the backend: history, conversation, references
//	normalize      completes and checks the events of the backend
//	transition     the state machine of a task, and all appends
//	conclude       the end of a turn: completed, paused or failed
//
// The other files of tasks: turn, outcome, task and activetasks (their data and locks), cancel, drain,
// takeover and rerun (tasks of dead replicas), host (what coordination calls). Requests that
// change no task: list, subscribe and subscription. new and options configure an engine.
package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine/coordination"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Engine implements a2a.Handler.
type Engine struct {
	options     Options
	coordinator coordination.Coordinator
	recent      *deduplication

	draining atomic.Bool
	// turns limits and counts the running turns. A turn counts as ended once its outcome is
	// known. Its goroutine may return later; runs counts the goroutines.
	turns *turnQueue
	// idle closes when the engine drains and no run is left.
	idle        chan struct{}
	subscribers subscribers
	// retries is the context of repeated store calls (retryOutage). When Drain no longer waits
	// for turns, it cancels this context with stopRetries.
	retries     context.Context //nolint:containedctx // it lasts as long as the engine
	stopRetries context.CancelFunc

	// waitingBytes is the total size of the messages that wait for a turn, in bytes. The
	// store does not count these messages.
	waitingBytes atomic.Int64

	mu sync.Mutex
	// tasks are the tasks that a run or a request uses.
	tasks map[store.Key]*task
	runs  int
}

var _ a2a.Handler = (*Engine)(nil)

// Running returns the number of turns that run.
func (e *Engine) Running() int {
	running, _ := e.turns.counts()
	return running
}

// Queued returns the number of messages that wait for a turn.
func (e *Engine) Queued() int {
	_, queued := e.turns.counts()
	return queued
}

// LimitsChanged applies changed limits of turns (Options.Turns) to waiting messages.
func (e *Engine) LimitsChanged() { e.turns.limitsChanged() }

// allow returns nil if Options.Allow accepts a message, and otherwise its refusal.
func (e *Engine) allow(ctx context.Context, tn *turn) error {
	if e.options.Allow == nil {
		return nil
	}
	return storeErrorOrNil("check whether a turn may begin", "", e.options.Allow(ctx, tn.principal))
}

// reserveWaitingBytes adds the size of a message to waitingBytes. It returns false and
// adds nothing if the sum would exceed Options.WaitingBytes.
func (e *Engine) reserveWaitingBytes(tn *turn) bool {
	if e.waitingBytes.Add(tn.size) <= e.options.WaitingBytes {
		return true
	}
	e.waitingBytes.Add(-tn.size)
	return false
}

func (e *Engine) releaseWaitingBytes(tn *turn) { e.waitingBytes.Add(-tn.size) }

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
	defer context.AfterFunc(e.retries, cancel)() //nolint:contextcheck // it ends with the engine
	return store.Retry(ctx, call)
}

func (e *Engine) now() time.Time { return toWirePrecision(e.options.Now()) }

// task is the state of a task in memory, while a run or a request uses it. The lock mutex
// guards all fields but key, users and canceled. A method that locks the task holds the
// lock until it returns, even while the store retries an append; other users of the task
// wait for the lock.
type task struct {
	engine *Engine
	key    store.Key
	// users counts the runs and requests that use the task. Engine.mu guards it.
	users int

	mutex *semaphore.Weighted
	phase phase
	// contextID is set before the first run and does not change.
	contextID string
	// log is nil until the task is created. The agent may answer without a task.
	log store.Log
	// seq is the number of the last event of the log. last has the status of the task after
	// this event, and Paused as the agent set it: a run stays connected until the client answers.
	seq  uint64
	last a2a.StatusUpdate
	// said is the newest message of the agent that this replica has added to the conversation.
	said *a2a.Message
	// turns is the number of turns that began. It equals the number of the client's
	// messages in the log.
	turns int

	// run is the backend call in progress, and input is the call that delivers a message
	// to a run that waits. If the waiting run returns before input does, runErr is the
	// error of the waiting run.
	run, input *run
	runErr     error
	// waiting are the messages that wait for their turn, at most Options.MaxWaiting.
	waiting []*turn
	// begun are the turns that have begun and not stopped.
	begun []*turn
	// canceled is true after a cancel, until a message restarts the task.
	canceled atomic.Bool
	// inputTimer fails the task if the client does not answer in time. question numbers the
	// waits for an answer. Every status increases question, so that a timer of an earlier wait
	// that fires late does nothing.
	inputTimer *time.Timer
	question   uint64
	// batch is the reused memory for the events of one append.
	batch []a2a.Event

	// descriptor is the turn descriptor of the current turn. If the agent's process
	// crashed, rerun is the next attempt of the turn, which begins after the current run.
	descriptor store.TurnDescriptor
	rerun      *turn
}

func newTask(e *Engine, k store.Key, log store.Log) *task {
	return &task{engine: e, key: k, phase: phaseUnread, log: log, mutex: semaphore.NewWeighted(1)}
}

// toWirePrecision returns a time in UTC, truncated to milliseconds, the precision of
// times in every version of the protocol. Lists are ordered by the truncated times, so
// that the order agrees with the times that clients receive.
func toWirePrecision(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
