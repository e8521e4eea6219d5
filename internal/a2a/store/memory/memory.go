// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memory stores tasks in this process: bounded by number, bytes and age,
// and lost when the process ends.
//
// It starts no goroutine. Calls remove expired tasks, and evict tasks when room is
// needed, from the owner that holds most: finished tasks first, then those that
// wait for their client; of either, first tasks without a watcher, then the oldest.
// A task that is being worked on is never evicted.
package memory

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Options configure a store. Zero means the default.
type Options struct {
	// MaxTasks bounds the number of tasks, 10,000 by default.
	MaxTasks int
	// MaxBytes bounds the bytes of tasks and their logs, by estimate, 64 MiB by
	// default. One owner may hold three quarters of it. Conversations may hold an
	// eighth of it in addition, and encodings a quarter.
	MaxBytes int64
	// Retention is how long a finished task is kept, 1 h by default.
	Retention time.Duration
	// MaxLogEvents and MaxLogBytes bound the log of one task, and so how far a
	// subscriber may fall behind: 16,384 events and 16 MiB by default.
	MaxLogEvents int
	MaxLogBytes  int
	// Now is the clock.
	Now func() time.Time
}

func (o *Options) setDefaults() {
	setDefault(&o.MaxTasks, 10_000)
	setDefault(&o.MaxBytes, 64<<20)
	setDefault(&o.Retention, time.Hour)
	setDefault(&o.MaxLogEvents, 16_384)
	setDefault(&o.MaxLogBytes, 16<<20)
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the default of an injected clock
	}
}

func setDefault[T int | int64 | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}

// Store implements store.Store.
type Store struct {
	options Options
	// bytes is the sum of the charges of all logs.
	bytes     atomic.Int64
	encodings encodings

	mu   sync.Mutex
	logs map[store.Key]*log
	// owners has the logs of each owner, in no order.
	owners map[a2a.Owner][]*log
	// finished and idle have the tasks that may be evicted, the oldest first.
	finished, idle list.List
	// paused has the idle logs of each conversation.
	paused map[store.Conversation][]*log
	// accounts has the account of each principal. heaviest is the one that held
	// most when it last grew. An account may hold maxAccountBytes.
	accounts        map[string]*account
	heaviest        *account
	maxAccountBytes int64
	conversations   conversations
}

var _ store.Store = (*Store)(nil)

// New returns an empty store.
func New(options Options) *Store {
	options.setDefaults()
	s := &Store{options: options, logs: map[store.Key]*log{}, owners: map[a2a.Owner][]*log{}, accounts: map[string]*account{}, paused: map[store.Conversation][]*log{}}
	s.maxAccountBytes = options.MaxBytes / 4 * 3
	s.encodings.limit = options.MaxBytes / 4
	s.conversations = newConversations(options.MaxTasks, options.MaxBytes/8)
	return s
}

// Create implements store.Store.
func (s *Store) Create(_ context.Context, n store.NewTask) (store.Log, error) {
	l := &log{store: s, key: n.Key, creationToken: n.Token, fold: store.NewFold(n.TaskID, n.Origin), room: room{encodings: &s.encodings}}
	l.add(n.Events)
	s.mu.Lock()
	defer s.mu.Unlock()
	if former := s.logs[n.Key]; former != nil {
		if n.Repeat && former.creationToken == n.Token {
			return former, nil
		}
		return nil, store.ErrExists
	}
	s.expire()
	principal := n.Owner.Principal()
	l.account = s.accountOf(principal)
	// An eviction may leave the account without tasks in between.
	l.account.tasks++
	for len(s.logs) >= s.options.MaxTasks {
		if !s.evictFor(l.account, nil) {
			return nil, s.refuse(principal, l.account)
		}
	}
	l.charge = l.size()
	if !s.reserve(l.account, l.charge, nil) {
		return nil, s.refuse(principal, l.account)
	}
	s.noteGrowth(l.account)
	s.logs[n.Key] = l
	s.addToOwner(l)
	s.file(l)
	return l, nil
}

// refuse removes a task from its account that has no room for it, and returns
// ErrFull.
func (s *Store) refuse(principal string, a *account) error {
	a.tasks--
	s.removeIfEmpty(principal, a)
	return store.ErrFull
}

// Open implements store.Store.
func (s *Store) Open(_ context.Context, k store.Key) (store.Log, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	l := s.logs[k]
	if l == nil {
		return nil, store.ErrNotFound
	}
	return l, nil
}

// Remember implements store.Store.
func (s *Store) Remember(_ context.Context, c store.Conversation, m *a2a.Message) (stored func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conversations.add(c, m)
	return alreadyStored
}

// alreadyStored is the result of Remember, which stores at once.
func alreadyStored() error { return nil }

// Recall implements store.Store.
func (s *Store) Recall(_ context.Context, c store.Conversation) ([]*a2a.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conversations.get(c), nil
}

// Len returns the number of tasks.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.logs)
}

// Bytes returns the estimate that MaxBytes bounds.
func (s *Store) Bytes() int64 { return s.bytes.Load() }

// EncodedBytes returns the bytes of the encodings of events, at most a quarter of
// MaxBytes.
func (s *Store) EncodedBytes() int64 { return s.encodings.bytes.Load() }
