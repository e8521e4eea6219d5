// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"sync"
	"sync/atomic"
)

// subscribers is the set of open subscriptions of an engine, which wakes them when
// the engine has drained. It uses the wake-up channel of each subscription: a
// channel shared by all of them would be locked by each for every event.
type subscribers struct {
	closed atomic.Bool

	mu   sync.Mutex
	open map[*subscription]struct{}
}

func (s *subscribers) add(sub *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*subscription]struct{}{}
	}
	s.open[sub] = struct{}{}
}

func (s *subscribers) remove(sub *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, sub)
}

// close wakes all subscriptions. A subscription that is added later reads closed.
func (s *subscribers) close() {
	s.closed.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	for sub := range s.open {
		sub.signal()
	}
}
