// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"errors"
	"reflect"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// What append.lua answers.
const (
	appended = iota
	missing
	conflicts
	held
)

// claim is what an append does to the hold on its task; the zero value leaves
// it alone.
type claim struct {
	what    string
	replica string
	brief   string
	// message and stands are the claim on the message of the brief: its name, and
	// what is stored there.
	message, stands string
}

// The claims, in the words of append.lua.
var claims = map[store.HoldChange]string{store.Keep: "keep", store.Take: "take", store.Release: "rest", store.Continue: "continue"}

// Append implements store.Log. It has two phases: it reads where the log stands,
// if that is not known, and writes. While an outage lasts, each phase is retried for
// Options.Patience, so that an append takes twice as long at most. If the write was
// not answered by then, its outcome is unknown, and the log is read anew before the
// next answer.
func (l *log) Append(ctx context.Context, after uint64, events []a2a.Event) (uint64, error) {
	return l.append(ctx, after, events, claim{})
}

func (l *log) append(ctx context.Context, after uint64, events []a2a.Event, c claim) (uint64, error) {
	var next *step
	err := persist(ctx, l.store.options.Patience, func(ctx context.Context) (err error) {
		next, err = l.prepare(ctx, after, events, c)
		return err
	})
	if err != nil {
		return 0, err
	}
	s := l.store
	script := s.scripts.append
	if next.ends {
		script = s.scripts.end
	}
	answer, err := s.tried(ctx, s.options.Patience, script, len(next.encoded)+len(next.fold), next.args)
	return next.last, l.settle(next, answer, err)
}

// step is an append on its way.
type step struct {
	after, last   uint64
	events        []a2a.Event
	encoded, fold []byte
	// ends is true when the last event is a terminal status.
	ends bool
	args []any
}

// prepare encodes events behind the one numbered after.
func (l *log) prepare(ctx context.Context, after uint64, events []a2a.Event, c claim) (*step, error) {
	l.mu.Lock()
	behind := l.seq < after
	l.mu.Unlock()
	if behind {
		if err := l.sync(ctx); err != nil {
			return nil, err
		}
	}
	if err := l.lock(ctx); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	if l.seq != after {
		return nil, store.ErrConflict
	}
	next := &step{after: after, last: after + uint64(len(events)), events: events}
	state, place := statusOf(events)
	if len(events) > 0 {
		last := events[len(events)-1].Status
		next.ends = last != nil && last.Status.State.Terminal()
		if !next.ends && l.fold.Size()+sizeOf(events) > l.store.options.MaxTaskBytes {
			return nil, store.ErrFull
		}
		l.fold.Number(events)
		said := l.fold.Said()
		join(events, said)
		next.encoded = writeEvents(home{l.key.TaskID, l.contextID}, events, said)
		if l.foldIsDue(len(events), len(next.encoded)) {
			next.fold = writeTask(l.fold.Task())
		}
	}
	o := &l.store.options
	next.args = []any{
		l.name, after, next.last, token(), next.encoded, state, place, next.fold,
		o.MaxLogEvents, o.MaxLogBytes, millis(o.keep()), c.what, c.replica, c.brief,
		c.message, c.stands, store.MaxTaskClaims,
	}
	return next, nil
}

// Bounds of what is read behind a fold to know a task.
const (
	minUnfolded = 64 << 10
	// share of the log's bounds.
	unfoldedShare = 4
)

// foldIsDue reports whether Redis gets a new fold with the next events. A fold
// is written for as many bytes of events as it has itself, so all folds of a
// task together cost about what its log costs, and none is older than a part of
// the log.
func (l *log) foldIsDue(events, bytes int) bool {
	o := &l.store.options
	limit := min(max(minUnfolded, l.fold.Size()), o.MaxLogBytes/unfoldedShare)
	return l.seq > l.stored &&
		(l.unfolded+bytes > limit || int(l.seq-l.stored)+events > o.MaxLogEvents/unfoldedShare) //nolint:gosec // bounded by the log
}

// settle is what follows an append.
func (l *log) settle(next *step, answer int64, err error) error {
	switch {
	case errors.Is(err, store.ErrFull):
		return err
	case err != nil:
		l.mu.Lock()
		l.doubts++
		l.mu.Unlock()
		l.store.follower.look(l)
		return err
	case answer == missing:
		l.vanish()
		return store.ErrNotFound
	case answer == held:
		return store.ErrHeld
	case answer == conflicts:
		l.mu.Lock()
		l.doubts++
		l.own = false
		l.mu.Unlock()
		return store.ErrConflict
	}
	shed(l.took(next))
	return nil
}

// took is the state of the log behind events that Redis has.
func (l *log) took(next *step) (victims []*log) {
	if len(next.events) == 0 {
		return nil // it was about the hold
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// Otherwise they were read back before the answer came, or the memory was taken.
	if l.fold != nil && l.seq == next.after {
		l.add(next.events)
		l.own = true
		l.unfolded += len(next.encoded)
		if next.fold != nil {
			l.stored, l.unfolded = next.after, len(next.encoded)
		}
		victims = l.charge()
	}
	l.wake()
	return victims
}

// join has a status that repeats the message of the one before point to that
// message: it is not said twice.
func join(events []a2a.Event, said *a2a.Message) {
	for i := range events {
		switch e := &events[i]; {
		case e.Message != nil:
			said = nil
		case e.Status != nil:
			if m := e.Status.Status.Message; said != nil && m != nil && m.ID != "" && m.ID == said.ID && reflect.DeepEqual(m, said) {
				e.Status.Status.Message = said
			}
			said = e.Status.Status.Message
		}
	}
}

func sizeOf(events []a2a.Event) (size int) {
	for i := range events {
		size += events[i].Size()
	}
	return size
}
