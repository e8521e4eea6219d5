// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"
)

// A deviation replaces the default at one call of the store. By default, the store executes
// and answers the first of the waiting calls, ordered by replica and operation.
type deviation struct {
	// at numbers the calls of an execution from 0.
	at   int
	kind kind
	// arg is the index of the waiting call that the store executes first (reorder), or the
	// number of the replica that fails (crash, lapse).
	arg int
}

type kind uint8

const (
	// reorder executes a waiting call other than the first one.
	reorder kind = iota
	// loseAnswer executes the call and loses its response: the caller gets an outage.
	loseAnswer
	// crash ends a replica: none of its later calls reaches the store.
	crash
	// lapse is an outage for one replica that lasts longer than its lease.
	lapse
)

func (d deviation) String() string {
	names := [...]string{"make another call first", "lose the answer", "crash replica", "cut off replica"}
	return fmt.Sprintf("call %d: %s %d", d.at, names[d.kind], d.arg)
}

// call is a call of the store that waits for the scheduler.
type call struct {
	replica int
	op      string
	write   bool
	number  int
	verdict chan verdict
}

type verdict uint8

const (
	proceed verdict = iota
	unanswered
	refused
)

// scheduler decides when a call reaches the store. It runs in a bubble of synctest: when
// the scheduler decides, every goroutine waits for the store, for time or for a message.
type scheduler struct {
	deviations []deviation
	arrived    chan struct{}

	mu      sync.Mutex
	waiting []*call
	number  int
	crashed [2]bool
	cutOff  [2]time.Time
	// onCrash is called when a replica crashes.
	onCrash func(replica int)
	// options collects the deviations that are possible at each call, while record is
	// true.
	record  bool
	options []deviation
	step    int
	trace   []string
}

func newScheduler(deviations []deviation) *scheduler {
	return &scheduler{deviations: deviations, arrived: make(chan struct{}, 1), record: true}
}

// wait waits until the scheduler decides about a call, and returns the decision.
func (s *scheduler) wait(replica int, op string, write bool) verdict {
	c := &call{replica: replica, op: op, write: write, verdict: make(chan verdict, 1)}
	s.mu.Lock()
	s.number++
	c.number = s.number
	s.waiting = append(s.waiting, c)
	s.mu.Unlock()
	select {
	case s.arrived <- struct{}{}:
	default:
	}
	return <-c.verdict
}

// run schedules calls until a time, or until done closes.
func (s *scheduler) run(until time.Time, done <-chan struct{}) {
	end := time.NewTimer(time.Until(until))
	defer end.Stop()
	for {
		synctest.Wait()
		if s.next() {
			continue
		}
		select {
		case <-s.arrived:
		case <-done:
			return
		case <-end.C:
			return
		}
	}
}

// next executes the next call, and returns false if no call waits.
func (s *scheduler) next() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return false
	}
	// The order of the waiting calls must not depend on the order in which their goroutines
	// ran.
	slices.SortStableFunc(s.waiting, func(a, b *call) int {
		if a.replica != b.replica {
			return a.replica - b.replica
		}
		return strings.Compare(a.op, b.op)
	})
	at, first, lost := s.step, 0, false
	s.step++
	if s.record {
		s.offer(at)
	}
	for _, d := range s.deviations {
		if d.at != at {
			continue
		}
		s.trace = append(s.trace, fmt.Sprintf("--- %s", d))
		switch d.kind {
		case reorder:
			first = min(d.arg, len(s.waiting)-1)
		case loseAnswer:
			lost = true
		case crash:
			s.crashed[d.arg] = true
			s.onCrash(d.arg)
		case lapse:
			s.cutOff[d.arg] = time.Now().Add(lease * 3 / 2)
		}
	}
	c := s.waiting[first]
	s.waiting = slices.Delete(s.waiting, first, first+1)
	v := proceed
	switch {
	case s.crashed[c.replica], time.Now().Before(s.cutOff[c.replica]):
		v = refused
	case lost:
		v = unanswered
	}
	s.trace = append(s.trace, fmt.Sprintf("%4d replica %d %s %s", at, c.replica, c.op, [...]string{"", "(not answered)", "(refused)"}[v]))
	c.verdict <- v
	return true
}

// offer records the deviations that are possible at a call.
func (s *scheduler) offer(at int) {
	for i := 1; i < len(s.waiting); i++ {
		s.options = append(s.options, deviation{at, reorder, i})
	}
	first := s.waiting[0]
	if s.crashed[first.replica] {
		return
	}
	if first.write {
		s.options = append(s.options, deviation{at, loseAnswer, 0})
	}
	s.options = append(s.options, deviation{at, crash, first.replica}, deviation{at, lapse, first.replica})
}

// release makes the store answer all later calls at once.
func (s *scheduler) release(done <-chan struct{}) {
	s.mu.Lock()
	s.record = false
	s.mu.Unlock()
	s.run(time.Now().Add(time.Hour), done)
}
