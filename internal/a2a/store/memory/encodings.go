// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// encodings bounds the bytes of the cached encodings of all records. The store evicts no
// task for them: without room, each reader of an event encodes it again.
type encodings struct {
	limit int64
	bytes atomic.Int64
}

// room is the Room of the records of one log. It takes its bytes from encodings.
type room struct {
	*encodings
	// readers counts the watchers of the log.
	readers atomic.Int64
}

var _ a2a.Room = (*room)(nil)

// Shared implements a2a.Room.
func (r *room) Shared() bool { return r.readers.Load() > 1 }

// Take implements a2a.Room.
func (e *encodings) Take(bytes int64) bool {
	if e.bytes.Add(bytes) <= e.limit {
		return true
	}
	e.bytes.Add(-bytes)
	return false
}

// Give implements a2a.Room.
func (e *encodings) Give(bytes int64) { e.bytes.Add(-bytes) }
