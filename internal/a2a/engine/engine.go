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
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Engine implements a2a.Handler.
type Engine struct {
	options Options
	recent  *deduplication

	draining atomic.Bool
	// turns counts what Options.Turns bounds. A turn is over when its outcome is
	// known; its goroutine, which runs counts, may take a moment longer.
	turns *turnQueue
	// idle closes when the engine drains and no turn runs. The audience is
	// dismissed when it is done with it.
	idle        chan struct{}
	subscribers subscribers
	// cutOff closes when turns are not waited for any more.
	cutOff     chan struct{}
	cutOffOnce sync.Once

	// replica is nil on a store that no other replica uses.
	replica *replica

	// waitingBytes is what the messages hold that wait for their tasks. They are
	// in no log yet, so the store does not count them.
	waitingBytes atomic.Int64

	mu sync.Mutex
	// tasks are those that a run or a call is busy with.
	tasks map[store.Key]*task
	runs  int
}

var _ a2a.Handler = (*Engine)(nil)

// New returns an engine. One that shares its store has begun to take part when
// New returns, and does so until it has drained.
func New(options Options) (*Engine, error) {
	if options.Member != nil {
		options.Store = options.Member
	}
	if options.Store == nil || options.Backend == nil {
		return nil, errors.New("engine needs a store and a backend")
	}
	options.setDefaults()
	e := &Engine{
		options: options,
		recent:  newDeduplication(options.DeduplicationWindow, options.MaxDeduplicated, options.Member != nil),
		turns:   newTurnQueue(options.Turns),
		idle:    make(chan struct{}),
		cutOff:  make(chan struct{}),
		tasks:   map[store.Key]*task{},
	}
	if options.Member != nil {
		e.replica = newReplica(e, options.Member)
		e.replica.start()
	}
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

// wrapUnlessTold adds what was done to an error that no client is told about.
func wrapUnlessClientError(doing string, err error) error {
	if _, told := errors.AsType[*a2a.Error](err); err == nil || told {
		return err
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// unlessMissing returns the error, unless it is that there is no such task.
func unlessMissing(err error) error {
	if problem, ok := errors.AsType[*a2a.Error](err); ok && problem.Reason == a2a.ReasonTaskNotFound {
		return nil
	}
	return err
}

// storeError tells a client what it may know.
func storeError(doing, id string, err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return a2a.TaskNotFound(id)
	case errors.Is(err, store.ErrFull):
		return fmt.Errorf("%s: %w: %w", doing, err, &a2a.Error{Reason: a2a.ReasonResourceExhausted, Message: "Too many unfinished tasks"})
	case errors.Is(err, store.ErrHeld):
		return errNotNow()
	}
	if _, told := errors.AsType[*a2a.Error](err); told {
		return err
	}
	return fmt.Errorf("%s: %w: %w", doing, errStoreDown(), err)
}

func storeErrorOrNil(doing, id string, err error) error {
	if err == nil {
		return nil
	}
	return storeError(doing, id, err)
}

// acquire returns the engine's hold on a task that exists or, when its client
// may name new ones, may come to exist. It is released by release.
func (e *Engine) acquire(ctx context.Context, k store.Key, named bool) (*task, error) {
	e.mu.Lock()
	if t := e.tasks[k]; t != nil {
		t.holds++
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
		t = &task{engine: e, key: k, log: log}
		e.tasks[k] = t
	}
	t.holds++
	return t, nil
}

// isBusyWith reports whether somebody here has a task, or is about to make it.
func (e *Engine) isBusyWith(k store.Key) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tasks[k] != nil
}

func (e *Engine) release(t *task) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.releaseLocked(t)
}

func (e *Engine) releaseLocked(t *task) {
	t.holds--
	if t.holds == 0 {
		delete(e.tasks, t.key)
	}
}

// hire counts a run of a task for a turn, which it holds. Only a run that a new
// message asks for can be refused.
func (e *Engine) hire(t *task, tn *turn, refusable bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case refusable && e.draining.Load():
		return errUnavailable()
	case refusable && e.replica != nil && e.replica.fenced.Load():
		return errStoreDown()
	case tn.reserved:
		tn.reserved = false
	case !refusable:
		e.turns.start(tn.principal)
	case !e.turns.tryStart(tn.principal):
		return errTurnLimit
	}
	e.runs++
	t.holds++
	e.tasks[t.key] = t
	return nil
}

// leave frees a turn's place for another. It does not wait for a lock: a client
// that has its answer may ask again at once.
func (e *Engine) leave(r *run) {
	if !r.left {
		r.left = true
		e.turns.end(r.principal)
	}
}

// maxWaitingBytes bounds all messages that wait, of all tasks.
const maxWaitingBytes = 32 << 20

// keep takes room for a message that waits, and reports whether there was
// enough; free gives it back.
func (e *Engine) keep(tn *turn) bool {
	size := int64(tn.message.Size())
	if e.waitingBytes.Add(size) <= maxWaitingBytes {
		return true
	}
	e.waitingBytes.Add(-size)
	return false
}

func (e *Engine) free(tn *turn) { e.waitingBytes.Add(-int64(tn.message.Size())) }

// dismiss is the end of a run that has left.
func (e *Engine) dismiss(t *task) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.releaseLocked(t)
	e.runs--
	if e.runs == 0 && e.draining.Load() {
		e.signalIdle()
	}
}

// unhire takes back what hire did.
func (e *Engine) unhire(t *task, tn *turn) {
	e.turns.end(tn.principal)
	e.dismiss(t)
}

// signalIdle closes idle. The lock is held.
func (e *Engine) signalIdle() {
	select {
	case <-e.idle:
	default:
		close(e.idle)
	}
}
