// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Token is the idempotency token of a creation or an append. The caller makes one
// with NewToken for each write that it may have to repeat, and repeats the write
// with the same token. The zero token means that the caller never repeats the write.
type Token uint64

// NewToken returns a random token. It is not secret: a store compares it with the
// token of the one write at the same place of the same log.
func NewToken() Token { return Token(rand.Uint64() | 1) } //nolint:gosec // not secret

// Write contains the fields that creations and appends have in common.
type Write struct {
	Token Token
	// Repeat is true when an earlier call with the token returned ErrIndeterminate.
	// The events must be the same.
	Repeat bool
	// RetryFor is how long the store retries the write during an outage; 0 means the
	// default of the store.
	RetryFor time.Duration
	// Replica is the caller, for writes that require or change the hold. Turn is the turn
	// descriptor that a write stores when it takes the hold; nil stores the zero value. Stores
	// that are not shared ignore both.
	Replica Replica
	Turn    *TurnDescriptor
}

// NewTask is the creation of a task. If Replica is set, that replica holds the task,
// unless the events end the task.
type NewTask struct {
	Key
	Origin
	// Events are numbered from 1.
	Events []a2a.Event
	Write
}

// Append is an append to the log of a task.
type Append struct {
	// After is the number of the last event of the log. The log takes ownership of
	// the values to which the events point, but not of the slice Events, and sets the
	// index of artifact updates.
	After  uint64
	Events []a2a.Event
	// Hold is the effect of the append on the hold on the task, in the same step.
	// Stores that are not shared ignore it.
	Hold HoldChange
	// Waiting changes the messages that wait for a turn of the task, in the same step;
	// nil for no change. Stores that are not shared ignore it.
	Waiting *WaitingChange
	// Compact drops the events of the log that the fold includes, for a log without subscribers.
	Compact bool
	Write
}

// The time between two attempts doubles from FirstRetry to LastRetry.
const (
	FirstRetry = 20 * time.Millisecond
	LastRetry  = time.Second
)

// Retry calls attempt until it returns nil or an error that is not ErrUnavailable.
// It waits between two attempts, with exponential backoff from FirstRetry to LastRetry. When
// ctx ends, it returns the error of the last attempt.
func Retry(ctx context.Context, attempt func() error) error {
	for wait := FirstRetry; ; wait = min(2*wait, LastRetry) {
		err := attempt()
		if !errors.Is(err, ErrUnavailable) {
			return err
		}
		Sleep(ctx, wait)
		if ctx.Err() != nil {
			return err
		}
	}
}

// Sleep waits for a duration, or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// RetryWrite is Retry for the attempts of one write with one token; repeat is Write.Repeat.
// An attempt that returned ErrUnavailable is unanswered: the store may have stored the
// write, or may store it later. If the last attempt was unanswered, RetryWrite returns
// ErrIndeterminate.
//
// After an unanswered attempt, or with repeat, two errors do not show the outcome:
//
//   - ErrFull: a full store refuses a write before it compares the token. RetryWrite retries.
//   - ErrTrimmed: a log that has dropped the events at the place of the write cannot compare
//     the token. RetryWrite returns ErrIndeterminate.
//
// Otherwise, ErrTrimmed means that the log has newer events, and RetryWrite returns
// ErrConflict.
func RetryWrite(ctx context.Context, repeat bool, attempt func() error) error {
	unanswered := repeat
	err := Retry(ctx, func() error {
		err := attempt()
		if unanswered && errors.Is(err, ErrFull) {
			return ErrUnavailable
		}
		unanswered = unanswered || errors.Is(err, ErrUnavailable)
		return err
	})
	switch {
	case errors.Is(err, ErrUnavailable), unanswered && errors.Is(err, ErrTrimmed):
		return fmt.Errorf("%w: %w", ErrIndeterminate, err)
	case errors.Is(err, ErrTrimmed):
		return ErrConflict
	default:
		return err
	}
}
