// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
)

// The results of append.lua.
const (
	appended = iota
	missing
	conflicts
	held
	// trimmed means that the log has later events and has dropped the events at the place of
	// the append, so that the script cannot compare the token.
	trimmed
	rolledBack
	full
	noLease
)

// holdChanges are the arguments of append.lua for the hold changes.
var holdChanges = map[store.HoldChange]string{
	store.AnyHolder: "", store.Keep: "keep", store.Take: "take", store.Release: "release", store.Continue: "continue",
}

// Append implements store.Log. It first reads the new events of the log if its end is not
// known, and then writes. Options.AppendTimeout, or Write.RetryFor, bounds the time of the
// read and the write with all their attempts. After store.ErrIndeterminate, the next call
// reads the log again.
func (l *log) Append(ctx context.Context, a store.Append) (uint64, error) {
	s := l.store
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(a.RetryFor, s.options.AppendTimeout))
	defer cancel()
	turn, err := turnOf(&a)
	if err != nil {
		return 0, err
	}
	waiting, size, err := waitingArgs(a.Waiting)
	if err != nil {
		return 0, err
	}
	var next *pendingAppend
	err = store.Retry(ctx, func() (err error) {
		next, err = l.prepare(ctx, &a, turn)
		return err
	})
	if err != nil {
		if a.Repeat && errors.Is(err, store.ErrUnavailable) {
			err = fmt.Errorf("%w: %w", store.ErrIndeterminate, err)
		}
		return 0, err
	}
	next.args = append(next.args, waiting...)
	script := s.scripts.append
	if next.terminal {
		script = s.scripts.end
	}
	err = store.RetryWrite(ctx, a.Repeat, func() error {
		reply, err := s.calls.pipelined(ctx, script, len(next.encoded)+len(next.fold)+size, next.args...)
		if err != nil {
			return err
		}
		return l.outcome(reply)
	})
	return next.last, l.finishAppend(next, err)
}

// outcome returns the error for an answer of append.lua.
func (l *log) outcome(reply any) error {
	answer, err := integer(reply)
	switch {
	case err != nil:
		return err
	case answer == missing:
		return store.ErrNotFound
	case answer == conflicts:
		return store.ErrConflict
	case answer == held:
		return store.ErrHeld
	case answer == trimmed:
		return store.ErrTrimmed
	case answer == rolledBack:
		return store.ErrRolledBack
	case answer == noLease:
		return store.ErrNoLease
	case answer == full:
		l.store.options.Observer.Refused()
		return store.ErrFull
	default:
		return nil
	}
}

// turn is the stored form of a turn descriptor, with the claim on the message of the
// turn: the name of the message, and the text of the claim.
type turn struct{ descriptor, message, claim string }

// turnOf returns the turn descriptor that an append stores; the zero value for none.
func turnOf(a *store.Append) (turn, error) {
	if a.Hold != store.Take && a.Hold != store.Continue {
		return turn{}, nil
	}
	return encodeTurn(a.Turn)
}

func encodeTurn(d *store.TurnDescriptor) (turn, error) {
	if d == nil {
		d = &store.TurnDescriptor{}
	}
	text, err := plainjson.Marshal(d) // the names of the fields are the format
	if err != nil {
		return turn{}, fmt.Errorf("encode turn descriptor: %w", err)
	}
	t := turn{descriptor: string(text), message: d.Claim.Message}
	if t.message != "" {
		t.claim = claimText(d.Claim.MessageClaim)
	}
	return t, nil
}

// waitingArgs returns the further arguments of append.lua for a change of the waiting
// messages, and their size in bytes.
func waitingArgs(c *store.WaitingChange) (args []any, size int, err error) {
	switch {
	case c == nil:
		return nil, 0, nil
	case c.Add == nil:
		return []any{c.Remove}, 0, nil
	}
	text, err := plainjson.Marshal(c.Add) // the names of the fields are the format
	if err != nil {
		return nil, 0, fmt.Errorf("encode waiting message: %w", err)
	}
	return []any{0, text}, len(text), nil
}

// pendingAppend is an encoded append.
type pendingAppend struct {
	after, last   uint64
	events        []a2a.Event
	encoded, fold []byte
	token         string
	// terminal is true when the last event is a terminal status.
	terminal bool
	args     []any
}

// prepare encodes an append. If the append is repeated and the log already has later events,
// the encoding has no events, because the script then only compares the token.
func (l *log) prepare(ctx context.Context, a *store.Append, t turn) (*pendingAppend, error) {
	l.mu.Lock()
	behind := l.seq < a.After
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
	next := &pendingAppend{
		after: a.After, last: a.After + uint64(len(a.Events)), events: a.Events, token: string(tokenText(a.Token)),
	}
	state := ""
	place := ""
	switch {
	case l.seq != a.After && !a.Repeat:
		return nil, store.ErrConflict
	case len(a.Events) > 0:
		l.fold.AssignIndexes(a.Events)
		if l.seq != a.After {
			break
		}
		last := a.Events[len(a.Events)-1].Status
		next.terminal = last != nil && last.Status.State.Terminal()
		if !next.terminal && !a.Repeat && l.fold.Size()+sizeOf(a.Events)+a.Waiting.Size() > l.store.options.MaxTaskBytes {
			return nil, store.ErrFull
		}
		state, place = statusOf(a.Events)
		said := l.fold.StatusMessage()
		shareStatusMessages(a.Events, said)
		next.encoded = writeEvents(taskIDs{l.key.TaskID, l.contextID}, a.Events, said)
		if l.foldIsDue(len(a.Events), len(next.encoded)) {
			next.fold = writeTask(l.fold.Task())
		}
	}
	o := &l.store.options
	maxEvents := o.MaxLogEvents
	if a.Compact {
		maxEvents = 1
	}
	next.args = []any{
		l.name, a.After, next.last, next.token, next.encoded, state, place, next.fold,
		maxEvents, o.MaxLogBytes, millis(o.keyTTL()), holdChanges[a.Hold], string(a.Replica), t.descriptor,
		t.message, t.claim, store.MaxTaskClaims, l.tokenAt(a.After), o.MaxTasks, o.MaxBytes, millis(o.endedTTL()),
	}
	return next, nil
}

// Bounds of the events after a fold.
const (
	// minUnfolded is the least number of bytes after which a small task is folded again.
	minUnfolded = 64 << 10
	// unfoldedShare divides the bounds of the log: the events after a fold may take a quarter
	// of each bound.
	unfoldedShare = 4
)

// foldIsDue reports whether an append with a number of events and bytes stores a fold. It
// does if the events after the last fold, with the appended ones, have more bytes than the
// task and than minUnfolded, or more than a quarter of a bound of the log. All folds of a
// task together therefore cost about as much as its log.
func (l *log) foldIsDue(events, bytes int) bool {
	o := &l.store.options
	limit := min(max(minUnfolded, l.fold.Size()), o.MaxLogBytes/unfoldedShare)
	return l.seq > l.foldedUpTo &&
		(l.unfolded+bytes > limit || int(l.seq-l.foldedUpTo)+events > o.MaxLogEvents/unfoldedShare) // the limits of the log bound it
}

// finishAppend updates the log in memory after an append returned err, and returns
// err.
func (l *log) finishAppend(next *pendingAppend, err error) error {
	switch {
	case err == nil:
		dropMemories(l.applyAppend(next))
	case errors.Is(err, store.ErrFull), errors.Is(err, store.ErrHeld), errors.Is(err, store.ErrNoLease):
	case errors.Is(err, store.ErrNotFound):
		l.end(store.ErrNotFound)
	case errors.Is(err, store.ErrRolledBack):
		l.end(store.ErrRolledBack)
	default:
		l.mu.Lock()
		l.indeterminate++
		l.wroteLast = l.wroteLast && !errors.Is(err, store.ErrConflict)
		l.mu.Unlock()
		if !errors.Is(err, store.ErrConflict) {
			l.store.follower.refresh(l)
		}
	}
	return err
}

// applyAppend adds the events of an append that Redis has stored.
func (l *log) applyAppend(next *pendingAppend) (victims []*log) {
	if len(next.events) == 0 {
		return nil // only the hold changed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// If the condition is false, the follower has already read the events from Redis, or the
	// memory was dropped.
	if l.fold != nil && l.seq == next.after {
		l.add(next.events)
		l.wroteLast = true
		l.lastToken = next.token
		l.unfolded += len(next.encoded)
		if next.fold != nil {
			l.foldedUpTo = next.after
			l.unfolded = len(next.encoded)
		}
		victims = l.charge()
	}
	l.wake()
	return victims
}

// shareStatusMessages replaces the message of each status by the message of the status
// before, if both are equal. Fold and encoder recognize an unchanged message by its pointer.
func shareStatusMessages(events []a2a.Event, said *a2a.Message) {
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
