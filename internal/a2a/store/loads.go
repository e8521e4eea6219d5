// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// Loads is the memory for what readers read from the server of a store, and keep until they have used it. A nil *Loads has no
// bound. It is safe for concurrent use.
type Loads struct {
	// all is the memory, and kept the half of it that readers may have that keep all that they read.
	all, kept *limit.Budget
}

// loadTimeout is how long a reader waits for memory.
const loadTimeout = time.Second

// NewLoads returns Loads of a number of bytes.
func NewLoads(bytes int64) *Loads {
	return &Loads{all: limit.NewBudget(bytes, loadTimeout), kept: limit.NewBudget(bytes/2, loadTimeout)}
}

// Reader returns a reader for an owner of tasks, which holds no memory yet.
func (l *Loads) Reader(owner a2a.Owner) *Reader {
	if l == nil {
		return nil
	}
	return &Reader{loads: l, principal: a2a.AccountingPrincipal{Principal: owner.Principal()}}
}

// Reader is one use of a store. A nil *Reader reserves nothing. It is safe for concurrent use.
type Reader struct {
	loads     *Loads
	principal a2a.AccountingPrincipal

	mu        sync.Mutex
	size      int64
	all, kept limit.Reservation
	// isWhole is true if the reader keeps all that it reads.
	isWhole bool
	// isPrompt is true if the reader does not wait for memory.
	isPrompt bool
}

type readerKey struct{}

// In returns a context in which the store reserves memory for what it reads.
func (r *Reader) In(ctx context.Context) context.Context {
	if r == nil {
		return ctx
	}
	return context.WithValue(ctx, readerKey{}, r)
}

// InWhole does the same as In for a reader that keeps all that it reads. Such readers
// have half of the memory together. After the first task, the reader reads no more than fits into it.
func (r *Reader) InWhole(ctx context.Context) context.Context {
	if r != nil {
		r.isWhole = true
	}
	return r.In(ctx)
}

// InPromptly does the same as In for a reader that does not wait for memory.
func (r *Reader) InPromptly(ctx context.Context) context.Context {
	if r != nil {
		r.isPrompt = true
	}
	return r.In(ctx)
}

// Briefly returns a context with a reader for an owner, and the function that releases it. If ctx has a reader, that one goes on to hold
// what is read.
func (l *Loads) Briefly(ctx context.Context, owner a2a.Owner) (context.Context, func()) {
	if l == nil || ctx.Value(readerKey{}) != nil {
		return ctx, func() {}
	}
	r := l.Reader(owner)
	return r.In(ctx), r.Release
}

func (r *Reader) grow(ctx context.Context, budget *limit.Budget, held *limit.Reservation, to int64) bool {
	if r.isPrompt {
		return budget.TryGrow(held, r.principal, to)
	}
	return budget.Grow(ctx, held, r.principal, to)
}

// Release returns the memory of the reader. It may be called more than once.
func (r *Reader) Release() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.size = 0
	r.all.Release()
	r.kept.Release()
}

// ReserveLoad reserves memory for a number of bytes more for the reader in ctx. Without a reader, and for at most limit.Small bytes in
// all, it reserves nothing. It returns an *a2a.Error if there is no room in time, with RetryAfter if there may be room later.
func ReserveLoad(ctx context.Context, bytes int64) error {
	r, ok := ctx.Value(readerKey{}).(*Reader)
	if !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	size := r.size + bytes
	if size > limit.Small {
		if err := r.reserve(ctx, size, size > bytes); err != nil {
			return err
		}
	}
	r.size = size
	return nil
}

// reserve reserves memory for a number of bytes in all. further is true if the reader has read before. The caller holds the lock.
func (r *Reader) reserve(ctx context.Context, size int64, further bool) error {
	most := r.loads.all.Largest()
	if r.isWhole {
		most = r.loads.kept.Largest()
	}
	if r.isWhole && further && size > most {
		return &a2a.Error{
			Reason:  a2a.ReasonUnavailable,
			Message: fmt.Sprintf("The tasks together need %d KiB of memory, and the memory limit of the sidecar allows %d KiB; refer to fewer tasks", size>>10, most>>10),
		}
	}
	to := min(size, most)
	if r.isWhole && !r.grow(ctx, r.loads.kept, &r.kept, to) || !r.grow(ctx, r.loads.all, &r.all, to) {
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
