// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Create implements store.Store.
func (s *Store) Create(_ context.Context, n store.NewTask) (store.Log, error) {
	l := &log{store: s, key: n.Key, creationToken: n.Token, fold: store.NewFold(n.TaskID, n.Origin), room: store.Room{Encodings: &s.encodings}}
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
	l.account = s.accountOf(n.Owner)
	// The new task counts before evictions, because an eviction deletes an account without
	// tasks.
	s.countTask(l.account, 1)
	for len(s.logs) >= s.options.MaxTasks {
		if !s.evictFor(l.account, nil) {
			return nil, s.refuse(l.account)
		}
	}
	l.charge = l.size()
	if !s.reserve(l.account, l.charge, nil) {
		return nil, s.refuse(l.account)
	}
	s.noteGrowth(l.account)
	s.logs[n.Key] = l
	s.addToOwner(l)
	s.file(l)
	return l, nil
}

// refuse undoes the count of a new task for which its account has no room, and returns
// ErrFull. Store.mu is held.
func (s *Store) refuse(a *account) error {
	s.countTask(a, -1)
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

// alreadyStored is the result of Remember, which has stored the message when it
// returns.
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

// EncodedBytes returns the bytes of the cached encodings of events, at most a quarter of
// MaxBytes.
func (s *Store) EncodedBytes() int64 { return s.encodings.Bytes() }
