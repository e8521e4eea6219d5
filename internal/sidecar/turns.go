// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/chat"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/events"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/upstream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// turns is the engine with what it works with.
type turns struct {
	*engine.Engine
	backend *agent
	pushes  *pushes
}

// Drain ends the turns, and tells the last of them to who wants to be called:
// also of turns that were cut off, though the time is up.
func (t *turns) Drain(ctx context.Context) error {
	cutOff := t.Engine.Drain(ctx)
	if cutOff != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastWord)
		defer cancel()
	}
	return errors.Join(cutOff, t.pushes.Drain(ctx))
}

// newTurns makes the engine of the first configuration; current returns the one
// that is in force.
func newTurns(current func() *sidecarconfig.Config, kept *tasks, model *modelServer, local bool, bounds func() engine.TurnLimits, m *metrics, log *slog.Logger, now func() time.Time) (*turns, error) {
	c := current()
	a := &agent{metrics: m, model: model, now: now}
	if err := a.swap(&c.Backend); err != nil {
		return nil, err
	}
	p, err := newPushes(c, kept, local, m, log, now)
	if err != nil {
		return nil, err
	}
	options := kept.engine
	options.Backend, options.Turns, options.Pushes = a, bounds, p
	options.Observer, options.Log, options.Now = m, log, now
	// A client may be as slow as the agent.
	options.InputTimeout = func() time.Duration { return a.current.Load().settings.Timeouts.Idle.Or(5 * time.Minute) }
	options.Retry = func() bool { return a.current.Load().settings.OnInterruption == sidecarconfig.InterruptionRetry }
	options.DeduplicationWindow = func() time.Duration { return current().ProtocolOptions.Deduplication() }
	options.ContinuePaused = func() bool {
		return current().ProtocolOptions.ContextReplies == sidecarconfig.ContextRepliesContinuePaused
	}
	e, err := engine.New(options)
	if err != nil {
		return nil, fmt.Errorf("start engine: %w", err)
	}
	m.gauge("a2a_turns_in_flight", "Turns that the agent works at.", func() float64 { return float64(e.Running()) })
	m.gauge("a2a_turns_queued", "Messages that wait for a turn.", func() float64 { return float64(e.Queued()) })
	return &turns{Engine: e, backend: a, pushes: p}, nil
}

// agent is a backend whose settings can be replaced. A turn ends with those
// that it began with.
type agent struct {
	metrics *metrics
	model   *modelServer
	now     func() time.Time
	current atomic.Pointer[running]
}

type running struct {
	settings sidecarconfig.Backend
	speaker
}

// speaker is a backend that holds connections.
type speaker interface {
	backend.Backend
	// Close releases what is idle. Turns that run go on.
	Close()
}

var (
	_ backend.Backend  = (*agent)(nil)
	_ backend.Canceler = (*agent)(nil)
)

// Run implements backend.Backend.
func (a *agent) Run(ctx context.Context, t *backend.Turn, emit backend.Emit) error {
	current := a.current.Load()
	err := current.Run(ctx, t, emit)
	if failure, ok := errors.AsType[*backend.TurnError](err); ok && failure.Unrecognized {
		a.metrics.unrecognized(current.settings.Protocol)
	}
	return err //nolint:wrapcheck // the engine tells the errors of backends apart
}

// Canceled implements backend.Canceler.
func (a *agent) Canceled(ctx context.Context, t *a2a.Task) {
	if c, ok := a.current.Load().speaker.(backend.Canceler); ok {
		c.Canceled(ctx, t)
	}
}

func (a *agent) swap(b *sidecarconfig.Backend) error {
	former := a.current.Load()
	if former != nil && reflect.DeepEqual(former.settings, *b) {
		return nil
	}
	next, err := a.speak(b)
	if err != nil {
		return fmt.Errorf("set up backend: %w", err)
	}
	a.current.Store(&running{settings: *b, speaker: next})
	if former != nil {
		former.Close()
	}
	return nil
}

// speak returns the backend of a protocol.
func (a *agent) speak(b *sidecarconfig.Backend) (speaker, error) {
	limits := stream.Limits{
		Connect:    b.Timeouts.Connect.Or(0),
		FirstEvent: b.Timeouts.FirstEvent.Or(0),
		Idle:       b.Timeouts.Idle.Or(0),
		Turn:       b.Timeouts.Turn.Or(0),
	}
	switch b.Protocol {
	case sidecarconfig.ProtocolA2A:
		// The contract was validated; the zero version is that of the card.
		v, _ := version.Parse(b.A2A.Version)
		return upstream.New(upstream.Options{
			URL: b.URL, Version: v, CardPath: b.A2A.CardPath, Query: b.A2A.Query, Limits: limits, Now: a.now,
		})
	case sidecarconfig.ProtocolChatCompletions:
		return a.model.backend(b, limits, chat.Options{Now: a.now})
	default:
		return events.New(events.Options{URL: b.URL, Limits: limits, Internal: a.metrics.internalEvent, Now: a.now})
	}
}

// checker is a backend that can be asked whether turns can use it.
type checker interface {
	Check(ctx context.Context) error
}

// check calls the model server, or reads the card of an agent that speaks A2A,
// as a turn would. Of other agents it returns nil.
func (a *agent) check(ctx context.Context) error {
	if c, ok := a.current.Load().speaker.(checker); ok {
		return c.Check(ctx)
	}
	return nil
}

// Close releases the idle connections.
func (a *agent) Close() { a.current.Load().Close() }
