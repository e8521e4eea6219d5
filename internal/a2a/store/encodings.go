// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Encodings bounds the bytes of the cached encodings of all records of a store. A store evicts
// no task for them: without room, each reader of an event encodes it again.
type Encodings struct {
	Limit int64
	bytes atomic.Int64
}

// Bytes returns the bytes of the cached encodings.
func (e *Encodings) Bytes() int64 { return e.bytes.Load() }

// Room is the a2a.Room of the records of one log. It takes its bytes from Encodings.
type Room struct {
	*Encodings
	// Readers counts the watchers of the log.
	Readers atomic.Int64
}

var _ a2a.Room = (*Room)(nil)

// Shared implements a2a.Room.
func (r *Room) Shared() bool { return r.Readers.Load() > 1 }

// Take implements a2a.Room.
func (e *Encodings) Take(bytes int64) bool {
	if e.bytes.Add(bytes) <= e.Limit {
		return true
	}
	e.bytes.Add(-bytes)
	return false
}

// Give implements a2a.Room.
func (e *Encodings) Give(bytes int64) { e.bytes.Add(-bytes) }
