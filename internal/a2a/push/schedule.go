// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"slices"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// follow starts the delivery of a configuration, in place of the delivery of an earlier
// generation. If the configuration has ended, follow only ends the earlier delivery. During a
// drain, and if a later generation has a delivery, it starts none.
func (p *Pushes) follow(c store.Push, log store.Log) {
	d := &delivery{Push: c, log: log}
	if c.Through > c.Acked {
		d.last = c.Through
	}
	if c.Ended() {
		p.unfollow(d.id())
		return
	}
	d.ctx, d.cancel = context.WithCancelCause(context.Background())
	// The watch begins before the delivery is scheduled. The first step of the delivery
	// reads the events that were appended in between.
	d.stopWatch = log.Watch(func() { p.wake(d) })
	p.mu.Lock()
	former := p.deliveries[d.id()]
	if p.draining || former != nil && former.Generation > c.Generation {
		former = d
	} else {
		p.deliveries[d.id()] = d
		d.owner = p.useOwner(d)
		p.useHost(d)
		p.enqueue(d)
	}
	dropped := p.drop(former)
	p.mu.Unlock()
	if dropped {
		former.close()
	}
}

// unfollow ends a delivery and its retries.
func (p *Pushes) unfollow(name id) {
	p.mu.Lock()
	d := p.deliveries[name]
	dropped := p.drop(d)
	p.mu.Unlock()
	if dropped {
		d.close()
	}
}

// drop removes a delivery from the schedule, and returns false if the delivery was not in
// it. If drop returns true, the caller unlocks mu and closes the delivery. mu is held.
func (p *Pushes) drop(d *delivery) bool {
	if d == nil || d.dropped {
		return false
	}
	d.dropped = true
	if p.deliveries[d.id()] == d {
		delete(p.deliveries, d.id())
	}
	if d.timer != nil {
		d.timer.Stop()
	}
	if d.state == ready {
		p.removeReady(d)
	}
	if d.state != running { // for a running delivery, step and reschedule do this
		d.charge.Release()
		p.releaseSlot(d)
		p.setState(d, idle)
	}
	if d.host != nil {
		p.releaseHost(d)
		p.releaseOwner(d)
	}
	return true
}

// wake makes a delivery ready after its log has changed. The log calls wake while it
// holds its own lock.
func (p *Pushes) wake(d *delivery) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case d.dropped:
	case d.state == running:
		d.logChanged = true
	case d.state == idle && d.host != nil:
		p.enqueue(d)
	}
}

// enqueue makes a delivery ready, and starts a worker if one more may run. mu is held.
func (p *Pushes) enqueue(d *delivery) {
	p.setState(d, ready)
	p.addReady(d)
	if p.running < p.options.Workers && p.mayRun(d.owner) {
		p.running++
		p.workers.Go(p.work)
	}
}

// work runs ready deliveries until none may run.
func (p *Pushes) work() {
	var batch []*a2a.Record
	for {
		d := p.take()
		if d == nil {
			return
		}
		next := p.step(d, &batch)
		clear(batch)
		p.reschedule(d, next)
		if s := next.successor; s != nil {
			p.follow(s.Push, s.log)
		}
	}
}

// take returns the delivery that the calling worker runs next, or nil if the worker ends.
func (p *Pushes) take() *delivery {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.nextReady()
	if d == nil {
		p.running--
		return nil
	}
	p.setState(d, running)
	return d
}

// reschedule puts a delivery into the state that its last step decided.
func (p *Pushes) reschedule(d *delivery, next nextStep) {
	if next.action == waitForSlot {
		return
	}
	p.mu.Lock()
	logChanged := d.logChanged
	dropped := false
	d.logChanged = false
	d.passed = d.passed || d.hasSlot && next.action == waitForMemory
	p.releaseSlot(d)
	switch {
	case next.action == end || d.dropped:
		p.setState(d, idle)
		dropped = p.drop(d)
	case next.action == waitForLog && !logChanged:
		p.setState(d, idle)
	case next.action == waitForMemory:
		p.awaitMemory(d)
	case next.delay > 0 && (!p.draining || next.action != linger):
		p.enqueueAfter(d, next)
	default:
		p.enqueue(d)
	}
	p.mu.Unlock()
	if dropped {
		d.close()
	}
}

// enqueueAfter makes a delivery ready after a delay. During a drain it starts no timer:
// the next process continues from the stored cursor. mu is held.
func (p *Pushes) enqueueAfter(d *delivery, next nextStep) {
	p.setState(d, delayed)
	if p.draining {
		return
	}
	d.lingering = next.action == linger
	d.timer = time.AfterFunc(next.delay, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !d.dropped && d.state == delayed {
			p.enqueue(d)
		}
	})
}

// awaitMemory makes a delivery ready at the next poll. mu is held.
func (p *Pushes) awaitMemory(d *delivery) {
	p.setState(d, awaitingMemory)
	if len(p.awaiting) == 0 {
		time.AfterFunc(memoryPoll, p.pollMemory)
	}
	p.awaiting = append(p.awaiting, d)
}

// pollMemory makes all deliveries that wait for memory ready. The workers serve their owners in
// rotation, and each owner in the order in which its deliveries found no room, so that each
// owner gets a share of the memory that is free.
func (p *Pushes) pollMemory() {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.awaiting
	p.awaiting = nil
	p.giveTurn(all)
	for _, d := range all {
		if d.state == awaitingMemory {
			p.enqueue(d)
		}
	}
}

// takeSlot gives a delivery a slot of its host. mu is held.
func (p *Pushes) takeSlot(d *delivery) {
	d.hasSlot = true
	d.host.inFlight++
	d.share.inFlight++
	d.host.turn++
	d.share.turn = d.host.turn
}

// releaseSlot passes the slot of a delivery on to the next one that waits for the host.
// mu is held.
func (p *Pushes) releaseSlot(d *delivery) {
	if !d.hasSlot {
		return
	}
	d.hasSlot = false
	d.host.inFlight--
	d.share.inFlight--
	if next := d.host.nextWaiting(); next != nil {
		p.takeSlot(next)
		p.enqueue(next)
	}
}

// nextWaiting removes the delivery that gets the next slot from the queue, and returns it, or
// nil if none waits. It belongs to the owner with the fewest requests to the host and, of
// several, to the one whose last slot was the earliest. mu is held.
func (h *host) nextWaiting() *delivery {
	at := -1
	for i, d := range h.waiting {
		if at < 0 || d.share.before(h.waiting[at].share) {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	next := h.waiting[at]
	h.waiting = slices.Delete(h.waiting, at, at+1)
	return next
}

// before reports whether a share gets a slot before another one.
func (s *share) before(other *share) bool {
	if s.inFlight != other.inFlight {
		return s.inFlight < other.inFlight
	}
	return s.turn < other.turn
}

// useOwner returns the owner of a delivery, and counts the delivery as one more user. mu
// is held.
func (p *Pushes) useOwner(d *delivery) *owner {
	name := d.Task.Owner.Principal()
	o := p.owners[name]
	if o == nil {
		o = &owner{name: name, share: d.Task.Owner.Share()}
		p.owners[name] = o
	}
	o.users++
	return o
}

// releaseOwner ends the use of an owner by a delivery. mu is held.
func (p *Pushes) releaseOwner(d *delivery) {
	d.owner.users--
	if d.owner.users == 0 {
		delete(p.owners, d.owner.name)
	}
}

// mayRun reports whether a worker may run a delivery of an owner (fair queueing). Slow
// receivers occupy workers for a long time, and must not delay other owners. An owner, or all
// ServiceAccounts of a namespace together, therefore has at most as many workers as stay free, but it gets one worker whenever one is
// free. Each further owner can take at most about half of the free workers, so four owners
// leave one of 16 workers free. mu is held.
func (p *Pushes) mayRun(o *owner) bool {
	left := p.options.Workers - p.inFlight - 1
	used := p.inFlightOf[o.share]
	return left >= 0 && (used == 0 || used < left)
}

// addReady adds a delivery to the queue of its owner. mu is held.
func (p *Pushes) addReady(d *delivery) {
	if len(d.owner.ready) == 0 {
		p.ready = append(p.ready, d.owner)
	}
	d.owner.ready = append(d.owner.ready, d)
}

// removeReady removes a delivery from the queue of its owner. mu is held.
func (p *Pushes) removeReady(d *delivery) {
	o := d.owner
	o.ready = slices.DeleteFunc(o.ready, func(other *delivery) bool { return other == d })
	if len(o.ready) == 0 {
		p.ready = slices.DeleteFunc(p.ready, func(other *owner) bool { return other == o })
	}
}

// nextReady removes the delivery that runs next from its queue, and returns it. It
// serves the owners in rotation, and returns nil if none may run. mu is held.
func (p *Pushes) nextReady() *delivery {
	at := slices.IndexFunc(p.ready, p.mayRun)
	if at < 0 {
		return nil
	}
	o := p.ready[at]
	d := o.ready[0]
	o.ready[0] = nil
	o.ready = o.ready[1:]
	p.ready = slices.Delete(p.ready, at, at+1)
	if len(o.ready) > 0 {
		p.ready = append(p.ready, o)
	} else {
		o.ready = nil
	}
	return d
}

// Drain sends the notifications that can be sent at once, and ends the deliveries (graceful
// shutdown). It waits for requests in flight, for slots of hosts and for memory, but not for
// retries. When ctx ends first, Drain cancels the requests and returns the cause of ctx. It
// may be called more than once.
func (p *Pushes) Drain(ctx context.Context) error {
	p.beginDrain()
	var cause error
	select {
	case <-p.idle:
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	for _, d := range p.dropAll() {
		d.close()
	}
	p.workers.Wait()
	return cause
}

// beginDrain sets draining, stops the timers of delayed deliveries, and makes the
// lingering ones ready.
func (p *Pushes) beginDrain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draining = true
	for _, d := range p.deliveries {
		if d.state == delayed && d.timer.Stop() && d.lingering {
			p.enqueue(d)
		}
	}
	p.signalIdle()
}

func (p *Pushes) dropAll() []*delivery {
	p.mu.Lock()
	defer p.mu.Unlock()
	var dropped []*delivery
	for _, d := range p.deliveries {
		if p.drop(d) {
			dropped = append(dropped, d)
		}
	}
	return dropped
}
