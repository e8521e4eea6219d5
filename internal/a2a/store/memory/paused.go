// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Paused implements store.Store. It reads the paused tasks of the conversation
// only.
func (s *Store) Paused(_ context.Context, c store.Conversation) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, l := range s.paused[c] {
		// The index is updated after an append, so the state may be newer.
		if state, gone := l.state(); !gone && state.Interrupted() {
			if ids = append(ids, l.key.TaskID); len(ids) == 2 {
				break
			}
		}
	}
	return ids, nil
}

// addPaused adds a log to the paused ones of its conversation. mu is held.
func (s *Store) addPaused(l *log) {
	c, ok := l.conversation()
	if !ok {
		return
	}
	l.pausedIn = &c
	s.paused[c] = append(s.paused[c], l)
}

// removePaused removes a log from there. mu is held.
func (s *Store) removePaused(l *log) {
	if l.pausedIn == nil {
		return
	}
	c := *l.pausedIn
	l.pausedIn = nil
	left := slices.DeleteFunc(s.paused[c], func(other *log) bool { return other == l })
	if len(left) == 0 {
		delete(s.paused, c)
		return
	}
	s.paused[c] = left
}

// conversation returns the conversation of a task; false when it was removed.
func (l *log) conversation() (store.Conversation, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.removed {
		return store.Conversation{}, false
	}
	return store.Conversation{Owner: l.key.Owner, ContextID: l.fold.ContextID()}, true
}
