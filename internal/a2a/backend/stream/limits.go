// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// Limits bounds the duration and the size of a turn. A zero field has its default.
type Limits struct {
	// Connect bounds the time until the agent accepts a connection, 5 s by default.
	Connect time.Duration
	// FirstEvent bounds the wait for the first byte of a response, 2 min by default.
	FirstEvent time.Duration
	// Idle bounds the time between two reads of a response, 5 min by default. It does not
	// run while the agent waits for its client.
	Idle time.Duration
	// Turn bounds the whole turn, 1 h by default.
	Turn time.Duration
	// MaxEvent bounds one event, one JSON response and one file, in bytes; 2.5 MiB by
	// default. The base64 encoding of 2.5 MiB is smaller than 4 MiB, the limit of many
	// clients.
	MaxEvent int
	// MaxAnswer bounds one response, in bytes; 32 MiB by default.
	MaxAnswer int64
}

// Watchdog cancels the context of a turn that exceeds a limit of time. The cause of the
// context is the failure of the turn. One timer enforces all limits. Recording activity is
// cheap because it does not reset the timer. When the timer fires, the watchdog compares
// the time of the last activity with the limits. It then sets the timer to the next moment
// at which a limit may be exceeded.
type Watchdog struct {
	limits *Limits
	cancel context.CancelCauseFunc

	mu sync.Mutex
	// timer is nil after the end of the turn.
	timer *time.Timer
	// lastActivity is zero before the first activity.
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

func machineTime() time.Time { return time.Now() } //nolint:forbidigo // timers use the clock of the machine

// RecordActivity records that a part of the response arrived. It does nothing for a nil
// watchdog.
func (w *Watchdog) RecordActivity() {
	if w == nil {
		return
	}
	now := machineTime()
	w.mu.Lock()
	w.lastActivity = now
	w.mu.Unlock()
}

// Pause suspends all limits except Turn while the agent waits for its client, and resumes
// them afterwards. Only the goroutine that reads the response calls it.
func (w *Watchdog) Pause(paused bool) {
	if w.paused == paused {
		return // needs no lock: only this goroutine writes paused
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !paused {
		w.lastActivity = machineTime()
	}
	w.paused = paused
}

// check is called when the timer fires.
func (w *Watchdog) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		return
	}
	now := machineTime()
	left, reason := w.remaining(now)
	if left > 0 {
		// RecordActivity does not reset the timer, and the next activity may begin an Idle
		// limit, so the timer must fire within Idle.
		w.timer.Reset(min(left, w.limits.Idle))
		return
	}
	w.timer = nil
	w.cancel(backend.Failed(reason, nil))
}

// remaining returns the time until the turn exceeds a limit, and the failure of the limit
// that it exceeds first.
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
