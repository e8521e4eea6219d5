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
	// maxReadyHold is the longest delay of a readiness response.
	maxReadyHold = 30 * time.Second
	// maxReadyHeld is the maximum number of responses that are delayed at a time. The
	// kubelet sends one probe at a time. Further requests receive an immediate response.
	maxReadyHeld = 4
	// readyPollInterval is the time between two checks while a response is delayed.
	readyPollInterval = 100 * time.Millisecond
)

// readyHold implements long-polled readiness: it delays the response to the first
// readiness probes of a sidecar, instead of responding with a failure. The kubelet sends
// the first probe as soon as the sidecar has started, before it starts the agent's
// container. It creates a Warning event for each failure, so every start of a healthy pod
// would cause such an event. A delayed response causes none, and is sent at the moment at
// which the agent listens.
//
// After the pod was ready once, responses are never delayed, because a failure must be
// reported at once.
type readyHold struct {
	wasReady atomic.Bool
	held     atomic.Int32
}

// wait calls ready until it returns nil. It returns the last error of ready when the
// delay that the request asks for has passed, when the request ends, or when a drain
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

// requestedHold returns the delay that a request asks for. It returns 0 if the request
// asks for none, or if the value is not a duration.
func requestedHold(r *http.Request) time.Duration {
	hold, err := time.ParseDuration(r.URL.Query().Get(sidecarconfig.ReadyHoldParameter))
	if err != nil {
		return 0
	}
	return hold
}
