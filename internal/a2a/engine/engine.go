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
// The files, in the order in which a message goes through them:
//
//	send           Send and Stream, and the wait of their callers
//	intake         who processes a message: an earlier copy (deduplication), another replica, a
//	               paused task, a new task
//	turnqueue      limits the turns that run at a time, fairly among callers
//	accept         what a task does with a message in its phase: begin, deliver, queue, refuse
//	takeover       takes tasks over from dead replicas: fails them, or re-runs their turns
//	run            runs the turns of a task one after the other, from the call to the end
//	prepare        the input of the backend: history, conversation, references
//	journal        the steps that a backend records
//	emit           holds, completes and checks the events of the backend
//	begin          the events with which a turn begins, and the first append of a task
//	waiting        messages that wait for their turn, some of them accepted before it
//	append         all other appends, and their effects on the task in memory
//	subscribe      the streams that read the log
//
// When the store fails: append repeats the writes of a running turn and then gives the task up,
// begin refuses new messages, and coordination/lease.go ends all runs before the lease ends.
//
// The types: task, its phase with the table of transitions, turn with its outcome, and
// the entries of deduplication. The other requests and signals: cancel, list, drain, host (what
// coordination calls). options configures an engine.
package engine

import (
	"context"
	"errors"
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

	// waitingBytes is the size of the messages that wait for a turn, in bytes. The
	// store does not count these messages.
	waitingBytes waitingBytes

	mu sync.Mutex
	// tasks are the tasks that a run or a request uses.
	tasks map[store.Key]*task
	runs  int
}

var _ a2a.Handler = (*Engine)(nil)

// New returns an engine, or an error if the options have no store or no backend. The
// caller calls Start before the first request.
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
		recent:      newDeduplication(options.DeduplicationWindow, options.Now, options.MaxDeduplicated, options.DeduplicatedBytes, options.Member != nil),
		turns:       newTurnQueue(options.Turns, options.TurnBytes),
		idle:        make(chan struct{}),
		tasks:       map[store.Key]*task{},

		waitingBytes: waitingBytes{ofShare: map[a2a.AccountingPrincipal]int64{}},
	}
	e.retries, e.stopRetries = context.WithCancel(context.Background())
	return e, nil
}

// coordinator returns the coordinator of the replica.
func (o *Options) coordinator() coordination.Coordinator {
	if o.Member == nil {
		return coordination.Single{Store: o.Store}
	}
	return coordination.NewShared(o.Member, coordination.Options{
		Lease: o.Lease, RetryFor: o.OutageRetryFor, FenceRuns: o.Retry, ClaimWindow: o.DeduplicationWindow, Now: o.Now, Log: o.Log,
	})
}

// Start starts the coordination with other replicas, which ends with Drain. From then on,
// the engine may call its backend and the functions in Options, because it may take over
// tasks of other replicas. If no other replica shares the store, Start does nothing. The
// caller calls it once.
func (e *Engine) Start() { e.coordinator.Start(host{e}) }

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

func (e *Engine) now() time.Time { return toWirePrecision(e.options.Now()) }

// toWirePrecision returns a time in UTC, truncated to milliseconds, the precision of
// times in every version of the protocol. Lists are ordered by the truncated times, so
// that the order agrees with the times that clients receive.
func toWirePrecision(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
