// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tokenbudget"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/modelserver"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/serving"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// turns runs the turns of the agent and posts push notifications for their events.
type turns struct {
	*engine.Engine
	backend *agentBackend
	pushes  *pushes
}

// newTurns returns the engine for a task store. The backend and the push notifications
// have no configuration yet. The engine is started after the first configuration has been
// applied.
func newTurns(e *environment, kept *taskStore, limits *serving.Limits) (*turns, error) {
	model := &modelserver.Server{Roots: e.trust.Roots, Local: e.standalone(), Now: e.now}
	budget := tokenbudget.New(tokenbudget.Options{
		Limits: limits.Tokens, Counters: kept.tokens, Refused: func(l tokenbudget.Limit) { e.metrics.Limited(string(l)) },
		Log: e.log, Now: e.now,
	})
	t := &turns{backend: &agentBackend{metrics: e.metrics, tracer: &e.traces.tracer, budget: budget, model: model, now: e.now}}
	var err error
	if t.pushes, err = newPushes(e, kept, limits.HTTP().Answers); err != nil {
		return nil, err
	}
	options := kept.engine
	options.Backend, options.Turns, options.Allow, options.Pushes = t.backend, limits.Turns, budget.Allow, t.pushes
	options.Observer, options.Log, options.Now = e.metrics, e.log, e.now
	// The time for the client's input is the same as the time that the agent has for its
	// next event.
	options.InputTimeout = func() time.Duration { return t.backend.config().Timeouts.Idle.Or(5 * time.Minute) }
	options.Retry = func() bool { return t.backend.config().OnInterruption == sidecarconfig.InterruptionRetry }
	options.DeduplicationWindow = func() time.Duration { return e.current().ProtocolOptions.Deduplication() }
	options.ContinuePaused = func() bool {
		return e.current().ProtocolOptions.ContextReplies == sidecarconfig.ContextRepliesContinuePaused
	}
	if t.Engine, err = engine.New(options); err != nil {
		return nil, fmt.Errorf("start engine: %w", err)
	}
	e.metrics.Gauge("a2a_turns_in_flight", "Turns that are running.", func() float64 { return float64(t.Running()) })
	e.metrics.Gauge("a2a_turns_queued", "Messages that wait in the turn queue.", func() float64 { return float64(t.Queued()) })
	return t, nil
}

// lastPushTime is the time for posting the notifications about turns that were
// interrupted at the end of the grace period.
const lastPushTime = time.Second

// Drain ends the turns and then posts the last push notifications, including those about
// turns that it interrupted because ctx ended.
func (t *turns) Drain(ctx context.Context) error {
	interrupted := t.Engine.Drain(ctx)
	if interrupted != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastPushTime)
		defer cancel()
	}
	return errors.Join(interrupted, t.pushes.Drain(ctx))
}
