// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// Health tracks the state of a model server outside of the pod. The zero value
// tracks none. Its methods are safe for concurrent use.
type Health struct {
	// tracked is nil if the server is in the pod.
	tracked *health.Dependency
	// failed has an element when a call has failed.
	failed chan struct{}
	// reached is true once the server has responded to a call.
	reached atomic.Bool
	// problem is the last error before the server was reached. It is nil before the first
	// attempt has failed.
	problem atomic.Pointer[error]
	// unauthorized is true if the server responded to the last completion with 401 or 403,
	// and the API key has not changed since. While it is true, the response to a list of
	// models does not show whether the key is accepted.
	unauthorized atomic.Bool
}

// Track starts to track the model server outside of the pod.
func (h *Health) Track(tracker *health.Tracker) {
	h.failed = make(chan struct{}, 1)
	h.tracked = tracker.Add(sidecarconfig.DependencyModelServer, health.Options{LostAfter: lostAfter})
}

// keyChanged resets unauthorized after a change of the API key.
func (h *Health) keyChanged() { h.unauthorized.Store(false) }

// observe records the result of a call.
func (h *Health) observe(r *http.Request, response *http.Response, err error) {
	if h.tracked == nil {
		return
	}
	host := r.URL.Host
	switch {
	case err != nil && r.Context().Err() != nil:
		if _, timeout := errors.AsType[*backend.TurnError](context.Cause(r.Context())); !timeout {
			return // the caller has left
		}
		h.tracked.Failf(sidecarconfig.CauseTimedOut, "%s does not answer in time", host)
	case errors.Is(err, egress.ErrDenied):
		h.tracked.Failf(sidecarconfig.CauseInvalid, "%s: a loopback, link-local or metadata address is not called", host)
	case err != nil:
		cause, text := health.CauseOf(err)
		h.tracked.Failf(cause, "%s: %s", host, text)
	case response.StatusCode == http.StatusUnauthorized, response.StatusCode == http.StatusForbidden && r.Method != http.MethodGet:
		// A refused list of models (GET) does not set unauthorized, because a server may forbid
		// the list to a key that may use completions. For the same reason, a 403 for the list
		// is not a failure.
		h.unauthorized.Store(r.Method != http.MethodGet)
		h.tracked.Failf(sidecarconfig.CauseAuthentication, "%s answers with status %d", host, response.StatusCode)
	case response.StatusCode == http.StatusInternalServerError, response.StatusCode == http.StatusBadGateway,
		response.StatusCode == http.StatusServiceUnavailable, response.StatusCode == http.StatusGatewayTimeout:
		h.tracked.Failf(sidecarconfig.CauseNotServing, "%s answers with status %d", host, response.StatusCode)
	case isRedirect(response):
		h.tracked.Failf(sidecarconfig.CauseInvalid, "%s answers with status %d, and redirects are not followed", host, response.StatusCode)
	case r.Method == http.MethodGet && h.unauthorized.Load():
		// The list does not show whether the key is accepted: a server may return it for any
		// key, or forbid it for every key.
		return
	default:
		h.unauthorized.Store(false)
		h.tracked.Succeeded()
		return
	}
	select {
	case h.failed <- struct{}{}:
	default:
	}
}

// The backoff until the server is reached for the first time, how long calls must fail
// until the server is no longer healthy, and the backoff after later failures.
const (
	reachRetryFirst  = 200 * time.Millisecond
	reachRetryMax    = 5 * time.Second
	lostAfter        = 5 * time.Second
	regainRetryFirst = time.Second
	regainRetryMax   = 30 * time.Second
)

// Follow calls the model server with exponential backoff until it responds. After a call
// has failed, Follow does so again, so that the state of the server is known even without
// turns. It returns when ctx ends.
func (h *Health) Follow(ctx context.Context, log *slog.Logger, url string, call func(context.Context) error) {
	if h.tracked == nil {
		return
	}
	h.reach(ctx, log, url, call)
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.failed:
		}
		for retry := regainRetryFirst; h.tracked.Failing(); retry = min(2*retry, regainRetryMax) {
			if stream.Sleep(ctx, retry) != nil {
				return
			}
			_ = call(ctx) // observe has the result
		}
	}
}

// reach calls the server with exponential backoff. It returns when the server has
// responded, or when ctx ends.
func (h *Health) reach(ctx context.Context, log *slog.Logger, url string, call func(context.Context) error) {
	logged, retry := "", reachRetryFirst
	for !h.reached.Load() {
		err := call(ctx)
		if err == nil {
			h.reached.Store(true)
			log.InfoContext(ctx, "model server reached", "url", url)
			return
		}
		h.problem.Store(&err)
		if text := err.Error(); text != logged && ctx.Err() == nil {
			logged = text
			log.WarnContext(ctx, "model server not reached", "url", url, "error", err)
		}
		if stream.Sleep(ctx, retry) != nil {
			return
		}
		retry = min(2*retry, reachRetryMax)
	}
}

// Ready returns an error until the server has responded once. A later failure of the
// server does not make the pod unready: the error of a failed task is more helpful to
// callers than a refused connection.
func (h *Health) Ready() error {
	if h.reached.Load() {
		return nil
	}
	if problem := h.problem.Load(); problem != nil {
		return fmt.Errorf("model server not reached: %w", *problem)
	}
	return errors.New("model server not reached yet")
}

func isRedirect(response *http.Response) bool {
	return response.StatusCode >= 300 && response.StatusCode < 400
}
