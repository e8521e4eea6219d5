// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// Watchdog cancels a turn that takes too long, with the failure as the cause.
// One timer looks after all limits. It is not touched by what the agent says:
// it finds out when it was heard last, and comes again when it may have been
// silent for too long since.
type Watchdog struct {
	limits *Limits
	cancel context.CancelCauseFunc

	mu sync.Mutex
	// timer is nil when the turn is over.
	timer *time.Timer
	// heard is when the last sign of life came; zero before the first.
	start, lastActivity time.Time
	paused              bool
}

func newWatchdog(l *Limits, cancel context.CancelCauseFunc) *Watchdog {
	w := &Watchdog{limits: l, cancel: cancel, start: machineTime()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(min(l.FirstEvent, l.Turn, l.Idle), w.check)
	return w
}

func machineTime() time.Time { return time.Now() } //nolint:forbidigo // of the machine, as timers are

// Heard is called for every sign of life in an answer. A nil watchdog watches
// nothing.
func (w *Watchdog) RecordActivity() {
	if w == nil {
		return
	}
	now := machineTime()
	w.mu.Lock()
	w.lastActivity = now
	w.mu.Unlock()
}

// Pause lets an agent wait for its client as long as the turn may last, or
// takes that back.
func (w *Watchdog) Pause(paused bool) {
	if w.paused == paused {
		return // who reads the answer is the only one to change it
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !paused {
		w.lastActivity = machineTime()
	}
	w.paused = paused
}

// look is the timer's.
func (w *Watchdog) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		return
	}
	now := machineTime()
	left, reason := w.remaining(now)
	if left > 0 {
		// What comes now is followed by a silence that is over no sooner.
		w.timer.Reset(min(left, w.limits.Idle))
		return
	}
	w.timer = nil
	w.cancel(backend.Failed(reason, nil))
}

// left is how long the turn has at least, and why it has no longer.
func (w *Watchdog) remaining(now time.Time) (left time.Duration, reason string) {
	left, reason = w.limits.Turn-now.Sub(w.start), "The agent did not finish within "+w.limits.Turn.String()
	switch {
	case w.paused:
	case w.lastActivity.IsZero():
		if first := w.limits.FirstEvent - now.Sub(w.start); first < left {
			return first, "The agent did not answer within " + w.limits.FirstEvent.String()
		}
	default:
		if silence := w.limits.Idle - now.Sub(w.lastActivity); silence < left {
			return silence, "The agent was silent for " + w.limits.Idle.String()
		}
	}
	return left, reason
}

func (w *Watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}
