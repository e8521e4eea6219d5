// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"log/slog"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Options are what an engine works with. Zero means the default.
type Options struct {
	// Store and Backend are required.
	Store   store.Store
	Backend backend.Backend
	// Member is this replica's side of a store that others use, too. It takes
	// the place of Store. Nil when this process has the store for itself.
	Member store.Member
	// Lease is how long the others take this replica for alive without hearing of
	// it, 10 s by default.
	Lease time.Duration
	// OutagePatience is how long a run waits for a shared store to take what the
	// agent said, 30 s by default.
	OutagePatience time.Duration
	// Retry tells whether a turn that was interrupted is run again; nil is no.
	// MaxAttempts bounds how often in all, 3 by default.
	Retry       func() bool
	MaxAttempts int
	// Pushes keeps the push configurations that come with messages; nil refuses
	// them.
	Pushes Pushes
	// Turns bounds the turns that run; it may change at any time. Nil is 256, of
	// whomever, and nobody waits for a place.
	Turns func() TurnLimits
	// MaxWaiting bounds the messages that wait for one task, 8 by default.
	MaxWaiting int
	// DecideAfter is how long a turn may be silent before it becomes a task,
	// 1 s by default.
	DecideAfter time.Duration
	// BlockingCap bounds how long Send waits, 5 min by default; it then answers
	// with the task as it is.
	BlockingCap time.Duration
	// IdempotencyWindow returns how long a message is known from now on; 0 turns
	// deduplication off. Nil is a minute. MaxIdempotent bounds the
	// messages that this engine knows, 4,096 by default.
	IdempotencyWindow func() time.Duration
	MaxIdempotent     int
	// ContinuePaused tells whether a message that names a context and no task
	// continues the only paused task of its owner and context. Nil is no: it
	// begins a task.
	ContinuePaused func() bool
	// InputGrace is how long a run that paused may take to end before it is
	// taken to wait for its input, 100 ms by default. A run that said that it
	// waits is given none.
	InputGrace time.Duration
	// PageKey returns what proves page tokens. Engines that share a store share it;
	// nil makes
	// one that only this engine has.
	PageKey func(ctx context.Context) ([]byte, error)
	// InputTimeout tells how long a run that said that it waits for its client
	// may wait, 5 min by default. A request for input may ask for less.
	InputTimeout func() time.Duration
	// Observer counts; nil for none.
	Observer Observer
	// Log is told of failures that are not the client's, nor the agent's.
	Log *slog.Logger
	// Now is the clock.
	Now func() time.Time
}

// Pushes keeps push configurations.
type Pushes interface {
	// Check refuses a configuration that can never be used. It is called while
	// there may be no task, and may take its time.
	Check(ctx context.Context, config a2a.PushConfig) error
	// Attach adds a configuration to a task that exists, behind whose last event
	// nothing has happened: what is read from its log from now on is all that
	// the configuration is for. An error refuses the message.
	//
	// It is called under the task's lock: it must neither block nor call the
	// engine. It may use the store.
	Attach(ctx context.Context, k store.Key, config a2a.PushConfig) error
}

// Observer is told what happens, for metrics. Its methods must not block.
type Observer interface {
	// TurnStarted and TurnEnded enclose a turn. A turn that was answered
	// without a task counts as completed.
	TurnStarted()
	TurnEnded(state a2a.State, took time.Duration)
	// Refused counts messages for whose turn there was no place in time.
	Refused()
	// Appended counts events that went into a log, and Dropped those of agents
	// whose task or turn had ended.
	Appended(events int)
	Dropped(events int)
}

func (o *Options) setDefaults() {
	if o.Turns == nil {
		o.Turns = func() TurnLimits { return TurnLimits{Max: 256, MaxPerPrincipal: 256} }
	}
	setDefault(&o.MaxWaiting, 8)
	setDefault(&o.DecideAfter, time.Second)
	setDefault(&o.BlockingCap, 5*time.Minute)
	setDefault(&o.MaxIdempotent, 4096)
	setDefault(&o.InputGrace, 100*time.Millisecond)
	setDefault(&o.Lease, 10*time.Second)
	setDefault(&o.OutagePatience, 30*time.Second)
	setDefault(&o.MaxAttempts, 3)
	if o.IdempotencyWindow == nil {
		o.IdempotencyWindow = func() time.Duration { return time.Minute }
	}
	if o.ContinuePaused == nil {
		o.ContinuePaused = func() bool { return false }
	}
	if o.Retry == nil {
		o.Retry = func() bool { return false }
	}
	if o.PageKey == nil {
		key := make([]byte, sha256.Size)
		_, _ = rand.Read(key) // never fails
		o.PageKey = func(context.Context) ([]byte, error) { return key, nil }
	}
	if o.InputTimeout == nil {
		o.InputTimeout = func() time.Duration { return 5 * time.Minute }
	}
	if o.Observer == nil {
		o.Observer = unobserved{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the default of an injected clock
	}
}

func setDefault[T int | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}

type unobserved struct{}

func (unobserved) TurnStarted()                       {}
func (unobserved) TurnEnded(a2a.State, time.Duration) {}
func (unobserved) Refused()                           {}
func (unobserved) Appended(int)                       {}
func (unobserved) Dropped(int)                        {}
