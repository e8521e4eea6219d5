// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package push posts the events of tasks to the webhooks of their clients. It
// implements a2a.PushHandler.
//
// A delivery follows the log of its task by a cursor, as a subscriber does, so that it
// never delays an event, and it costs no goroutine while there is nothing to send. The
// notifications of a configuration are sent in order and at least once: the cursor is
// stored after the receiver has confirmed. docs/explanation/concurrency.md lists goroutines, locks
// and bounds.
package push

import (
	"errors"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Pushes implements a2a.PushHandler and delivers push notifications.
type Pushes struct {
	options Options

	// configMu is held while a configuration is set or deleted, so that the deliveries
	// match the stored configurations. A goroutine that needs both locks takes configMu
	// before mu.
	configMu sync.Mutex
	// shared is nil if no other replica uses the store.
	shared *shared

	// mu guards the schedule. Neither the store nor a log is called while it is held: a
	// log wakes a delivery under a lock of its own.
	mu         sync.Mutex
	deliveries map[id]*delivery
	hosts      map[string]*host
	owners     map[string]*owner
	// ready are the owners with ready deliveries, in the order in which they are served.
	ready []*owner
	// busy counts the deliveries that are waiting, ready or running.
	busy int
	// running counts the workers, and inFlight the deliveries that they run.
	running, inFlight int
	// draining is set once. idle closes when no delivery is busy after that.
	draining bool
	idle     chan struct{}
	workers  sync.WaitGroup
}

var _ a2a.PushHandler = (*Pushes)(nil)

// shared is the state of a replica whose store other replicas use. Each configuration
// belongs to one replica: the last one to set it or to take it over.
type shared struct {
	store.Lease
	configs store.SharedPushStore
	// deadSince has the times since which replicas have been dead. Only Resume uses it.
	deadSince map[store.Replica]time.Time
}

// New returns a Pushes, or an error if a required option is missing. The Pushes delivers
// nothing before Resume or a new configuration.
func New(o Options) (*Pushes, error) {
	if o.Tasks == nil || o.Configs == nil || o.Guard == nil {
		return nil, errors.New("push needs tasks, configs and a guard")
	}
	o.setDefaults()
	var others *shared
	if o.Member != nil {
		configs, ok := o.Configs.(store.SharedPushStore)
		if !ok {
			return nil, errors.New("push needs configs that replicas can share")
		}
		others = &shared{Lease: o.Member, configs: configs, deadSince: map[store.Replica]time.Time{}}
	}
	return &Pushes{
		options: o, shared: others, idle: make(chan struct{}),
		deliveries: map[id]*delivery{}, hosts: map[string]*host{}, owners: map[string]*owner{},
	}, nil
}

// Following returns the number of configurations that have a delivery.
func (p *Pushes) Following() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.deliveries)
}

// setState changes the state of a delivery. mu is held.
func (p *Pushes) setState(d *delivery, to state) {
	p.countState(d, -1)
	d.state = to
	p.countState(d, 1)
	p.signalIdle()
}

func (p *Pushes) countState(d *delivery, n int) {
	if d.state >= waiting {
		p.busy += n
	}
	if d.state == running {
		p.inFlight += n
		d.owner.inFlight += n
	}
}

// signalIdle closes idle if the server drains and no delivery is busy. mu is held.
func (p *Pushes) signalIdle() {
	if !p.draining || p.busy > 0 {
		return
	}
	select {
	case <-p.idle:
	default:
		close(p.idle)
	}
}
