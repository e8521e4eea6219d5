// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

const (
	// maxReadyHold bounds how long a readiness answer is held back.
	maxReadyHold = 30 * time.Second
	// maxReadyHeld bounds the answers that are held back at a time. The kubelet sends one
	// probe after the other; further requests are answered at once.
	maxReadyHeld = 4
	// readyPollInterval is the time between two checks while an answer is held back.
	readyPollInterval = 100 * time.Millisecond
)

// readyHold is long-polled readiness: it answers the first readiness probes of a
// sidecar late rather than with a failure. The kubelet probes as soon as the sidecar
// has started, before it starts the agent's container, and makes a Warning event of
// each failure, so every start of a healthy pod would make one. An answer that waits
// for the agent makes none, and comes at the moment at which the agent listens.
//
// Once the pod was ready, answers are never held back: a failure is news then.
type readyHold struct {
	wasReady atomic.Bool
	held     atomic.Int32
}

// wait calls ready until it returns nil, for as long as the request asks to be held
// back. It returns the last error when that time or the request ends, or a drain
// begins.
func (h *readyHold) wait(r *http.Request, ready func(context.Context) error, draining <-chan struct{}) error {
	err := ready(r.Context())
	if err == nil {
		h.wasReady.Store(true)
	}
	limit := min(requestedHold(r), maxReadyHold)
	if err == nil || limit <= 0 || h.wasReady.Load() {
		return err
	}
	defer h.held.Add(-1)
	if h.held.Add(1) > maxReadyHeld {
		return err
	}
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	poll := time.NewTicker(readyPollInterval)
	defer poll.Stop()
	for {
		select {
		case <-r.Context().Done():
			return err
		case <-draining:
			return ready(r.Context())
		case <-timeout.C:
			return err
		case <-poll.C:
		}
		if err = ready(r.Context()); err == nil {
			h.wasReady.Store(true)
			return nil
		}
	}
}

// requestedHold returns how long a request asks to be held back, 0 if it does not ask
// or its value is not a duration.
func requestedHold(r *http.Request) time.Duration {
	hold, err := time.ParseDuration(r.URL.Query().Get(sidecarconfig.ReadyHoldParameter))
	if err != nil {
		return 0
	}
	return hold
}
