// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Push is a push configuration of a task, and how far its deliveries came.
type Push struct {
	Task   Key
	Config a2a.PushConfig
	// Generation is given by the store: it grows with every Put, of whatever
	// configuration, and orders those of a task.
	Generation uint64
	// Acked is the number of the last event that need not be delivered any more.
	Acked uint64
	// Since is the number of the event behind which a message goes on with the
	// task: an end up to there is not the end of the configuration.
	Since uint64
	// Expires is the zero time while there may be more to deliver. Then the
	// configuration can be read until that time.
	Expires time.Time
	// Replica is the one that delivers; "" when the store is not shared.
	Replica Replica
}

// Ended reports whether nothing is delivered any more.
func (p *Push) Ended() bool { return !p.Expires.IsZero() }

// PushStore keeps push configurations with their cursors. What it returns is
// the caller's.
type PushStore interface {
	// Put adds a configuration, or replaces the one of the task with the same
	// id, and returns its generation. It returns ErrFull when the task, or the
	// store, has no room.
	Put(ctx context.Context, p Push) (uint64, error)
	// Get returns a configuration, or ErrNotFound.
	Get(ctx context.Context, task Key, id string) (Push, error)
	// List returns the configurations of a task, the oldest generation first.
	List(ctx context.Context, task Key) ([]Push, error)
	// Advance stores Acked and Expires. It returns ErrNotFound when that
	// generation of the configuration is gone, or another replica's to deliver.
	Advance(ctx context.Context, p Push) error
	// Delete removes a configuration; that it is not there is no error.
	Delete(ctx context.Context, task Key, id string) error
	// Unfinished calls yield for every configuration that has not ended, until
	// it returns false. Yield may call the store.
	Unfinished(ctx context.Context, yield func(Push) bool) error
}
