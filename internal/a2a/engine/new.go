// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a/engine/coordination"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// New returns an engine, or an error if the options have no store or no backend. The
// caller calls Start before the first request.
func New(options Options) (*Engine, error) {
	if options.Member != nil {
		options.Store = options.Member
	}
	if options.Store == nil || options.Backend == nil {
		return nil, errors.New("engine needs a store and a backend")
	}
	options.setDefaults()
	e := &Engine{
		options:     options,
		coordinator: options.coordinator(),
		recent:      newDeduplication(options.DeduplicationWindow, options.Now, options.MaxDeduplicated, options.DeduplicatedBytes, options.Member != nil),
		turns:       newTurnQueue(options.Turns, options.TurnBytes),
		idle:        make(chan struct{}),
		tasks:       map[store.Key]*task{},
	}
	e.retries, e.stopRetries = context.WithCancel(context.Background())
	return e, nil
}

// Start starts the coordination with other replicas, which ends with Drain. From then on,
// the engine may call its backend and the functions in Options, because it may take over
// tasks of other replicas. If no other replica shares the store, Start does nothing. The
// caller calls it once.
func (e *Engine) Start() { e.coordinator.Start(host{e}) }

// coordinator returns the coordinator of the replica.
func (o *Options) coordinator() coordination.Coordinator {
	if o.Member == nil {
		return coordination.Single{Store: o.Store}
	}
	return coordination.NewShared(o.Member, coordination.Options{
		Lease: o.Lease, RetryFor: o.OutageRetryFor, FenceRuns: o.Retry, ClaimWindow: o.DeduplicationWindow, Now: o.Now, Log: o.Log,
	})
}
