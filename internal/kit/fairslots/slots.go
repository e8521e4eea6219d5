// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fairslots bounds how many calls run at a time (concurrency limiter), and shares the slots
// fairly among the tenants that cause the calls.
//
// The package does not know what a tenant is.
package fairslots

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// ErrFull is returned for a call that may not wait, because too many calls wait already.
var ErrFull = errors.New("too many calls wait for a slot")

// Options configure Slots.
type Options struct {
	// Slots is how many calls run at a time, and PerTenant how many of them may be of one tenant.
	Slots, PerTenant int
	// Waiting is how many calls may wait for a slot.
	Waiting int
	// Pace is the least time for which a call uses its slot, also if it ends sooner. It bounds the
	// rate of all calls to Slots in each Pace.
	Pace time.Duration
}

// Slots is a number of slots. The tenants with calls that wait take turns, and the calls of one
// tenant run in their order. A tenant with any number of calls therefore delays the next call of
// another tenant until one slot becomes free. It is safe for concurrent use.
//
// A tenant may have one waiting call, or several if they are at most twice as many as the calls that
// may still wait.
type Slots[T comparable] struct {
	options Options

	mu      sync.Mutex
	free    int
	waiting int
	// tenants has the tenants with calls that run or wait.
	tenants map[T]*tenant
	// rotation has the tenants with calls that wait, those first whose turn is next.
	rotation list.List
}

type tenant struct {
	running int
	// calls has a channel for each call that waits. It is closed when the call has a slot.
	calls list.List
	// turn is the element of Slots.rotation, nil if no call waits.
	turn *list.Element
}

// New returns Slots that are all free.
func New[T comparable](o Options) *Slots[T] {
	return &Slots[T]{options: o, free: o.Slots, tenants: map[T]*tenant{}}
}

// Acquire waits for a slot for a call of a tenant. The caller must call release once, at the end of
// the call. Acquire returns ErrFull if the call may not wait, and the error of ctx if ctx ends first.
func (s *Slots[T]) Acquire(ctx context.Context, of T) (release func(), err error) {
	granted, call, err := s.enqueue(of)
	if err != nil {
		return nil, err
	}
	select {
	case <-granted:
	case <-ctx.Done():
		if s.leave(of, call, granted) {
			return nil, ctx.Err()
		}
	}
	began := time.Now() //nolint:forbidigo // only differences of times of the machine are used
	return func() {
		if rest := s.options.Pace - time.Since(began); rest > 0 {
			time.AfterFunc(rest, func() { s.release(of) })
			return
		}
		s.release(of)
	}, nil
}

// enqueue adds a call. granted is closed when the call has a slot, which can be at once.
func (s *Slots[T]) enqueue(of T) (granted chan struct{}, call *list.Element, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenants[of]
	if t == nil {
		t = &tenant{}
		s.tenants[of] = t
	}
	granted = make(chan struct{})
	call = t.calls.PushBack(granted)
	s.waiting++
	if t.turn == nil {
		t.turn = s.rotation.PushBack(of)
	}
	s.grant()
	own := t.calls.Len()
	rest := s.options.Waiting - s.waiting
	if own > 0 && (rest < 0 || own > 1 && own > 2*rest) {
		s.remove(of, t, call)
		return nil, nil, ErrFull
	}
	return granted, call, nil
}

// grant gives the free slots to the tenants in turn. The caller holds the lock.
func (s *Slots[T]) grant() {
	for turn := s.rotation.Front(); turn != nil && s.free > 0; {
		next := turn.Next()
		of := turn.Value.(T) // the list has nothing else
		t := s.tenants[of]
		if t.running < s.options.PerTenant {
			first := t.calls.Front()
			close(first.Value.(chan struct{})) // the list has nothing else
			s.free--
			t.running++
			s.rotation.MoveToBack(turn)
			s.remove(of, t, first)
			if next == nil {
				next = s.rotation.Front()
			}
		}
		turn = next
	}
}

// remove removes a call that waits. The caller holds the lock.
func (s *Slots[T]) remove(of T, t *tenant, call *list.Element) {
	t.calls.Remove(call)
	s.waiting--
	if t.calls.Len() == 0 {
		s.rotation.Remove(t.turn)
		t.turn = nil
	}
	s.forgetIfIdle(of, t)
}

func (s *Slots[T]) forgetIfIdle(of T, t *tenant) {
	if t.running == 0 && t.calls.Len() == 0 {
		delete(s.tenants, of)
	}
}

// leave removes a call whose context has ended. It returns false if the call has a slot.
func (s *Slots[T]) leave(of T, call *list.Element, granted <-chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-granted:
		return false
	default:
		s.remove(of, s.tenants[of], call)
		return true
	}
}

func (s *Slots[T]) release(of T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenants[of]
	t.running--
	s.free++
	s.forgetIfIdle(of, t)
	s.grant()
}
