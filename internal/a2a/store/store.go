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

// The outcomes that a caller acts on. All other errors are outages.
var (
	// ErrNotFound: there is no such task, or no longer.
	ErrNotFound = errors.New("task is not in the store")
	// ErrExists: the key is taken.
	ErrExists = errors.New("task is in the store already")
	// ErrConflict: somebody else appended first.
	ErrConflict = errors.New("log has gone on")
	// ErrTrimmed: the log no longer holds what was asked for; the fold does.
	ErrTrimmed = errors.New("log no longer holds the event")
	// ErrFull: there is no room, and nothing that may be evicted.
	ErrFull = errors.New("store is full")
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
	// Create starts the log of a task with its first events, which are
	// numbered from 1. It returns ErrExists or ErrFull.
	Create(ctx context.Context, k Key, o Origin, events []a2a.Event) (Log, error)
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
	// Append adds events behind the one numbered after, and returns the number
	// of the last. It returns ErrConflict when after is not the last one, and
	// ErrFull, which a terminal status never meets. All events are appended or
	// none. The log owns what the events point to, not the slice, and fills in
	// the index of artifact updates.
	Append(ctx context.Context, after uint64, events []a2a.Event) (uint64, error)
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
