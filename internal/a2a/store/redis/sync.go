// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// sync reads what the log does not know yet. Several may run at once.
func (l *log) sync(ctx context.Context) error {
	for {
		known, doubts := l.known()
		reply, err := l.store.calls.run(ctx, l.store.scripts.load, l.name, known, millis(l.store.options.Retention))
		if err != nil {
			return err
		}
		done, err := l.learn(reply, known, doubts)
		if done || err != nil {
			return err
		}
	}
}

func (l *log) known() (seq, doubts uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fold == nil {
		return 0, l.doubts
	}
	return l.seq, l.doubts
}

// learn takes what load.lua answered to who knew that much. It is not done when
// the memory was taken meanwhile.
func (l *log) learn(reply any, known, doubts uint64) (done bool, err error) {
	if reply == nil {
		l.vanish()
		return true, store.ErrNotFound
	}
	n, err := l.readNews(reply)
	if err != nil {
		return true, err
	}
	l.mu.Lock()
	victims, done, err := l.apply(n, known, doubts)
	l.mu.Unlock()
	shed(victims)
	return done, err
}

// news is where a log stands, behind a fold or behind what is known.
type news struct {
	seq, from uint64
	contextID string
	fold      *store.Fold
	events    []a2a.Event
	repeats   []bool
	bytes     int
}

func (l *log) readNews(reply any) (*news, error) {
	a := answerOf(reply)
	n := &news{seq: a.number(), contextID: a.text()}
	dialect := a.number()
	n.from = a.number()
	encoded := a.text()
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
		n.fold = store.NewFold(l.key.TaskID, store.Origin{ContextID: n.contextID, Dialect: a2a.Dialect(dialect)}) //nolint:gosec // as written
	}
	for a.more() {
		_, encoded := a.entry(), a.text()
		events, repeats, err := readEvents(home{l.key.TaskID, n.contextID}, []byte(encoded))
		if err != nil {
			return nil, err
		}
		n.events, n.repeats = append(n.events, events...), append(n.repeats, repeats...)
		n.bytes += len(encoded)
	}
	if a.err != nil {
		return nil, a.err
	}
	// An entry may begin before what was asked for.
	if extra := uint64(len(n.events)) - min(uint64(len(n.events)), n.seq-min(n.seq, n.from)); extra > 0 {
		n.events, n.repeats = n.events[extra:], n.repeats[extra:]
	}
	if n.from+uint64(len(n.events)) != n.seq {
		return nil, errForm
	}
	return n, nil
}

func (l *log) apply(n *news, known, doubts uint64) (victims []*log, done bool, err error) {
	if l.gone {
		return nil, true, store.ErrNotFound
	}
	// A server that has lost events is behind what was known.
	lost := known > n.seq
	switch {
	case n.fold != nil && (l.fold == nil || lost || l.seq < n.from):
		l.forget()
		l.fold, l.seq, l.contextID = n.fold, n.from, n.contextID
		l.stored, l.unfolded, l.own = n.from, 0, false
	case l.fold == nil:
		return nil, false, nil
	}
	for i := range n.events {
		if n.from+uint64(i)+1 != l.seq+1 {
			continue
		}
		if e := &n.events[i]; n.repeats[i] && l.fold.Said() != nil {
			e.Status.Status.Message = l.fold.Said()
		}
		l.add(n.events[i : i+1])
		l.own = false
	}
	l.unfolded += n.bytes
	if l.sure < doubts {
		l.sure = doubts
	}
	victims = l.charge()
	if l.seq != known {
		l.wake()
	}
	return victims, true, nil
}
