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
	"github.com/a2a-operator/a2a-operator/internal/sidecar/serving"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// turns runs the turns of the agent and pushes their events.
type turns struct {
	*engine.Engine
	backend *agentBackend
	pushes  *pushes
}

// newTurns returns the engine of a task store. The backend and the pushes are of no
// configuration yet: the engine is started after the first configuration was applied.
func newTurns(e *environment, kept *taskStore, limits *serving.Limits) (*turns, error) {
	model := &modelServer{environment: e}
	budget := tokenbudget.New(tokenbudget.Options{
		Limits: limits.Tokens, Counters: kept.tokens, Refused: func(l tokenbudget.Limit) { e.metrics.refused(string(l)) },
		Log: e.log, Now: e.now,
	})
	t := &turns{backend: &agentBackend{metrics: e.metrics, tracer: &e.traces.tracer, budget: budget, model: model, now: e.now}}
	var err error
	if t.pushes, err = newPushes(e, kept); err != nil {
		return nil, err
	}
	options := kept.engine
	options.Backend, options.Turns, options.Allow, options.Pushes = t.backend, limits.Turns, budget.Allow, t.pushes
	options.Observer, options.Log, options.Now = e.metrics, e.log, e.now
	// A client may take as long as the agent.
	options.InputTimeout = func() time.Duration { return t.backend.config().Timeouts.Idle.Or(5 * time.Minute) }
	options.Retry = func() bool { return t.backend.config().OnInterruption == sidecarconfig.InterruptionRetry }
	options.DeduplicationWindow = func() time.Duration { return e.current().ProtocolOptions.Deduplication() }
	options.ContinuePaused = func() bool {
		return e.current().ProtocolOptions.ContextReplies == sidecarconfig.ContextRepliesContinuePaused
	}
	if t.Engine, err = engine.New(options); err != nil {
		return nil, fmt.Errorf("start engine: %w", err)
	}
	e.gauge("a2a_turns_in_flight", "Turns that are running.", func() float64 { return float64(t.Running()) })
	e.gauge("a2a_turns_queued", "Messages that wait in the turn queue.", func() float64 { return float64(t.Queued()) })
	return t, nil
}

// lastPushTime is the time for posting the ends of turns that were interrupted because
// the grace period is over.
const lastPushTime = time.Second

// Drain ends the turns and then posts their last push notifications, also those of turns
// that it interrupted when ctx ended.
func (t *turns) Drain(ctx context.Context) error {
	interrupted := t.Engine.Drain(ctx)
	if interrupted != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastPushTime)
		defer cancel()
	}
	return errors.Join(interrupted, t.pushes.Drain(ctx))
}
