// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package engine runs turns and owns tasks. It implements a2a.Handler.
//
// Everything that happens to a task passes through one append path, under the
// task's lock: validate, append to the log, publish. A task belongs to the
// engine and not to a connection: a client that leaves changes nothing.
//
// The engine knows no transport, no encoding and no protocol version, and it
// learns who owns what from its caller. docs/explanation/concurrency.md lists its
// goroutines and locks.
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
	// turns counts the running turns. A turn ends with its outcome; its goroutine, which
	// runs counts, may return later.
	turns *turnQueue
	// idle closes when the engine drains and no run is left.
	idle        chan struct{}
	subscribers subscribers
	// retries ends with cutOff, when Drain does not wait for turns any more.
	retries context.Context //nolint:containedctx // it lasts as long as the engine
	cutOff  context.CancelFunc

	// waitingBytes is the size of the messages that wait for a turn. The store does not
	// count them.
	waitingBytes atomic.Int64

	mu sync.Mutex
	// tasks are those that a run or a request uses.
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

// maxWaitingBytes bounds the size of all messages that wait.
const maxWaitingBytes = 32 << 20

// reserveWaitingBytes counts the bytes of a message that waits, and reports whether they
// are within the bound.
func (e *Engine) reserveWaitingBytes(tn *turn) bool {
	size := int64(tn.message.Size())
	if e.waitingBytes.Add(size) <= maxWaitingBytes {
		return true
	}
	e.waitingBytes.Add(-size)
	return false
}

func (e *Engine) releaseWaitingBytes(tn *turn) { e.waitingBytes.Add(-int64(tn.message.Size())) }

// retryOutage calls call and retries it during an outage of a shared store, for
// Options.OutageRetryFor. The caller holds no lock.
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

// task is a task while a run or a request uses it. Its lock guards all fields but key,
// users and canceled. A method holds the lock from its beginning to its end, also while
// the store retries an append; other users of the task wait for the lock.
type task struct {
	engine *Engine
	key    store.Key
	// users counts the runs and requests that use the task. Engine.mu guards it.
	users int

	mutex *semaphore.Weighted
	// loaded is false until the fields that follow were read from the log.
	loaded bool
	// contextID is set before the first run and does not change.
	contextID string
	// log is nil until the task is created. The agent may answer without a task.
	log store.Log
	// seq is the number of the last event of the log, status the status that it leads to,
	// and paused whether a run stays connected for the client's answer.
	seq    uint64
	status a2a.Status
	paused bool
	// turns counts the turns that began, from the messages of the client in the log.
	turns int
	// answered is true if the agent answered without a task.
	answered bool

	// run is the call of the backend in progress, and input the call that delivers a
	// message to a run that waits. runErr is how the run ended for which an input was
	// meant.
	run, input *run
	runErr     error
	// waiting are the messages that wait for their turn, at most Options.MaxWaiting.
	waiting []*turn
	// begun are the turns that began and have not stopped.
	begun []*turn
	// canceled is true after a cancel, until a message restarts the task.
	canceled atomic.Bool
	// inputTimer fails the task if the client does not answer. Every status starts a new
	// question, so that a late timer does nothing.
	inputTimer *time.Timer
	question   uint64
	// batch is the reused memory for the events of one append.
	batch []a2a.Event

	// descriptor is the turn descriptor of the current turn, and rerun the turn that
	// follows the current run because the agent's process crashed.
	descriptor store.TurnDescriptor
	rerun      *turn
	// lost is true if another replica may run the task: the runs of this one are
	// canceled, and append nothing.
	lost bool
}

func newTask(e *Engine, k store.Key, log store.Log) *task {
	return &task{engine: e, key: k, log: log, mutex: semaphore.NewWeighted(1)}
}

// toWirePrecision returns a time in UTC and in milliseconds, which is how every
// version of the protocol writes it. Lists are ordered by this time, so that clients
// see the order in the times that they get.
func toWirePrecision(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
