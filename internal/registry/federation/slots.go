// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

const (
	// maxConcurrent bounds the concurrent requests to a peer, and maxCallerConcurrent the
	// concurrent requests of one caller. Further requests wait for at most half of the
	// peer's timeout.
	maxConcurrent       = 4
	maxCallerConcurrent = maxConcurrent / 2
)

// slots bounds the concurrent requests to one peer: maxConcurrent in total, and
// maxCallerConcurrent of one caller, so that one caller cannot use all slots. It is safe for
// concurrent use.
type slots struct {
	all chan struct{}

	mu sync.Mutex
	// callers has an entry for each caller with a request that waits or runs.
	callers map[a2a.AccountingPrincipal]*callerSlots
}

type callerSlots struct {
	running chan struct{}
	// requests is the number of the caller's requests that wait or run.
	requests int
}

func newSlots() *slots {
	return &slots{all: make(chan struct{}, maxConcurrent), callers: map[a2a.AccountingPrincipal]*callerSlots{}}
}

// acquire waits for a slot. ok is false if no slot is free within timeout, or if ctx ends. The
// caller of acquire must call release once if ok is true.
func (s *slots) acquire(ctx context.Context, caller a2a.AccountingPrincipal, timeout time.Duration) (release func(), ok bool) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	own := s.enter(caller)
	if !take(ctx, own.running, timer.C) {
		s.leave(caller)
		return nil, false
	}
	if !take(ctx, s.all, timer.C) {
		<-own.running
		s.leave(caller)
		return nil, false
	}
	return func() { <-s.all; <-own.running; s.leave(caller) }, true
}

func take(ctx context.Context, slots chan<- struct{}, timeout <-chan time.Time) bool {
	select {
	case slots <- struct{}{}:
		return true
	case <-timeout:
		return false
	case <-ctx.Done():
		return false
	}
}

func (s *slots) enter(caller a2a.AccountingPrincipal) *callerSlots {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.callers[caller]
	if own == nil {
		own = &callerSlots{running: make(chan struct{}, maxCallerConcurrent)}
		s.callers[caller] = own
	}
	own.requests++
	return own
}

func (s *slots) leave(caller a2a.AccountingPrincipal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.callers[caller]; own.requests > 1 {
		own.requests--
	} else {
		delete(s.callers, caller)
	}
}
