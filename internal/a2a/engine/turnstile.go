// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// TurnLimits bound the turns that run, and those that wait for a place.
type TurnLimits struct {
	// Max bounds the turns that run, and MaxPerPayer those of one payer.
	Max, MaxPerPrincipal int
	// MaxQueued bounds the messages that wait for a place, and QueueTimeout how
	// long one does; without either, none waits.
	MaxQueued    int
	QueueTimeout time.Duration
}

// turnstile is the concurrency limiter of turns, with fair queueing: each payer (an
// accounting principal) has a queue of its own, and the queues are served in
// rotation. A payer that sent a hundred messages delays the message of another one
// by one turn.
//
// Its lock is the innermost: nothing is called while it is held.
type turnstile struct {
	limits func() TurnLimits

	mu      sync.Mutex
	running int
	payers  map[a2a.AccountingPrincipal]*payer
	// spare is for the next one that comes.
	spare *payer
	// waiting are the payers with a queue, the next to be served in front, and
	// queued is how many places they wait for.
	waiting []*payer
	queued  int
	closed  bool
}

// payer is there while it runs or waits for something.
type payer struct {
	who     a2a.AccountingPrincipal
	running int
	queue   []*place
}

// place is waited for. told closes when granted is known.
type place struct {
	told    chan struct{}
	granted bool
}

var (
	// errNoPlace is the answer to a message for whose turn there is no place.
	errNoPlace = a2a.Busy("Too many turns are running")
	errQueue   = a2a.Busy("Too many messages wait for a turn")
)

func newTurnstile(limits func() TurnLimits) *turnstile {
	return &turnstile{limits: limits, payers: map[a2a.AccountingPrincipal]*payer{}}
}

// enter takes a place for a turn, if one is free and nobody else's.
func (s *turnstile) enter(who a2a.AccountingPrincipal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.of(who)
	if len(p.queue) > 0 || !s.free(p) {
		s.tidy(p)
		return false
	}
	s.start(p)
	return true
}

// take is enter for a turn that cannot be refused.
func (s *turnstile) take(who a2a.AccountingPrincipal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start(s.of(who))
}

// leave gives a place to the next who waits.
func (s *turnstile) leave(who a2a.AccountingPrincipal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.of(who)
	s.running--
	p.running--
	s.tidy(p)
	s.dispatch()
}

// wait returns once it has taken a place, or an *a2a.Error.
func (s *turnstile) wait(ctx context.Context, who a2a.AccountingPrincipal) error {
	w, limits, err := s.join(who)
	if err != nil {
		return err
	}
	over := time.NewTimer(limits.QueueTimeout)
	defer over.Stop()
	select {
	case <-w.told:
	case <-over.C:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed && !w.granted:
		return errUnavailable()
	case w.granted && ctx.Err() == nil:
		return nil
	case w.granted:
		// Its client has left.
		p := s.of(who)
		s.running--
		p.running--
		s.tidy(p)
		s.dispatch()
	default:
		s.remove(who, w)
	}
	return errNoPlace
}

// refit lets in who has a place since the limits are others.
func (s *turnstile) refit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dispatch()
}

// close refuses all who wait, and will.
func (s *turnstile) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, p := range s.waiting {
		for _, w := range p.queue {
			close(w.told)
		}
		p.queue = nil
		s.tidy(p)
	}
	s.waiting, s.queued = nil, 0
}

func (s *turnstile) counts() (running, queued int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running, s.queued
}

// join puts somebody into the queue of its payer. A queue that is full loses the
// last of the payer that has most in it, if the new one has less.
func (s *turnstile) join(who a2a.AccountingPrincipal) (*place, TurnLimits, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	limits := s.limits()
	switch {
	case s.closed:
		return nil, limits, errUnavailable()
	case limits.MaxQueued <= 0 || limits.QueueTimeout <= 0:
		return nil, limits, errNoPlace
	}
	p := s.of(who)
	if s.queued >= limits.MaxQueued && !s.displace(p) {
		s.tidy(p)
		return nil, limits, errQueue
	}
	w := &place{told: make(chan struct{})}
	if len(p.queue) == 0 {
		s.waiting = append(s.waiting, p)
	}
	p.queue = append(p.queue, w)
	s.queued++
	// A place may have come free since it was asked for.
	s.dispatch()
	return w, limits, nil
}

func (s *turnstile) displace(by *payer) bool {
	most := by
	for _, p := range s.waiting {
		if len(p.queue) > len(most.queue) {
			most = p
		}
	}
	if len(most.queue) <= len(by.queue)+1 {
		return false
	}
	last := len(most.queue) - 1
	close(most.queue[last].told)
	most.queue = most.queue[:last]
	s.queued--
	return true
}

// dispatch lets in whoever can be. A payer that was served goes to the end.
func (s *turnstile) dispatch() {
	for at := 0; at < len(s.waiting); {
		p := s.waiting[at]
		if !s.free(p) {
			if s.running >= s.limits().Max {
				return
			}
			at++
			continue
		}
		first := p.queue[0]
		p.queue = p.queue[1:]
		s.queued--
		s.waiting = slices.Delete(s.waiting, at, at+1)
		if len(p.queue) > 0 {
			s.waiting = append(s.waiting, p)
		}
		s.start(p)
		first.granted = true
		close(first.told)
	}
}

// remove takes somebody out of the queue who is no longer waiting, if it is there.
func (s *turnstile) remove(who a2a.AccountingPrincipal, w *place) {
	p := s.of(who)
	if at := slices.Index(p.queue, w); at >= 0 {
		p.queue = slices.Delete(p.queue, at, at+1)
		s.queued--
		if len(p.queue) == 0 {
			s.waiting = slices.DeleteFunc(s.waiting, func(other *payer) bool { return other == p })
		}
	}
	s.tidy(p)
}

func (s *turnstile) free(p *payer) bool {
	limits := s.limits()
	return s.running < limits.Max && p.running < limits.MaxPerPrincipal
}

func (s *turnstile) start(p *payer) {
	s.running++
	p.running++
}

func (s *turnstile) of(who a2a.AccountingPrincipal) *payer {
	p := s.payers[who]
	if p == nil {
		if p, s.spare = s.spare, nil; p == nil {
			p = &payer{}
		}
		p.who = who
		s.payers[who] = p
	}
	return p
}

// tidy forgets a payer that has nothing.
func (s *turnstile) tidy(p *payer) {
	if p.running == 0 && len(p.queue) == 0 {
		delete(s.payers, p.who)
		p.queue = nil
		s.spare = p
	}
}
