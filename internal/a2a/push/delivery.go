// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// delivery sends the events of a task to the receiver of one configuration. It is a
// cursor into the log of the task: Push.Acked.
type delivery struct {
	store.Push
	log store.Log
	// stopWatch ends the watch on the log.
	stopWatch func()
	host      *host
	owner     *owner
	share     *share
	// ctx ends with the delivery and cancels its request in flight.
	ctx    context.Context //nolint:containedctx // it lasts as long as the delivery
	cancel context.CancelCauseFunc

	// Pushes.mu guards the fields from state to dropped.
	state state
	// logChanged is true if the log changed while a worker ran the delivery.
	logChanged bool
	// timer ends the state delayed. If lingering is true, a drain ends the state earlier.
	timer     *time.Timer
	lingering bool
	// hasSlot is true while the delivery counts as a request to its host.
	hasSlot bool
	// dropped is true once the delivery is out of the schedule.
	dropped bool

	// Only the worker that runs the delivery uses the fields that follow. While no worker runs
	// it, drop may release charge.
	//
	// last is the number of the last event in the notification that is retried, so that
	// each attempt sends the same events; 0 for none. After a takeover, it is at least the number of
	// the next event: an attempt that left no trace in the store was not joined.
	last uint64
	// unstored is true if the store may not have the cursor of the delivery.
	unstored bool
	attempts int
	// since is the time at which the delivery was first ready to send the notification. Waits
	// for a slot of the host and for the circuit breaker therefore count towards retryFor. Each
	// wait for memory is added to since, because it does not count.
	since time.Time
	// needs are the bytes of memory that a notification needs and the budget had no room for, 0
	// for none. memoryWaitSince is the time since which the delivery waits for them, or zero.
	needs           int
	memoryWaitSince time.Time
	// queues is true if the next step waits in the budgets. warned is true if the log says how long the delivery has waited.
	queues, warned bool
	// charge is the memory of the notification. It is held while a step runs, and while the
	// delivery waits for a slot at the front of the queue (awaitSlot). passed is true if the
	// delivery passed a slot on because it had no memory.
	charge limit.Reservation
	passed bool
	// lingered is true if the updates of the next notification have waited for further ones
	// (Options.Linger).
	lingered bool
	// failures counts the notifications in a row that were given up.
	failures int
}

// id identifies a configuration.
type id struct {
	task   store.Key
	config string
}

func (d *delivery) id() id { return id{d.Task, d.Config.ID} }

// state is the place of a delivery in the schedule.
type state uint8

// A delivery waits for its log (idle), for its timer (delayed), for a slot of its host
// (waiting), for memory (awaitingMemory) or for a worker (ready), or a worker runs it.
const (
	idle state = iota
	delayed
	waiting
	awaitingMemory
	ready
	running
)

// nextStep is the decision of a worker about a delivery after a step.
type nextStep struct {
	action action
	// delay is the time until the delivery is ready again, for retry and linger.
	delay time.Duration
	// successor has the Push and the log of the delivery that follows after end; nil for none.
	successor *delivery
}

type action uint8

const (
	// waitForLog means that all events in the log were delivered.
	waitForLog action = iota
	// retry means that the delivery is ready again after the delay. linger is a retry
	// whose delay a drain cuts short.
	retry
	linger
	// waitForSlot means that the delivery waits for a slot of its host, and that allow
	// has already changed its state.
	waitForSlot
	// waitForMemory means that the delivery is ready again after at most memoryPoll, even
	// during a drain.
	waitForMemory
	// end means that the delivery has ended.
	end
)

var errDeleted = errors.New("push configuration is gone")

// close releases the watch on the log, and cancels the request in flight.
func (d *delivery) close() {
	d.stopWatch()
	d.cancel(errDeleted)
}

// owner is the state that the deliveries of one principal share, in all tenants.
// Pushes.mu guards it.
type owner struct {
	name string
	// share is the owner whose share of the workers and hosts the deliveries use (a2a.Owner.Share).
	share string
	// users counts the deliveries.
	users int
	// ready are the deliveries that wait for a worker, in the order in which they run.
	ready []*delivery
}
