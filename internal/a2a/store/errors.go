// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import "errors"

// The errors that a caller acts on.
var (
	// ErrNotFound: there is no such task, or no longer.
	ErrNotFound = errors.New("task is not in the store")
	// ErrExists: there is a task with the key.
	ErrExists = errors.New("task is in the store already")
	// ErrConflict: the log has more events than the caller knows. The append did not
	// happen and never will.
	ErrConflict = errors.New("log has newer events")
	// ErrTrimmed: the log has dropped the event. The snapshot includes it.
	ErrTrimmed = errors.New("log no longer holds the event")
	// ErrFull: the store has no room, and nothing that it may evict.
	ErrFull = errors.New("store is full")
	// ErrHeld: another replica holds the task. The write did not happen.
	ErrHeld = errors.New("task is held by another replica")
	// ErrRolledBack: the store has lost events that it had stored before: its server was
	// restored from a backup, or crashed before they were on disk. The log ends for all
	// its users. A new one, which Open returns, has the events that the store still has.
	ErrRolledBack = errors.New("store has lost events that it had stored")
	// ErrUnavailable: the store does not answer, or cannot serve (an outage).
	ErrUnavailable = errors.New("store does not answer")
	// ErrIndeterminate: it is not known whether a write happened. It may also happen
	// later. The caller repeats the write with the same token (Write.Repeat), or gives
	// up the task.
	ErrIndeterminate = errors.New("outcome of the write is not known")
)
