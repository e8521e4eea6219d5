// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store is where tasks live: an append-only, numbered log of events
// per task, whose fold is the task.
//
// A store keeps and tells. It decides nothing: which event may follow which is
// the engine's business, and a store takes what its caller appends behind the
// event that the caller knew last. It knows no transport and no encoding.
package store

import (
	"context"
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// The errors that a caller acts on.
var (
	// ErrNotFound: there is no such task, or no longer.
	ErrNotFound = errors.New("task is not in the store")
	// ErrExists: there is a task with the key.
	ErrExists = errors.New("task is in the store already")
	// ErrConflict: the log has more events than the caller knows. The append did not
	// happen and never will.
	ErrConflict = errors.New("log has gone on")
	// ErrTrimmed: the log has dropped the event. The snapshot includes it.
	ErrTrimmed = errors.New("log no longer holds the event")
	// ErrFull: the store has no room, and nothing that it may evict.
	ErrFull = errors.New("store is full")
	// ErrHeld: another replica holds the task. The write did not happen.
	ErrHeld = errors.New("task is held by another replica")
	// ErrUnavailable: the store does not answer, or cannot serve (an outage).
	ErrUnavailable = errors.New("store does not answer")
	// ErrIndeterminate: it is not known whether a write happened. It may also happen
	// later. The caller repeats the write with the same token (Write.Repeat), or gives
	// up the task.
	ErrIndeterminate = errors.New("outcome of the write is not known")
)

// Key names a task. The owner is part of it: with another owner there is no
// such task.
type Key struct {
	Owner  a2a.Owner
	TaskID string
}

// Origin is what a task is born with and keeps for life.
type Origin struct {
	ContextID string
	// Dialect is the one of the message that made the task.
	Dialect a2a.Dialect
}

// Conversation names what one owner says in one context.
type Conversation struct {
	Owner     a2a.Owner
	ContextID string
}

// Bounds on what is remembered of a conversation: the newest messages that
// meet both.
const (
	MaxRemembered      = 64
	MaxRememberedBytes = 256 << 10
)

// Store keeps logs and conversations.
type Store interface {
	// Create starts the log of a task with its first events. It returns ErrExists,
	// ErrFull or ErrIndeterminate.
	Create(ctx context.Context, n NewTask) (Log, error)
	// Open returns the log of a task, or ErrNotFound.
	Open(ctx context.Context, k Key) (Log, error)
	// List returns a page of an owner's tasks. Each task is as it is at some
	// moment of the call; one that moves on while pages are read may be missed
	// or met again.
	List(ctx context.Context, q *Query) (*Page, error)
	// Paused returns the ids of at most two tasks of a conversation that wait for
	// their client: their state is interrupted. They are in no order.
	Paused(ctx context.Context, c Conversation) ([]string, error)
	// Remember adds a message to a conversation, behind those of earlier calls and
	// before whatever the caller appends next. It need not be there yet: stored
	// waits for that, and may be left alone.
	Remember(ctx context.Context, c Conversation, m *a2a.Message) (stored func() error)
	// Recall returns a conversation, the oldest message first; nothing for one
	// that is not known.
	Recall(ctx context.Context, c Conversation) ([]*a2a.Message, error)
}

// Log is the log of one task. It may outlive its task: when that is evicted,
// every method returns ErrNotFound.
type Log interface {
	// Append adds events to the end of the log and returns the number of the last. It
	// adds all events or none, and adds them once, however often it is called with the
	// same token. It retries outages for Write.RetryFor; when ctx ends, it returns at
	// once, but the write may still happen. It returns ErrConflict when After is not
	// the last event, ErrHeld, ErrIndeterminate, or ErrFull, which a terminal status
	// never meets. With ErrConflict, ErrHeld and ErrFull nothing has changed.
	Append(ctx context.Context, a Append) (uint64, error)
	// Snapshot returns the task and, in Seq, the number of the last event that
	// is folded into it: one moment, nothing lost or doubled in between. Callers
	// at the same moment share the record.
	Snapshot(ctx context.Context) (*a2a.Record, error)
	// Read appends to dst the records behind the one numbered after, as many as
	// are there, up to ReadLimit records and about ReadBytes bytes, but at least
	// one; none is no error. It returns ErrTrimmed when the next one is gone.
	Read(ctx context.Context, dst []*a2a.Record, after uint64) ([]*a2a.Record, error)
	// Watch has wake called after every Append and at eviction. The caller may
	// hold locks of the store: wake must return at once, and call no log.
	Watch(wake func()) (stop func())
}
