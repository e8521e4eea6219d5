// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package coordination

import (
	"context"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Single is the Coordinator of an engine that shares its store with no other. It passes
// writes to the store unchanged, and ignores appends without events, which would change only
// the hold.
type Single struct{ Store store.Store }

var _ Coordinator = Single{}

// Start implements Lease.
func (Single) Start(Host) {}

// Stop implements Lease.
func (Single) Stop(context.Context) {}

// Exclusive implements Lease.
func (Single) Exclusive() bool { return true }

// Fenced implements Lease.
func (Single) Fenced() bool { return false }

// Term implements Lease.
func (Single) Term() uint64 { return 0 }

// Interrupt implements Lease.
func (Single) Interrupt() {}

// Owner implements Ownership.
func (Single) Owner(context.Context, store.Key) (Owner, error) { return Owner{}, nil }

// Waiting implements Messages. No task is taken over.
func (Single) Waiting(context.Context, store.Key) ([]store.WaitingMessage, error) { return nil, nil }

// Create implements Ownership.
func (s Single) Create(ctx context.Context, n store.NewTask, _ uint64) (store.Log, error) {
	return s.Store.Create(ctx, n)
}

// Begin implements Ownership.
func (Single) Begin(ctx context.Context, _ store.Key, log store.Log, a store.Append) (uint64, error) {
	return log.Append(ctx, a)
}

// RefuseTurn implements Ownership. No other replica runs the turn.
func (Single) RefuseTurn(store.Key) {}

// Append implements Ownership.
func (Single) Append(ctx context.Context, log store.Log, a store.Append) (uint64, error) {
	if len(a.Events) == 0 {
		return a.After, nil
	}
	return log.Append(ctx, a)
}

// AppendJournal implements Journals.
func (Single) AppendJournal(ctx context.Context, log store.Log, a store.JournalAppend) error {
	return log.AppendJournal(ctx, a)
}

// RequestReview implements Ownership.
func (Single) RequestReview(context.Context, Owner, store.Key) {}

// Claim implements Messages.
func (Single) Claim(context.Context, ClaimRequest) (Claimed, error) {
	return Claimed{Mine: true, Release: func() {}}, nil
}

// Forward implements Messages. An engine forwards only to replicas that Owner or Claim
// returns, and Single returns none.
func (Single) Forward(Forwarded, func(context.Context, Outcome, error)) error { return errMoving() }
