// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import "errors"

// The errors that a caller acts on.
var (
	// ErrNotFound means that the task or the push configuration does not exist (any more), or
	// that a replica has no lease (Inbox.Post).
	ErrNotFound = errors.New("task is not in the store")
	// ErrExists means that a task with the key exists, or a push configuration with the id
	// (PushStore.Add).
	ErrExists = errors.New("task or push configuration is in the store already")
	// ErrConflict means that the log has more events than the caller has read. The append
	// did not happen and never will.
	ErrConflict = errors.New("log has newer events")
	// ErrTrimmed means that the log has dropped the first of the requested events. The
	// snapshot includes the effect of all dropped events.
	ErrTrimmed = errors.New("log no longer holds the event")
	// ErrFull means that the store has no room and nothing that it may evict, or that a task,
	// the push configurations of a task, or an inbox have reached their bound.
	ErrFull = errors.New("store is full")
	// ErrHeld means that the caller does not have the hold that the write requires
	// (HoldChange), or that another replica has begun the turn of the waiting message that the
	// write removes. The write did not happen.
	ErrHeld = errors.New("task is held by another replica")
	// ErrNoLease means that the store has no lease of the calling replica: it has ended, or the store
	// has lost it. The write did not happen. The caller renews its lease and repeats the write.
	ErrNoLease = errors.New("replica has no lease in the store")
	// ErrRolledBack means that the store has lost events that it had stored: its server
	// was restored from a backup, or crashed before they were on disk. The Log ends for
	// all its users. Open returns a new Log with the events that the store still has.
	ErrRolledBack = errors.New("store has lost events that it had stored")
	// ErrUnavailable means that the store does not answer, or cannot serve (an outage).
	ErrUnavailable = errors.New("store does not answer")
	// ErrIndeterminate means that the outcome of a write is unknown: the write has
	// happened, has not happened, or may happen later. The caller repeats the write with
	// the same token (Write.Repeat), or gives up the task.
	ErrIndeterminate = errors.New("outcome of the write is not known")
)
