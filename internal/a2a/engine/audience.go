// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"sync"
	"sync/atomic"
)

// audience are all subscriptions that are open. They are told of the end of
// the engine as they are told of events: a channel that all of them wait at
// would have its lock taken by each, for each event.
type audience struct {
	over atomic.Bool

	mu      sync.Mutex
	present map[*subscription]struct{}
}

func (a *audience) join(s *subscription) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.present == nil {
		a.present = map[*subscription]struct{}{}
	}
	a.present[s] = struct{}{}
}

func (a *audience) leave(s *subscription) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.present, s)
}

// dismiss says that there will be no more. Who joins later finds it out alone.
func (a *audience) dismiss() {
	a.over.Store(true)
	a.mu.Lock()
	defer a.mu.Unlock()
	for s := range a.present {
		s.told()
	}
}
