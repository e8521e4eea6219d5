// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// Watchdog cancels a turn that takes too long, with the failure as the cause.
// It belongs to the goroutine that reads the answer.
type Watchdog struct {
	first, idle, turn *time.Timer
	silence           time.Duration
	cancel            context.CancelCauseFunc
	paused            bool
}

func watch(l *Limits, cancel context.CancelCauseFunc) *Watchdog {
	after := func(d time.Duration, reason string) *time.Timer {
		return time.AfterFunc(d, func() { cancel(backend.Failed(reason+d.String(), nil)) })
	}
	return &Watchdog{
		first:   after(l.FirstEvent, "The agent did not answer within "),
		turn:    after(l.Turn, "The agent did not finish within "),
		silence: l.Idle,
		cancel:  cancel,
	}
}

// Heard is called for every sign of life in an answer. A nil watchdog watches
// nothing.
func (w *Watchdog) Heard() {
	switch {
	case w == nil || w.paused:
	case w.idle != nil:
		w.idle.Reset(w.silence)
	default:
		w.first.Stop()
		w.idle = time.AfterFunc(w.silence, func() {
			w.cancel(backend.Failed("The agent was silent for "+w.silence.String(), nil))
		})
	}
}

// Pause lets an agent wait for its client as long as the turn may last, or
// takes that back.
func (w *Watchdog) Pause(paused bool) {
	waited := w.paused
	w.paused = paused
	switch {
	case paused:
		w.rest()
	case waited:
		w.Heard()
	}
}

func (w *Watchdog) rest() {
	if w.idle != nil {
		w.idle.Stop()
	}
}

func (w *Watchdog) stop() {
	w.first.Stop()
	w.turn.Stop()
	w.rest()
}
