// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/events"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/internal/contract"
)

// turns is the engine with what it works with.
type turns struct {
	*engine.Engine
	backend *agent
	pushes  *pushes
}

// Drain ends the turns, and tells the last of them to who wants to be called.
func (t *turns) Drain(ctx context.Context) error {
	return errors.Join(t.Engine.Drain(ctx), t.pushes.Drain(ctx))
}

func newTurns(c *contract.Config, local bool, m *metrics, log *slog.Logger, now func() time.Time) (*turns, error) {
	a := &agent{metrics: m, now: now}
	if err := a.swap(&c.Backend); err != nil {
		return nil, err
	}
	tasks := memory.New(memory.Options{
		MaxTasks:  int(c.Tasks.MaxTasks),
		MaxBytes:  c.Tasks.MaxBytes,
		Retention: c.Tasks.Retention.Or(0),
		Now:       now,
	})
	p, err := newPushes(c, tasks, local, m, log, now)
	if err != nil {
		return nil, err
	}
	e, err := engine.New(engine.Options{
		Store:    tasks,
		Backend:  a,
		Pushes:   p,
		Observer: m,
		Log:      log,
		Now:      now,
		// A client may be as slow as the agent.
		InputTimeout: func() time.Duration { return a.current.Load().settings.Timeouts.Idle.Or(5 * time.Minute) },
	})
	if err != nil {
		return nil, fmt.Errorf("start engine: %w", err)
	}
	m.gauge("a2a_turns_in_flight", "Turns that the agent works at.", func() float64 { return float64(e.Running()) })
	m.gauge("a2a_tasks", "Tasks in memory.", func() float64 { return float64(tasks.Len()) })
	m.gauge("a2a_task_bytes", "What the tasks in memory hold, by estimate.", func() float64 { return float64(tasks.Bytes()) })
	m.gauge("a2a_encoded_bytes", "What the encodings of events take beside.", func() float64 { return float64(tasks.EncodedBytes()) })
	return &turns{Engine: e, backend: a, pushes: p}, nil
}

// agent is a backend whose settings can be replaced. A turn ends with those
// that it began with.
type agent struct {
	metrics *metrics
	now     func() time.Time
	current atomic.Pointer[running]
}

type running struct {
	settings contract.Backend
	*events.Backend
}

var _ backend.Backend = (*agent)(nil)

// Run implements backend.Backend.
func (a *agent) Run(ctx context.Context, t *backend.Turn, emit backend.Emit) error {
	return a.current.Load().Run(ctx, t, emit)
}

func (a *agent) swap(b *contract.Backend) error {
	former := a.current.Load()
	if former != nil && former.settings == *b {
		return nil
	}
	next, err := events.New(events.Options{
		URL: b.URL,
		Limits: stream.Limits{
			Connect:    b.Timeouts.Connect.Or(0),
			FirstEvent: b.Timeouts.FirstEvent.Or(0),
			Idle:       b.Timeouts.Idle.Or(0),
			Turn:       b.Timeouts.Turn.Or(0),
		},
		Internal: a.metrics.internalEvent,
		Now:      a.now,
	})
	if err != nil {
		return fmt.Errorf("set up backend: %w", err)
	}
	a.current.Store(&running{settings: *b, Backend: next})
	if former != nil {
		former.Close()
	}
	return nil
}

// Close releases the idle connections.
func (a *agent) Close() { a.current.Load().Close() }
