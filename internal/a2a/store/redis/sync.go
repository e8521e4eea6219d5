// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"fmt"
	"math"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// sync reads the events of the log that are not in memory yet. Several goroutines may
// call it concurrently.
func (l *log) sync(ctx context.Context) error {
	for {
		done, size, err := l.load(ctx, limit.Small)
		if err == nil && size > 0 {
			done, err = l.loadLarge(ctx, size)
		}
		if done || err != nil {
			return err
		}
	}
}

// load reads the events that are not in memory. If they have more than most bytes, it returns their size in place of them.
func (l *log) load(ctx context.Context, most int64) (done bool, size int64, err error) {
	known, indeterminate, token := l.known()
	o := &l.store.options
	reply, err := l.store.calls.run(ctx, l.store.scripts.load, l.name, known, millis(o.Retention), token, millis(o.keyTTL()), most)
	if err != nil {
		return false, 0, err
	}
	if size, is := reply.(int64); is && size > 0 {
		return false, size, nil
	}
	done, err = l.applyReply(reply, known, indeterminate)
	return done, 0, err
}

// loadCost is the cost of a byte of a reply: the reply, and what is decoded.
const loadCost = 2

// loadLarge reads a large number of bytes.
func (l *log) loadLarge(ctx context.Context, size int64) (done bool, err error) {
	release, err := l.acquireLarge(ctx, size)
	if err != nil {
		return false, err
	}
	defer release()
	done, _, err = l.load(ctx, math.MaxInt64)
	return done, err
}

// acquireLarge reserves memory for a large number of bytes, and waits for the turn to read them. One call at a time does so, because
// all callers together would need more memory than there is. The owners of tasks take turns.
func (l *log) acquireLarge(ctx context.Context, size int64) (release func(), err error) {
	if err := store.ReserveLoad(ctx, loadCost*size); err != nil {
		return nil, err
	}
	return l.store.acquireLoad(ctx, l.key.Owner)
}

// acquireLoad waits for the turn of an owner to read much from the server, until release is called.
func (s *Store) acquireLoad(ctx context.Context, owner a2a.Owner) (release func(), err error) {
	release, err = s.loads.Acquire(ctx, owner.Share())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return release, nil
}

func (l *log) known() (seq, indeterminate uint64, token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fold == nil {
		return 0, l.indeterminate, ""
	}
	return l.seq, l.indeterminate, l.lastToken
}

// tokenAt returns the token of the append that ends at the event numbered seq, "" if
// the token is not known. mu is held.
func (l *log) tokenAt(seq uint64) string {
	if l.seq != seq {
		return ""
	}
	return l.lastToken
}

// endOf ends the log if a reply of load.lua or range.lua reports that the task does
// not exist or has lost events. It returns the reason, nil otherwise.
func (l *log) endOf(reply any) error {
	var why error
	switch reply.(type) {
	case nil:
		why = store.ErrNotFound
	case int64:
		why = store.ErrRolledBack
	default:
		return nil
	}
	l.end(why)
	return why
}

// applyReply applies a reply of load.lua to the log. known is the number of the last event
// that the log had when the script was called, and indeterminate the value of
// log.indeterminate at that time. If the memory of the log was dropped meanwhile, done is
// false, and the caller calls the script again.
func (l *log) applyReply(reply any, known, indeterminate uint64) (done bool, err error) {
	if err := l.endOf(reply); err != nil {
		return true, err
	}
	n, err := l.decodeUpdate(reply)
	if err != nil {
		return true, err
	}
	l.mu.Lock()
	victims, done, err := l.apply(n, known, indeterminate)
	l.mu.Unlock()
	dropMemories(victims)
	return done, err
}

// update contains the events of a log after a fold, or after the events in memory.
type update struct {
	seq, from uint64
	contextID string
	// token is the token of the append that ends at seq.
	token   string
	fold    *store.Fold
	events  []a2a.Event
	repeats []bool
	bytes   int
}

func (l *log) decodeUpdate(reply any) (*update, error) {
	a := newReplyReader(reply)
	n := &update{seq: a.number(), contextID: a.text()}
	dialect := a.number()
	n.from = a.number()
	encoded := a.text()
	n.token = a.text()
	if a.err != nil {
		return nil, a.err
	}
	if encoded != "" {
		task, err := readTask([]byte(encoded))
		if err != nil {
			return nil, err
		}
		n.fold = store.Resume(task)
	} else if n.from == 0 {
		n.fold = store.NewFold(l.key.TaskID, store.Origin{ContextID: n.contextID, Dialect: a2a.Dialect(dialect)}) // the store has written the value
	}
	for a.more() {
		_ = a.entry()
		encoded := a.text()
		events, repeats, err := readEvents(taskIDs{l.key.TaskID, n.contextID}, []byte(encoded))
		if err != nil {
			return nil, err
		}
		n.events = append(n.events, events...)
		n.repeats = append(n.repeats, repeats...)
		n.bytes += len(encoded)
	}
	if a.err != nil {
		return nil, a.err
	}
	// An entry may begin before the first event that was requested.
	if extra := uint64(len(n.events)) - min(uint64(len(n.events)), n.seq-min(n.seq, n.from)); extra > 0 {
		n.events = n.events[extra:]
		n.repeats = n.repeats[extra:]
	}
	if n.from+uint64(len(n.events)) != n.seq {
		return nil, errFormat
	}
	return n, nil
}

func (l *log) apply(n *update, known, indeterminate uint64) (victims []*log, done bool, err error) {
	if l.ended != nil {
		return nil, true, l.ended
	}
	switch {
	case n.fold != nil && (l.fold == nil || l.seq < n.from):
		l.dropMemory()
		l.fold = n.fold
		l.seq = n.from
		l.contextID = n.contextID
		l.foldedUpTo = n.from
		l.unfolded = 0
		l.wroteLast = false
	case l.fold == nil:
		return nil, false, nil
	}
	for i := range n.events {
		if n.from+uint64(i)+1 != l.seq+1 {
			continue
		}
		if e := &n.events[i]; n.repeats[i] && l.fold.StatusMessage() != nil {
			e.Status.Status.Message = l.fold.StatusMessage()
		}
		l.add(n.events[i : i+1])
		l.wroteLast = false
	}
	if l.seq == n.seq {
		l.lastToken = n.token
	}
	l.unfolded += n.bytes
	if l.resolved < indeterminate {
		l.resolved = indeterminate
	}
	victims = l.charge()
	if l.seq != known {
		l.wake()
	}
	return victims, true, nil
}

// lock locks the log and returns nil. If the log is not in memory or an outcome is unknown,
// it first reads the log. It returns an error, without the lock, if the log has ended or
// cannot be read.
func (l *log) lock(ctx context.Context) error {
	for {
		l.mu.Lock()
		switch {
		case l.ended != nil:
			defer l.mu.Unlock()
			return l.ended
		case l.fold != nil && l.indeterminate == l.resolved:
			return nil
		}
		l.mu.Unlock()
		if err := l.sync(ctx); err != nil {
			return err
		}
	}
}
