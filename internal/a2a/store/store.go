// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store defines how tasks are stored: an append-only, numbered log of
// events for each task, and the fold of the log, which is the task.
//
// A store makes no decision about a task: the engine decides which event may follow
// which. A store appends the events behind the event that its caller knew last. It
// knows no transport and no encoding.
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

// Key names a task. A task with another owner does not exist for a caller.
type Key struct {
	Owner  a2a.Owner
	TaskID string
}

// Origin is what a task has from its creation and never changes.
type Origin struct {
	ContextID string
	// Dialect is that of the message that created the task.
	Dialect a2a.Dialect
}

// Conversation names the messages of one owner in one context.
type Conversation struct {
	Owner     a2a.Owner
	ContextID string
}

// MaxRemembered and MaxRememberedBytes bound a conversation: a store keeps the
// newest messages that meet both.
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
	// List returns a page of the tasks of an owner. Each task is a snapshot from
	// some moment of the call. A task that changes while a caller reads pages may
	// be missed or returned twice.
	List(ctx context.Context, q *Query) (*Page, error)
	// Paused returns the ids of at most two tasks of a conversation that wait for
	// their client (an interrupted state), in no order.
	Paused(ctx context.Context, c Conversation) ([]string, error)
	// Remember adds a message to a conversation, after those of earlier calls and
	// before whatever the caller appends next. It may return before the message is
	// stored: stored waits for that, and callers may ignore it.
	Remember(ctx context.Context, c Conversation, m *a2a.Message) (stored func() error)
	// Recall returns a conversation, the oldest message first; nothing for an
	// unknown one.
	Recall(ctx context.Context, c Conversation) ([]*a2a.Message, error)
}

// Log is the log of one task. After its task was evicted, every method returns
// ErrNotFound.
type Log interface {
	// Append adds events to the end of the log and returns the number of the last. It
	// adds all events or none, and adds them once, however often it is called with the
	// same token. It retries outages for Write.RetryFor; when ctx ends, it returns at
	// once, but the write may still happen. It returns ErrConflict when After is not
	// the last event, ErrHeld, ErrIndeterminate, or ErrFull, which a terminal status
	// never meets. With ErrConflict, ErrHeld and ErrFull nothing has changed.
	Append(ctx context.Context, a Append) (uint64, error)
	// Snapshot returns the task and, in Seq, the number of the last event in it.
	// Concurrent callers share the record.
	Snapshot(ctx context.Context) (*a2a.Record, error)
	// Read appends to dst the records after the one with a number, up to ReadLimit
	// records and about ReadBytes bytes, but at least one if there is one. It
	// returns ErrTrimmed when the log has dropped the next one.
	Read(ctx context.Context, dst []*a2a.Record, after uint64) ([]*a2a.Record, error)
	// Watch calls wake after every Append, and when the task is evicted. The store
	// may hold locks: wake must return at once and must not call a log.
	Watch(wake func()) (stop func())
}
