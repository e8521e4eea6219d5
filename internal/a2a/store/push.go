// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Push is a push configuration of a task, with the cursor of its deliveries.
type Push struct {
	Task   Key
	Config a2a.PushConfig
	// Generation is set by the store. It grows with every Put of any configuration,
	// and orders the configurations of a task.
	Generation uint64
	// Acked is the number of the last event that was delivered, was given up, or needs no
	// notification.
	Acked uint64
	// Through is the number of the last event in a notification that joins the events from Acked on and
	// may have been sent; 0 without one. Attempts of the notification by other replicas join the
	// same events, so that they have the same id and the same body.
	Through uint64
	// Since is the number of the event after which a message continued the task. A
	// terminal status with this or a lower number does not end the configuration, because
	// the message came later.
	Since uint64
	// Expires is the zero time while there may be events to deliver. Afterwards, it
	// is the time until which the configuration can be read.
	Expires time.Time
	// Replica is the replica that delivers the events; "" when the store is not
	// shared.
	Replica Replica
}

// Ended reports whether no more events are delivered.
func (p *Push) Ended() bool { return !p.Expires.IsZero() }

// PushStore stores push configurations with their cursors. Callers own the values
// that it returns.
type PushStore interface { //nolint:interfacebloat // each method is one step of the life of a configuration
	// Put adds a configuration, or replaces the one of the task with the same id,
	// and returns its generation. It returns ErrFull when the task or the store has
	// no room.
	Put(ctx context.Context, p Push) (uint64, error)
	// Add is Put for a task that has no configuration with the id. If the task has one,
	// Add changes nothing and returns ErrExists. After a retry, this may be the
	// configuration that the first attempt has added.
	Add(ctx context.Context, p Push) (uint64, error)
	// Get returns a configuration, or ErrNotFound.
	Get(ctx context.Context, task Key, id string) (Push, error)
	// List returns the configurations of a task, the oldest generation first.
	List(ctx context.Context, task Key) ([]Push, error)
	// Advance stores Acked, Through and Expires of p. It returns ErrNotFound if the configuration is
	// gone, has another generation than p, or is delivered by another replica.
	Advance(ctx context.Context, p Push) error
	// Delete removes a configuration. It returns nil when there is none.
	Delete(ctx context.Context, task Key, id string) error
	// Unfinished calls yield for every configuration that has not ended, until yield returns
	// false. The function yield may call the store. A configuration that cannot be decoded is
	// left out. Unfinished returns the error of the first such configuration at its end.
	Unfinished(ctx context.Context, yield func(Push) bool) error
}
