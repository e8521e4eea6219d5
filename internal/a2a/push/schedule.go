// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// delivery follows the log of a task for one configuration.
type delivery struct {
	store.Push
	log store.Log
	// stop ends the watch on the log.
	stop  func()
	host  *host
	owner *owner
	// ctx ends with the delivery, and with it the request in flight.
	ctx    context.Context //nolint:containedctx // it is the life of the delivery
	cancel context.CancelCauseFunc

	// Pushes.mu guards what follows.
	state state
	// woken is true when the log went on while a worker was busy.
	woken bool
	// timer ends a rest; lingering is one that a drain cuts short.
	timer     *time.Timer
	lingering bool
	// slot is true when it holds a place among the requests to its host.
	slot bool
	gone bool

	// Only the worker that runs the delivery knows what follows.
	//
	// last is the number of the last event in the notification that is tried
	// again, so that each attempt says the same; 0 when there is none.
	last     uint64
	attempts int
	// since is when the first attempt was made, or would have been.
	since time.Time
	// lingered is true when pieces of an artifact have waited for more.
	lingered bool
	// failures counts notifications that were given up, one after the other.
	failures int
}

// state is where a delivery stands in the schedule.
type state uint8

const (
	// idle waits for its log, resting for its timer, parked for its host.
	idle state = iota
	resting
	parked
	ready
	running
)

// next is what becomes of a delivery that a worker has looked at.
type next struct {
	// in is how long it rests before it is looked at again; 0 is at once.
	in time.Duration
	do do
}

type do uint8

const (
	// wait for the log.
	wait do = iota
	// again, after a rest or at once; linger is a rest that a drain cuts short.
	again
	linger
	// left means that it is in somebody else's hands.
	left
	// end of the delivery.
	end
)

var errDeleted = errors.New("push configuration is gone")

// follow starts the delivery of a configuration that has not ended, in the
// place of a former one.
func (p *Pushes) follow(c store.Push, log store.Log) {
	name := id{c.Task, c.Config.ID}
	if c.Ended() {
		p.unfollow(name)
		return
	}
	d := &delivery{Push: c, log: log}
	d.ctx, d.cancel = context.WithCancelCause(context.Background())
	// Watched before it is known: what comes meanwhile is seen at the first look.
	d.stop = log.Watch(func() { p.wake(d) })
	p.mu.Lock()
	former := p.deliveries[name]
	if p.draining || former != nil && former.Generation > c.Generation {
		former = d
	} else {
		p.deliveries[name] = d
		d.host, d.owner = p.hostOf(c.Config.URL), p.ownerOf(d)
		p.enqueue(d)
	}
	dropped := p.drop(former)
	p.mu.Unlock()
	if dropped {
		former.close()
	}
}

// unfollow ends a delivery, with what waits to be tried again.
func (p *Pushes) unfollow(name id) {
	p.mu.Lock()
	d := p.deliveries[name]
	dropped := p.drop(d)
	p.mu.Unlock()
	if dropped {
		d.close()
	}
}

// drop takes a delivery out of the schedule and reports whether it was there.
// Then the caller, who holds mu, closes it without.
func (p *Pushes) drop(d *delivery) bool {
	if d == nil || d.gone {
		return false
	}
	d.gone = true
	if name := (id{d.Task, d.Config.ID}); p.deliveries[name] == d {
		delete(p.deliveries, name)
	}
	if d.timer != nil {
		d.timer.Stop()
	}
	if d.state == ready {
		p.unline(d)
	}
	if d.state != running {
		// The worker of one that runs does so when it is done.
		p.vacate(d)
		p.move(d, idle)
	}
	if d.host != nil {
		p.leave(d)
	}
	return true
}

// close ends what a delivery holds of others.
func (d *delivery) close() {
	d.stop()
	d.cancel(errDeleted)
}

// wake is called by a log, under its lock.
func (p *Pushes) wake(d *delivery) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case d.gone:
	case d.state == running:
		d.woken = true
	case d.state == idle && d.host != nil:
		p.enqueue(d)
	}
}

// move changes the state of a delivery. mu is held.
func (p *Pushes) move(d *delivery, to state) {
	p.count(d, -1)
	d.state = to
	p.count(d, 1)
	if p.draining && p.busy == 0 {
		p.closeIdle()
	}
}

// count counts a delivery by its state. mu is held.
func (p *Pushes) count(d *delivery, n int) {
	if d.state >= parked {
		p.busy += n
	}
	if d.state == running {
		p.inFlight += n
		d.owner.inFlight += n
	}
}

// enqueue has a worker look at a delivery. mu is held.
func (p *Pushes) enqueue(d *delivery) {
	p.move(d, ready)
	p.line(d)
	// Otherwise a worker of the owner takes it when it has done with another.
	if p.running < p.options.Workers && p.may(d.owner) {
		p.running++
		p.workers.Go(p.work)
	}
}

// work looks at deliveries until none is ready.
func (p *Pushes) work() {
	var batch []*a2a.Record
	for {
		d := p.take()
		if d == nil {
			return
		}
		what := p.step(d, &batch)
		clear(batch)
		p.put(d, what)
	}
}

func (p *Pushes) take() *delivery {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.next()
	if d == nil {
		p.running--
		return nil
	}
	p.move(d, running)
	return d
}

// put files a delivery as its worker says.
func (p *Pushes) put(d *delivery, what next) {
	if what.do == left {
		return
	}
	p.mu.Lock()
	woken, dropped := d.woken, false
	d.woken = false
	p.vacate(d)
	switch {
	case what.do == end || d.gone:
		p.move(d, idle)
		dropped = p.drop(d)
	case what.do == wait && !woken:
		p.move(d, idle)
	case what.in > 0 && (!p.draining || what.do != linger):
		p.rest(d, what)
	default:
		p.enqueue(d)
	}
	p.mu.Unlock()
	if dropped {
		d.close()
	}
}

// rest has a delivery looked at later. When the server shuts down there is no
// later: the store remembers. mu is held.
func (p *Pushes) rest(d *delivery, what next) {
	p.move(d, resting)
	if p.draining {
		return
	}
	d.lingering = what.do == linger
	d.timer = time.AfterFunc(what.in, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !d.gone && d.state == resting {
			p.enqueue(d)
		}
	})
}
