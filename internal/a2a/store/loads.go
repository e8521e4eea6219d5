// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// Loads is the memory for what readers read from the server of a store, and keep until they have used it. A nil *Loads has no
// bound. It is safe for concurrent use.
type Loads struct{ budget *limit.Budget }

// loadTimeout is how long a reader waits for memory.
const loadTimeout = time.Second

// NewLoads returns Loads of a number of bytes.
func NewLoads(bytes int64) *Loads { return &Loads{limit.NewBudget(bytes, loadTimeout)} }

// Reader returns a reader for an owner of tasks, which holds no memory yet.
func (l *Loads) Reader(owner a2a.Owner) *Reader {
	if l == nil {
		return nil
	}
	return &Reader{budget: l.budget, principal: a2a.AccountingPrincipal{Principal: owner.Principal()}}
}

// Reader is one use of a store. A nil *Reader reserves nothing. It is safe for concurrent use.
type Reader struct {
	budget    *limit.Budget
	principal a2a.AccountingPrincipal

	mu          sync.Mutex
	size        int64
	reservation limit.Reservation
}

type readerKey struct{}

// In returns a context in which the store reserves memory for what it reads.
func (r *Reader) In(ctx context.Context) context.Context {
	if r == nil {
		return ctx
	}
	return context.WithValue(ctx, readerKey{}, r)
}

// Release returns the memory of the reader. It may be called more than once.
func (r *Reader) Release() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.size = 0
	r.reservation.Release()
}

// ReserveLoad reserves memory for a number of bytes more for the reader in ctx. Without a reader, and for at most limit.Small bytes in
// all, it reserves nothing. It returns an *a2a.Error if there is no room in time.
func ReserveLoad(ctx context.Context, bytes int64) error {
	r, ok := ctx.Value(readerKey{}).(*Reader)
	if !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.size += bytes
	if r.size <= limit.Small {
		return nil
	}
	if !r.budget.Grow(ctx, &r.reservation, r.principal, min(r.size, r.budget.Largest())) {
		if err := ctx.Err(); err != nil {
			return err
		}
		return &a2a.Error{
			Reason: a2a.ReasonUnavailable, RetryAfter: loadTimeout,
			Message: "All memory for tasks that are read from the task store, or the caller's share of it, is in use; try again",
		}
	}
	return nil
}
