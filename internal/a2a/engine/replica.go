// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// lastCall bounds what is told to the store when the engine has ended.
const lastCall = time.Second

// replica is this engine as one of several that share a store. It renews the lease,
// takes over the tasks of replicas that are gone (orphan recovery), and reads the
// inbox.
type replica struct {
	store.Member
	engine *Engine
	// ctx ends the goroutines, which group counts.
	ctx   context.Context //nolint:containedctx // it is the life of the replica
	stop  context.CancelCauseFunc
	group sync.WaitGroup
	// places bounds the messages of others that are being worked on.
	places chan struct{}
	// fenced is true while this replica may have lost its lease, and runs nothing
	// that others would run again.
	fenced atomic.Bool
	// looks are the tasks that somebody else appended to.
	looks chan store.Key

	mu sync.Mutex
	// questions are those that were mailed and not answered, by their numbers.
	questions map[uint64]chan *store.InboxMessage
	number    uint64
	// refused are tasks whose message was refused since the store did not say
	// whether it took it, and when that was.
	refused map[store.Key]time.Time
	// closed is true when nothing more is relayed.
	closed bool
}

func newReplica(e *Engine, m store.Member) *replica {
	r := &replica{
		Member: m, engine: e,
		places:    make(chan struct{}, store.MaxInbox),
		looks:     make(chan store.Key, store.MaxInbox),
		questions: map[uint64]chan *store.InboxMessage{},
		refused:   map[store.Key]time.Time{},
	}
	r.ctx, r.stop = context.WithCancelCause(context.Background())
	return r
}

func (r *replica) start() {
	r.group.Go(r.live)
	r.group.Go(r.readMail)
}

// leave ends the goroutines and the lease: the others may have what is left.
func (r *replica) leave(ctx context.Context) {
	r.mu.Lock()
	closed := r.closed
	r.closed = true
	r.mu.Unlock()
	r.stop(errDrained)
	r.group.Wait()
	if closed {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastCall)
	defer cancel()
	if err := r.Leave(ctx); err != nil {
		r.engine.options.Log.ErrorContext(ctx, "leave the shared store", "error", err)
	}
}

// live renews the lease every third of it, and takes over orphaned tasks after each
// renewal, until the engine has drained.
func (r *replica) live() {
	lease := r.engine.options.Lease
	beat := time.NewTicker(lease / 3)
	defer beat.Stop()
	// Whoever cannot renew its lease has to take it that others run its turns by
	// now. It stops them a little earlier.
	fence := time.AfterFunc(lease*2/3, r.fence)
	defer fence.Stop()
	h := health{lease: lease}
	for {
		asked := r.engine.options.Now()
		if r.renew(&h) {
			beat.Reset(lease / 3)
			fence.Reset(lease*2/3 - r.engine.options.Now().Sub(asked))
			r.fenced.Store(false)
			r.tend(&h)
		} else {
			beat.Reset(lease / 15) // a store that was late now and then must not cost the lease
		}
		for beating := false; !beating; {
			select {
			case <-beat.C:
				beating = true
			case k := <-r.looks:
				r.review(k)
			case <-r.ctx.Done():
				return
			}
		}
	}
}

// health is how the store did lately.
type health struct {
	lease time.Duration
	// since is when it began to answer without a failure; zero while it fails.
	since time.Time
	// asked is true once the lease was to be renewed.
	asked bool
	// held are the tasks of this replica.
	held []store.Key
}

// trusted reports whether the others had time to renew their leases, too: after
// an outage all have lapsed, and mean nothing.
func (h *health) trusted(now time.Time) bool { return now.Sub(h.since) >= h.lease }

func (r *replica) renew(h *health) (renewed bool) {
	log, now := r.engine.options.Log, r.engine.options.Now()
	busy := r.engine.busy()
	ctx, cancel := context.WithTimeout(r.ctx, h.lease/3)
	defer cancel()
	held, err := r.Renew(ctx, h.lease)
	if err != nil {
		if r.ctx.Err() == nil && (!h.since.IsZero() || !h.asked) {
			log.ErrorContext(ctx, "the task store does not answer", "error", err)
		}
		h.since, h.asked = time.Time{}, true
		return false
	}
	if h.since.IsZero() {
		h.since = now
		if h.asked {
			log.InfoContext(ctx, "the task store answers again")
		}
	}
	h.asked, h.held = true, held
	mine := make(map[store.Key]bool, len(held))
	for _, k := range held {
		mine[k] = true
	}
	for _, t := range busy {
		if !mine[t.key] {
			r.reviewTask(t)
		}
	}
	return true
}

// tend takes over orphaned tasks: those that this replica holds and does not run,
// and those of replicas whose lease has ended.
func (r *replica) tend(h *health) {
	if r.engine.draining.Load() {
		return
	}
	for _, k := range h.held {
		r.recover(k)
	}
	now := r.engine.options.Now()
	trusted := h.trusted(now)
	if trusted {
		r.excuse(now.Add(-h.lease))
	}
	dead, err := r.Dead(r.ctx)
	for _, other := range dead {
		if !trusted && other.Name() != r.Self().Name() {
			continue
		}
		var left []store.Key
		if left, err = r.Holding(r.ctx, other); err != nil {
			break
		}
		for _, k := range left {
			r.recover(k)
		}
	}
	if err != nil && r.ctx.Err() == nil {
		r.engine.options.Log.ErrorContext(r.ctx, "look for tasks of replicas that are gone", "error", err)
	}
}

// fence cancels all runs before the lease ends, if other replicas would run their
// turns again (Retry).
func (r *replica) fence() {
	if !r.engine.options.Retry() {
		return
	}
	r.fenced.Store(true)
	var letting sync.WaitGroup
	for _, t := range r.engine.busy() {
		// An append that the store does not answer has the lock for a while: one
		// after the other they would have it for too long.
		letting.Go(func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.cancelWrite != nil {
				t.cancelWrite()
			}
			if t.log != nil && t.working() && !t.state().Terminal() {
				t.forsake(errLost)
			}
		})
	}
	letting.Wait()
}

func (r *replica) review(k store.Key) {
	r.engine.mu.Lock()
	t := r.engine.tasks[k]
	r.engine.mu.Unlock()
	if t != nil {
		r.reviewTask(t)
	}
}

// reviewTask looks at a task that may not be this replica's to run any more.
func (r *replica) reviewTask(t *task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.log == nil || !t.working() || t.forsaken || t.stalled != nil {
		return
	}
	if err := t.catchUp(r.ctx, false); err != nil {
		return
	}
	if held, err := r.Holder(r.ctx, t.key); err == nil && held.Replica != r.Self() {
		t.forsake(errLost)
	}
}

// reject remembers that the message of a task was refused, though the store may
// have taken it.
func (r *replica) reject(k store.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.refused) < store.MaxInbox {
		r.refused[k] = r.engine.options.Now()
	}
}

func (r *replica) rejected(k store.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, refused := r.refused[k]
	delete(r.refused, k)
	return refused
}

// excuse forgets messages that were refused before a time, which the store has
// not taken: this replica has seen all that it holds since.
func (r *replica) excuse(before time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.refused, func(_ store.Key, at time.Time) bool { return at.Before(before) })
}

var errLost = errors.New("another replica runs the task")
