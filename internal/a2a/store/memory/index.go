// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// addToOwner adds a log to the logs of its owner. Store.mu is held.
func (s *Store) addToOwner(l *log) {
	logs := s.owners[l.key.Owner]
	l.ownerIndex = len(logs)
	s.owners[l.key.Owner] = append(logs, l)
}

// removeFromOwner removes a log from the logs of its owner. The last log of the owner
// moves to the index of the removed one. Store.mu is held.
func (s *Store) removeFromOwner(l *log) {
	logs := s.owners[l.key.Owner]
	last := len(logs) - 1
	logs[l.ownerIndex] = logs[last]
	logs[l.ownerIndex].ownerIndex = l.ownerIndex
	logs[last] = nil
	if last == 0 {
		delete(s.owners, l.key.Owner)
		return
	}
	s.owners[l.key.Owner] = logs[:last]
}

// addPaused adds a log to the paused logs of its conversation. Store.mu is held.
func (s *Store) addPaused(l *log) {
	c, ok := l.conversation()
	if !ok {
		return
	}
	l.pausedIn = &c
	s.paused[c] = append(s.paused[c], l)
}

// removePaused removes a log from the paused logs of its conversation. Store.mu is held.
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

// conversation returns the conversation of a task; false when the task was removed.
func (l *log) conversation() (store.Conversation, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.removed {
		return store.Conversation{}, false
	}
	return store.Conversation{Owner: l.key.Owner, ContextID: l.fold.ContextID()}, true
}
