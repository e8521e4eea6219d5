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

// Options configure an engine. The zero value of a field means its default.
type Options struct {
	// Backend is required. Store is required unless Member is set.
	Store   store.Store
	Backend backend.Backend
	// Member is this replica's access to a store that several replicas share. The engine
	// then uses Member instead of Store. Nil means that no other process uses the store.
	Member store.Member
	// Loads is the memory for tasks that requests read from Member; nil for no bound.
	Loads *store.Loads
	// Lease is how long the lease of this replica lasts without a renewal, 10 s by
	// default.
	Lease time.Duration
	// OutageRetryFor is how long the engine retries an append of a run, or a read that a turn
	// needs, during an outage of a shared store, 30 s by default.
	OutageRetryFor time.Duration
	// Retry returns whether interrupted turns are re-run; nil means never. MaxAttempts
	// bounds the runs of one turn, 3 by default.
	Retry       func() bool
	MaxAttempts int
	// Pushes stores the push configurations that come with messages. If it is nil, the
	// engine refuses messages with a push configuration.
	Pushes Pushes
	// Turns returns the limits of running turns. They may change at any time, see
	// LimitsChanged. Nil means 256 turns of any principals, and no queue.
	Turns func() TurnLimits
	// TurnBytes bounds the total bytes that the messages of running turns cost, 256 MiB by
	// default. A message costs memoryshare.TurnCost times its size. WaitingBytes bounds the total size of
	// the messages that wait for a turn, 32 MiB by default, and DeduplicatedBytes the bytes of
	// all remembered turns, of their messages and of the answers without a task, 16 MiB by
	// default.
	TurnBytes, WaitingBytes, DeduplicatedBytes int64
	// Allow returns nil if a message of a principal may begin a turn, and otherwise its
	// refusal: an *a2a.Error, or another error during an outage of a shared store. The engine
	// calls it when a message arrives, before the message has an effect. With a shared store,
	// only the replica that has the claim on the message calls Allow. The engine does not call
	// it for a repeated message whose turn it knows. If the message had to wait, the engine
	// calls Allow again when the turn begins, but not for an accepted message
	// (ReturnImmediately). Allow may block for as long as a call of the store. Nil allows all
	// messages.
	Allow func(ctx context.Context, by a2a.AccountingPrincipal) error
	// MaxWaiting bounds the messages that wait for one task, 8 by default.
	MaxWaiting int
	// DecideAfter is how long an agent may be silent before its turn becomes a task,
	// 1 s by default.
	DecideAfter time.Duration
	// BlockingCap bounds how long Send waits, 5 min by default. After that time, Send
	// returns the current task. If another replica takes the turn over meanwhile, the time
	// begins again once.
	BlockingCap time.Duration
	// DeduplicationWindow returns how long a new message is remembered. 0 turns
	// deduplication off; nil means 1 min. MaxDeduplicated bounds the remembered
	// messages, 4,096 by default.
	DeduplicationWindow func() time.Duration
	MaxDeduplicated     int
	// ContinuePaused returns whether a message that names a context and no task
	// continues the only paused task of its owner in that context. If it is nil or
	// returns false, such a message begins a task.
	ContinuePaused func() bool
	// InputGrace is how long the engine waits for the run of an interrupted task to
	// return before it delivers an input to the run, 100 ms by default. If the last
	// status had Paused set, the engine delivers the input at once.
	InputGrace time.Duration
	// PageKey returns the key that authenticates page tokens. Engines that share a
	// store must share the key. If it is nil, the engine uses a random key.
	PageKey func(ctx context.Context) ([]byte, error)
	// InputTimeout returns how long a run may wait for its client after a status with
	// Paused set, 5 min by default. The agent's request for input may set a shorter time.
	InputTimeout func() time.Duration
	// Observer receives metrics; nil means none.
	Observer Observer
	// Moved is called for each transition of a task at this replica, under the lock of the
	// task; nil means never. Tests compare the calls with Transitions.
	Moved func(k store.Key, m Transition)
	// Log receives failures of the server. Failures of clients and agents are not
	// logged as errors. Nil discards everything.
	Log *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Pushes stores push configurations.
type Pushes interface {
	// Check returns an error for a configuration that can never be used. It is called
	// without a lock, possibly before the task exists, and may block.
	Check(ctx context.Context, config a2a.PushConfig) error
	// Attach adds the configuration of a message that has created the task or is about to
	// continue it. after is the number of the last event that the engine knows. The
	// configuration covers all later events, also those that another replica has appended
	// already. If Attach returns an error, the engine refuses the message.
	//
	// Attach is called under the task's lock, so that this replica appends no event meanwhile.
	// It may use the store and must not call the engine.
	Attach(ctx context.Context, k store.Key, config a2a.PushConfig, after uint64) error
	// Reattach adds the configuration of a message that a client has sent again, if the task
	// does not have it. after is the number of the event with which the turn of the message
	// began. The configuration covers all later events. If the task has the configuration,
	// Reattach does not change it. If Reattach returns an error, the engine returns it to the
	// client that sent the message again.
	//
	// Reattach is called without a lock. It may use the store and must not call the engine.
	Reattach(ctx context.Context, k store.Key, config a2a.PushConfig, after uint64) error
}

// Observer receives the events that metrics count. Its methods must not block. A context that
// a method receives does not end with a request. If a request started the goroutine of the
// run, the context has the values of this request, such as the trace. The goroutine may run
// several turns of a task in sequence, so this may be the request of an earlier turn.
type Observer interface {
	// TurnStarted and TurnEnded are called at the start and the end of each run of a turn.
	// The state is completed if the agent answered without a task, and failed if the turn is
	// re-run or was lost to another replica. Otherwise, it is the state of the task.
	TurnStarted()
	TurnEnded(ctx context.Context, state a2a.State, took time.Duration)
	// FirstEvent is called when the agent sends the first events of a run, with the time
	// since the start of the run.
	FirstEvent(ctx context.Context, took time.Duration)
	// Refused is called for each message that the concurrency limit of turns refuses (load
	// shedding).
	Refused()
	// Appended is called with the number of events that were appended to a log. Dropped
	// is called with the number of events that an agent sent after the end of its task or
	// turn.
	Appended(events int)
	Dropped(events int)
}

func (o *Options) setDefaults() {
	if o.Turns == nil {
		o.Turns = func() TurnLimits { return TurnLimits{Max: 256, MaxPerCaller: 256} }
	}
	setDefault(&o.TurnBytes, 256<<20)
	setDefault(&o.WaitingBytes, 32<<20)
	setDefault(&o.DeduplicatedBytes, 16<<20)
	setDefault(&o.MaxWaiting, 8)
	setDefault(&o.DecideAfter, time.Second)
	setDefault(&o.BlockingCap, 5*time.Minute)
	setDefault(&o.MaxDeduplicated, 4096)
	setDefault(&o.InputGrace, 100*time.Millisecond)
	setDefault(&o.Lease, 10*time.Second)
	setDefault(&o.OutageRetryFor, 30*time.Second)
	setDefault(&o.MaxAttempts, 3)
	if o.DeduplicationWindow == nil {
		o.DeduplicationWindow = func() time.Duration { return time.Minute }
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
		o.Observer = noObserver{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the default of an injected clock
	}
}

func setDefault[T int | int64 | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}

type noObserver struct{}

func (noObserver) TurnStarted() {}

func (noObserver) TurnEnded(context.Context, a2a.State, time.Duration) {}

func (noObserver) FirstEvent(context.Context, time.Duration) {}

func (noObserver) Refused() {}

func (noObserver) Appended(int) {}

func (noObserver) Dropped(int) {}

// beginRetryFor is how long the store retries the write that begins a turn, and how long
// a client waits for the lock of a task. After that time, the engine refuses the message.
// If the write was indeterminate and the store has the message, this replica fails the task at
// its next takeover (coordination.Owner.Refused).
const beginRetryFor = 5 * time.Second
