// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

const (
	// maxReadyHold bounds how long an answer about readiness is held back.
	maxReadyHold = 30 * time.Second
	// maxReadyHeld bounds how many are held back at a time. The kubelet asks one
	// after the other; whoever else asks beyond that is answered at once.
	maxReadyHeld = 4
	// readyPoll is how often a pod that is not ready yet is looked at.
	readyPoll = 100 * time.Millisecond
)

// readyHold answers the first readiness probes of a sidecar late rather than with
// a failure. The kubelet probes as soon as the sidecar has started, which is before
// it starts the agent's container, and makes a Warning event of each failure: every
// start of a healthy pod would make one. An answer that waits for the agent makes
// none, and comes in the moment in which the agent listens.
//
// Once the pod was ready, answers are never held back: then a failure is news.
type readyHold struct {
	was  atomic.Bool
	held atomic.Int32
}

// wait calls ready until it returns nil, for as long as the request asks to be held
// back. It returns the last error when that time, the request or the wait for a
// drain is over.
func (h *readyHold) wait(r *http.Request, ready func(context.Context) error, draining <-chan struct{}) error {
	err := ready(r.Context())
	if err == nil {
		h.was.Store(true)
	}
	most := min(holdOf(r), maxReadyHold)
	if err == nil || most <= 0 || h.was.Load() {
		return err
	}
	defer h.held.Add(-1)
	if h.held.Add(1) > maxReadyHeld {
		return err
	}
	over := time.NewTimer(most)
	defer over.Stop()
	again := time.NewTicker(readyPoll)
	defer again.Stop()
	for {
		select {
		case <-r.Context().Done():
			return err
		case <-draining:
			return ready(r.Context())
		case <-over.C:
			return err
		case <-again.C:
		}
		if err = ready(r.Context()); err == nil {
			h.was.Store(true)
			return nil
		}
	}
}

// holdOf returns how long a request asks to be held back, zero for one that does
// not say it in a way that can be read.
func holdOf(r *http.Request) time.Duration {
	hold, err := time.ParseDuration(r.URL.Query().Get(sidecarconfig.ReadyHoldParameter))
	if err != nil {
		return 0
	}
	return hold
}
