// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store defines how tasks are stored: an append-only, numbered log of
// events for each task, and the fold of the log, which is the task.
//
// A store makes no decision about a task: the engine decides which event may follow
// which. A store appends events only if the log still ends at the event that its caller
// names. The package depends on no transport and no encoding.
package store

import (
	"context"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// MaxRemembered and MaxRememberedBytes bound a conversation: a store keeps the
// newest messages that meet both.
const (
	MaxRemembered      = 64
	MaxRememberedBytes = 256 << 10
)

// Store stores logs and conversations.
type Store interface {
	// Create starts the log of a task with its first events. It returns ErrExists,
	// ErrFull or ErrIndeterminate. With Write.Repeat, it returns the log if an earlier call
	// with the same token has created the task.
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
	// Remember adds a message to a conversation, after the messages of earlier calls and
	// before the next append of the caller. It may return before the message is stored.
	// stored waits until the message is stored. A caller that does not wait ignores stored.
	Remember(ctx context.Context, c Conversation, m *a2a.Message) (stored func() error)
	// Recall returns a conversation, the oldest message first; nothing for an
	// unknown one.
	Recall(ctx context.Context, c Conversation) ([]*a2a.Message, error)
}

// Log is the log of one task. After its task was evicted, every method returns
// ErrNotFound.
type Log interface {
	// Append adds events to the end of the log and returns the number of the last event. It
	// adds all events or none, and adds them once, however often it is called with the
	// same token. It retries outages for Write.RetryFor. When ctx ends, it returns at once,
	// but the write may still happen.
	//
	// Append returns ErrConflict if After is not the last event, or ErrHeld, ErrRolledBack,
	// ErrIndeterminate or ErrFull. A terminal status never gets ErrFull. ErrUnavailable means
	// that Append attempted no write. After ErrConflict, ErrHeld, ErrFull and ErrUnavailable
	// nothing has changed.
	Append(ctx context.Context, a Append) (uint64, error)
	// Snapshot returns the task and, in Seq, the number of the last event in it.
	// Concurrent callers share the record.
	Snapshot(ctx context.Context) (*a2a.Record, error)
	// Read returns dst with the records after the number after: at most ReadLimit records and
	// about ReadBytes bytes, but at least one record if there is one. If the log has no later
	// record, Read returns dst. It returns ErrTrimmed if the log has dropped the record after+1.
	Read(ctx context.Context, dst []*a2a.Record, after uint64) ([]*a2a.Record, error)
	// AppendJournal adds an entry to the end of the journal, once, however often it is called with
	// the same values. It retries outages for JournalAppend.RetryFor. It returns ErrConflict if the
	// journal has other entries after JournalAppend.After or if the task has ended, ErrFull if the
	// journal or the store is full, ErrRolledBack if entries are missing, ErrHeld or ErrIndeterminate.
	AppendJournal(ctx context.Context, a JournalAppend) error
	// Journal returns all entries of the journal. The caller must not change them. Before it reads many bytes from a
	// server, it calls reserve with their number, and returns the error of reserve if there is one.
	Journal(ctx context.Context, reserve func(bytes int64) error) ([][]byte, error)
	// Watch calls wake after each append of events by any replica, and when the log ends (the
	// task was evicted, or ErrRolledBack). It no longer calls wake after stop. The store may
	// hold locks while it calls wake, so wake must return at once and must not call a log.
	Watch(wake func()) (stop func())
}
