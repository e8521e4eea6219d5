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

// follow starts the delivery of a configuration that has not ended. It replaces the
// delivery of an earlier generation.
func (p *Pushes) follow(c store.Push, log store.Log) {
	d := &delivery{Push: c, log: log}
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
		d.host, d.owner = p.useHost(c.Config.URL), p.useOwner(d)
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
// it. After true, the caller unlocks mu and closes the delivery. mu is held.
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
	if d.state != running { // otherwise reschedule does it
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
	logChanged, dropped := d.logChanged, false
	d.logChanged = false
	p.releaseSlot(d)
	switch {
	case next.action == end || d.dropped:
		p.setState(d, idle)
		dropped = p.drop(d)
	case next.action == waitForLog && !logChanged:
		p.setState(d, idle)
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

// releaseSlot passes the slot of a delivery on to the next one that waits for the host.
// mu is held.
func (p *Pushes) releaseSlot(d *delivery) {
	if !d.hasSlot {
		return
	}
	d.hasSlot = false
	h := d.host
	if len(h.waiting) == 0 {
		h.inFlight--
		return
	}
	first := h.waiting[0]
	h.waiting = slices.Delete(h.waiting, 0, 1)
	first.hasSlot = true
	p.enqueue(first)
}
