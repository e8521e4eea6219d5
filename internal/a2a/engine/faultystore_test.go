// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// fault is a failure of the connection of a replica to the store.
type fault uint32

const (
	// storeDown means that no call reaches the store.
	storeDown fault = 1 << iota
	// responseLost means that creations, appends and posts are stored, and their
	// responses are lost.
	responseLost
	// claimResponseLost means that claims are stored, and their responses are lost.
	claimResponseLost
	// appendsFail means that no creation and no append of a run reaches the store.
	appendsFail
	// appendsFailAfterCreate means that appendsFail begins with the next task that is created.
	appendsFailAfterCreate
	// storeFull means that the store has no room for creations and appends of runs.
	storeFull
	// openFails means that no log can be opened.
	openFails
	// recallFails means that no conversation can be read.
	recallFails
	// postFails means that no message to another replica reaches the store.
	postFails
	// openFailsAfterPost means that openFails begins with the next message to another
	// replica.
	openFailsAfterPost
	// inboxLost means that received messages are lost.
	inboxLost
	// readsLag means that reads of a log return no event after the last event that the
	// replica has appended or read in a snapshot.
	readsLag
	// rolledBack means that the store has lost events of the logs that were opened before
	// rollBack, and reports the loss.
	rolledBack
	// renewFails means that the lease is not renewed.
	renewFails
	// logsAreLarge means that a reader needs largeLog bytes for each log that it opens.
	logsAreLarge
	// readsAreLarge means that a reader needs largeLog bytes for each read of a log.
	readsAreLarge
)

const largeLog = 128 << 10

// failure lists the faults that affect an operation: with before, the call does not reach
// the store; with after, its response is lost.
type failure struct{ before, after fault }

// failures lists the faults by the methods of store.Member and store.Log.
var failures = map[string]failure{
	"Append":   {before: storeDown | appendsFail, after: responseLost},
	"Claim":    {before: storeDown, after: claimResponseLost},
	"Holder":   {before: storeDown},
	"Leave":    {before: storeDown},
	"Open":     {before: storeDown | openFails},
	"Post":     {before: storeDown | postFails, after: responseLost},
	"Read":     {before: storeDown},
	"Recall":   {before: storeDown | recallFails},
	"Renew":    {before: storeDown | renewFails},
	"Snapshot": {before: storeDown},
	"Waiting":  {before: storeDown},
	// CancelAppend is the append of a cancel, which does not require the hold.
	"CancelAppend": {before: storeDown},
}

// faultyMember is a store.Member whose connection has faults.
type faultyMember struct {
	store.Member
	faults atomic.Uint32
	// rollbacks counts the calls of rollBack.
	rollbacks atomic.Int64
	// appends counts the attempted appends of holders.
	appends atomic.Int64
}

func (m *faultyMember) set(f fault)      { m.faults.Or(uint32(f)) }
func (m *faultyMember) clear(f fault)    { m.faults.And(^uint32(f)) }
func (m *faultyMember) has(f fault) bool { return m.faults.Load()&uint32(f) != 0 }

// rollBack makes all open logs fail, as after the loss of events in the store.
func (m *faultyMember) rollBack() {
	m.rollbacks.Add(1)
	m.set(rolledBack)
}

// setEither sets the fault one if first is true, and otherwise the fault other.
func (m *faultyMember) setEither(first bool, one, other fault) {
	if !first {
		one = other
	}
	m.set(one)
}

// withFaults calls an operation of the store, unless a fault prevents the call or loses its
// response.
func withFaults[T any](m *faultyMember, operation string, call func() (T, error)) (T, error) {
	var none T
	if m.has(failures[operation].before) {
		return none, errOutage
	}
	result, err := call()
	if err == nil && m.has(failures[operation].after) {
		return result, errOutage
	}
	return result, err
}

// write makes the attempts of a creation or an append. If w.RetryFor is 0, it makes one
// attempt.
func (m *faultyMember) write(ctx context.Context, w *store.Write, attempt func() error) error {
	ctx, cancel := context.WithTimeout(ctx, w.RetryFor)
	defer cancel()
	operation := "Append"
	if w.Replica == "" {
		operation = "CancelAppend"
	}
	return store.RetryWrite(ctx, w.Repeat, func() error {
		_, err := withFaults(m, operation, func() (any, error) {
			if w.Replica != "" && m.has(storeFull) {
				return nil, store.ErrFull
			}
			err := attempt()
			w.Repeat = w.Repeat || err == nil // the store has it, and a later attempt is a repeat
			return nil, err
		})
		return err
	})
}

func (m *faultyMember) Create(ctx context.Context, n store.NewTask) (log store.Log, err error) {
	err = m.write(ctx, &n.Write, func() (err error) {
		log, err = m.Member.Create(ctx, n)
		return err
	})
	if err != nil {
		return nil, err
	}
	if m.has(appendsFailAfterCreate) {
		m.set(appendsFail)
	}
	return &faultyLog{Log: log, member: m, opened: m.rollbacks.Load()}, nil
}

func (m *faultyMember) Open(ctx context.Context, k store.Key) (store.Log, error) {
	return withFaults(m, "Open", func() (store.Log, error) {
		if m.has(logsAreLarge) {
			if err := store.ReserveLoad(ctx, largeLog); err != nil {
				return nil, err
			}
		}
		log, err := m.Member.Open(ctx, k)
		if err != nil {
			return nil, err
		}
		return &faultyLog{Log: log, member: m, opened: m.rollbacks.Load()}, nil
	})
}

func (m *faultyMember) Renew(ctx context.Context, lease time.Duration) ([]store.Key, error) {
	return withFaults(m, "Renew", func() ([]store.Key, error) {
		held, err := m.Member.Renew(ctx, lease)
		if err == nil && m.has(rolledBack) {
			err = store.ErrRolledBack
		}
		return held, err
	})
}

func (m *faultyMember) Leave(ctx context.Context) error {
	_, err := withFaults(m, "Leave", func() (any, error) { return nil, m.Member.Leave(ctx) })
	return err
}

func (m *faultyMember) Post(ctx context.Context, to store.Replica, message *store.InboxMessage) (string, error) {
	return withFaults(m, "Post", func() (string, error) {
		if m.has(openFailsAfterPost) {
			m.set(openFails)
		}
		return m.Member.Post(ctx, to, message)
	})
}

func (m *faultyMember) Claim(ctx context.Context, message string, c store.MessageClaim, window time.Duration) (store.MessageClaim, error) {
	return withFaults(m, "Claim", func() (store.MessageClaim, error) { return m.Member.Claim(ctx, message, c, window) })
}

func (m *faultyMember) Receive(ctx context.Context) ([]*store.InboxMessage, error) {
	messages, err := m.Member.Receive(ctx)
	if m.has(inboxLost) {
		messages = nil
	}
	return messages, err
}

func (m *faultyMember) Recall(ctx context.Context, c store.Conversation) ([]*a2a.Message, error) {
	return withFaults(m, "Recall", func() ([]*a2a.Message, error) { return m.Member.Recall(ctx, c) })
}

func (m *faultyMember) Waiting(ctx context.Context, k store.Key) ([]store.WaitingMessage, error) {
	return withFaults(m, "Waiting", func() ([]store.WaitingMessage, error) { return m.Member.Waiting(ctx, k) })
}

func (m *faultyMember) Holder(ctx context.Context, k store.Key) (store.Hold, error) {
	return withFaults(m, "Holder", func() (store.Hold, error) {
		hold, err := m.Member.Holder(ctx, k)
		hold.RolledBack = m.has(rolledBack)
		return hold, err
	})
}

// faultyLog is a log of a faultyMember.
type faultyLog struct {
	store.Log
	member *faultyMember
	// opened is the number of rollbacks before the log was opened.
	opened int64
	// last is the number of the last event that the replica has appended or read in a
	// snapshot.
	last atomic.Uint64
}

// lost returns ErrRolledBack if the store has lost events of the log.
func (l *faultyLog) lost() error {
	if l.opened < l.member.rollbacks.Load() {
		return store.ErrRolledBack
	}
	return nil
}

func (l *faultyLog) Append(ctx context.Context, a store.Append) (seq uint64, err error) {
	if err := l.lost(); err != nil {
		return 0, err
	}
	if a.Hold != store.AnyHolder {
		l.member.appends.Add(1)
	}
	err = l.member.write(ctx, &a.Write, func() (err error) {
		seq, err = l.Log.Append(ctx, a)
		return err
	})
	if err == nil {
		l.last.Store(seq)
	}
	return seq, err
}

func (l *faultyLog) Snapshot(ctx context.Context) (*a2a.Record, error) {
	return withFaults(l.member, "Snapshot", func() (*a2a.Record, error) {
		if err := l.lost(); err != nil {
			return nil, err
		}
		record, err := l.Log.Snapshot(ctx)
		if err == nil {
			l.last.Store(record.Seq)
		}
		return record, err
	})
}

func (l *faultyLog) Read(ctx context.Context, dst []*a2a.Record, after uint64) ([]*a2a.Record, error) {
	return withFaults(l.member, "Read", func() ([]*a2a.Record, error) {
		if err := l.lost(); err != nil {
			return dst, err
		}
		if l.member.has(readsLag) && after >= l.last.Load() {
			return dst, nil
		}
		if l.member.has(readsAreLarge) {
			if err := store.ReserveLoad(ctx, largeLog); err != nil {
				return dst, err
			}
		}
		return l.Log.Read(ctx, dst, after)
	})
}
