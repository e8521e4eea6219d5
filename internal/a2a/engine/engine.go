// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package engine runs turns and owns tasks. It implements a2a.Handler.
//
// Everything that happens to a task passes through one append path, under the
// task's lock: validate, append to the log, publish. A task belongs to the
// engine and not to a connection: a client that leaves changes nothing.
//
// The engine knows no transport, no encoding and no protocol version, and it
// learns who owns what from its caller. docs/concurrency.md lists its
// goroutines and locks.
package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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

// New returns an engine. If it shares its store, it takes part in the protocol of the
// replicas from now on until Drain returns.
func New(options Options) (*Engine, error) {
	if options.Member != nil {
		options.Store = options.Member
	}
	if options.Store == nil || options.Backend == nil {
		return nil, errors.New("engine needs a store and a backend")
	}
	options.setDefaults()
	e := &Engine{
		options:     options,
		coordinator: options.coordinator(),
		recent:      newDeduplication(options.DeduplicationWindow, options.MaxDeduplicated, options.Member != nil),
		turns:       newTurnQueue(options.Turns),
		idle:        make(chan struct{}),
		tasks:       map[store.Key]*task{},
	}
	e.retries, e.cutOff = context.WithCancel(context.Background())
	e.coordinator.Start(host{e})
	return e, nil
}

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

// Get implements a2a.Handler.
func (e *Engine) Get(ctx context.Context, r *a2a.GetRequest) (*a2a.Task, error) {
	log, err := e.open(ctx, store.Key{Owner: r.Owner, TaskID: r.TaskID})
	if err != nil {
		return nil, err
	}
	return snapshot(ctx, log, r.TaskID, r.HistoryLength)
}

func (e *Engine) open(ctx context.Context, k store.Key) (store.Log, error) {
	log, err := e.options.Store.Open(ctx, k)
	if err != nil {
		return nil, storeError("open task", k.TaskID, err)
	}
	return log, nil
}

func snapshot(ctx context.Context, log store.Log, id string, history *int) (*a2a.Task, error) {
	record, err := log.Snapshot(ctx)
	if err != nil {
		return nil, storeError("read task", id, err)
	}
	return record.Task.WithHistory(history), nil
}

// acquire returns the task with a key for use, until release. named is true if the task
// need not exist because its client chose the id (0.1).
func (e *Engine) acquire(ctx context.Context, k store.Key, named bool) (*task, error) {
	e.mu.Lock()
	if t := e.tasks[k]; t != nil {
		t.users++
		e.mu.Unlock()
		return t, nil
	}
	e.mu.Unlock()
	log, err := e.options.Store.Open(ctx, k)
	if err != nil && (!named || !errors.Is(err, store.ErrNotFound)) {
		return nil, storeError("open task", k.TaskID, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.tasks[k]
	if t == nil {
		t = newTask(e, k, log)
		e.tasks[k] = t
	}
	t.users++
	return t, nil
}

// isActive reports whether a run or a request uses a task.
func (e *Engine) isActive(k store.Key) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tasks[k] != nil
}

// activeTasks returns the tasks that a run or a request uses.
func (e *Engine) activeTasks() []*task {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.tasks))
}

func (e *Engine) release(t *task) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.releaseLocked(t)
}

func (e *Engine) releaseLocked(t *task) {
	t.users--
	if t.users == 0 {
		delete(e.tasks, t.key)
	}
}

// reserveRun counts a turn as running and its run as a user of the task. It returns
// errTurnLimit if the limits of turns do not allow the run. refusable is false for a run
// that has to start.
func (e *Engine) reserveRun(t *task, tn *turn, refusable bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case refusable && e.draining.Load():
		return errUnavailable()
	case refusable && e.coordinator.Fenced():
		return errStoreDown()
	case tn.reserved:
		tn.reserved = false
	case !refusable:
		e.turns.start(tn.principal)
	case !e.turns.tryStart(tn.principal):
		return errTurnLimit
	}
	e.runs++
	t.users++
	e.tasks[t.key] = t
	return nil
}

// cancelReservation undoes reserveRun for a run that does not start.
func (e *Engine) cancelReservation(t *task, tn *turn) {
	e.turns.end(tn.principal)
	e.runReturned(t)
}

// freeTurn counts the turn of a run as ended, once. It takes no lock of the engine, so
// that a client which has its answer may send the next message at once.
func (e *Engine) freeTurn(r *run) {
	if !r.freed {
		r.freed = true
		e.turns.end(r.principal)
	}
}

// runReturned follows the end of the goroutine of a run.
func (e *Engine) runReturned(t *task) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.releaseLocked(t)
	e.runs--
	if e.runs == 0 && e.draining.Load() {
		e.signalIdle()
	}
}

// signalIdle closes idle. The lock is held.
func (e *Engine) signalIdle() {
	select {
	case <-e.idle:
	default:
		close(e.idle)
	}
}

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

// sleep waits for a duration, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (e *Engine) now() time.Time { return toWirePrecision(e.options.Now()) }
