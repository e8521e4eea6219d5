// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Paused implements store.Store. It looks at the tasks of the conversation that
// wait, and at no others.
func (s *Store) Paused(_ context.Context, c store.Conversation) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, l := range s.paused[c] {
		// A log is filed after it was appended to: look again.
		if state, gone := l.state(); !gone && state.Interrupted() {
			if ids = append(ids, l.key.TaskID); len(ids) == 2 {
				break
			}
		}
	}
	return ids, nil
}

// pausedAt files a log among those of its conversation that wait. mu is held.
func (s *Store) pausedAt(l *log) {
	c, ok := l.conversation()
	if !ok {
		return
	}
	l.pausedIn = &c
	s.paused[c] = append(s.paused[c], l)
}

// unpaused takes a log from there, if it is filed. mu is held.
func (s *Store) unpaused(l *log) {
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

// conversation returns the one to which a task belongs; false when it is gone.
func (l *log) conversation() (store.Conversation, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return store.Conversation{}, false
	}
	return store.Conversation{Owner: l.key.Owner, ContextID: l.fold.ContextID()}, true
}
