// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// watchdog cancels a turn that takes too long, with the failure as the cause.
type watchdog struct {
	first, idle, turn *time.Timer
	silence           time.Duration
	cancel            context.CancelCauseFunc
}

func watch(o *Options, cancel context.CancelCauseFunc) *watchdog {
	after := func(d time.Duration, reason string) *time.Timer {
		return time.AfterFunc(d, func() { cancel(backend.Failed(reason+d.String(), nil)) })
	}
	return &watchdog{
		first:   after(o.FirstEvent, "The agent did not answer within "),
		turn:    after(o.Turn, "The agent did not finish within "),
		silence: o.Idle,
		cancel:  cancel,
	}
}

// heard is called for every sign of life in an answer.
func (w *watchdog) heard() {
	if w.idle != nil {
		w.idle.Reset(w.silence)
		return
	}
	w.first.Stop()
	w.idle = time.AfterFunc(w.silence, func() {
		w.cancel(backend.Failed("The agent was silent for "+w.silence.String(), nil))
	})
}

// rest lets an agent wait for its client as long as the turn may last.
func (w *watchdog) rest() {
	if w.idle != nil {
		w.idle.Stop()
	}
}

func (w *watchdog) stop() {
	w.first.Stop()
	w.turn.Stop()
	w.rest()
}
