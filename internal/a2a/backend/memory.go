// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"context"
	"fmt"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// memoryTimeout is how long a turn waits for memory. It exceeds the time of a request in the
// budgets of bodies and answers, because the work of the agent would be lost.
const memoryTimeout = 30 * time.Second

// NewMemory returns the budget of bytes that all turns share for their events. The number of turns
// bounds those that wait for it.
func NewMemory(bytes int64) *limit.Budget {
	const anyNumber = 1 << 32
	return limit.NewBudget(bytes, memoryTimeout).Waiters(anyNumber)
}

// Memory is the memory that one turn has reserved: first for its request to the agent, as far as
// the request contains more than the message, and then for events of the agent. One goroutine at a
// time may use it.
type Memory struct {
	Budget      *limit.Budget
	Principal   a2a.AccountingPrincipal
	reservation limit.Reservation
}

// Reserve changes the reservation to a total number of bytes, see Turn.Reserve.
func (m *Memory) Reserve(ctx context.Context, bytes int64) error {
	if bytes < m.reservation.Held() {
		m.reservation.Release()
	}
	switch {
	case bytes == 0 || m.Budget.TryGrow(&m.reservation, m.Principal, bytes):
		return nil
	case bytes > m.Budget.Largest():
		return Failed(fmt.Sprintf("The turn needs %d KiB of memory for tasks, history or an event, and the memory limit of the sidecar allows %d KiB", bytes>>10, m.Budget.Largest()>>10), nil)
	case m.Budget.Grow(ctx, &m.reservation, m.Principal, bytes):
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("reserve memory: %w", context.Cause(ctx))
	default:
		return Failed("All memory for events of the agent is in use; try again", nil)
	}
}

// ReserveRequest reserves memory for the request of a turn to the agent, as far as it contains more
// than the message. The engine counts the references no longer then.
func (m *Memory) ReserveRequest(ctx context.Context, t *Turn) error {
	err := m.Reserve(ctx, t.SizeBesideMessage())
	if err == nil && t.Counted != nil {
		t.Counted()
	}
	return err
}

// SizeBesideMessage returns the size of the task, the history and the references of the turn, in bytes.
func (t *Turn) SizeBesideMessage() int64 {
	size := t.Task.Size()
	for _, message := range Newest(t.History) {
		size += message.Size()
	}
	for _, referenced := range t.References {
		size += referenced.Size()
	}
	return int64(size)
}

// Release releases the reservation.
func (m *Memory) Release() { m.reservation.Release() }
