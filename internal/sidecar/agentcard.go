// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// The backoff of reading the card of an agent whose backend protocol is A2A.
const (
	cardRetryFirst = 200 * time.Millisecond
	cardRetryMax   = 5 * time.Second
)

// trackAgentCard tracks the card of an agent whose backend protocol is A2A. No turn can
// run without the card, so the pod is not ready until the sidecar has read the card once.
// If the agent replaces the card later, turns read the new one.
func trackAgentCard(e *environment) *health.Dependency {
	return e.health.Add(sidecarconfig.DependencyAgentCard, health.Options{
		Blocks: func(is health.Status) bool { return !is.Reached },
	})
}

// awaitAgentCard reads the card with exponential backoff as soon as the agent listens. It
// returns when a read has succeeded, or when ctx ends.
func awaitAgentCard(ctx context.Context, e *environment, card *health.Dependency, agent *agentProbe, read func(context.Context) error) {
	for retry := cardRetryFirst; ctx.Err() == nil; retry = min(2*retry, cardRetryMax) {
		if agent.check(ctx) == nil {
			err := read(ctx)
			if err == nil {
				card.Succeeded()
				return
			}
			if ctx.Err() == nil {
				card.Failf(sidecarconfig.CauseInvalid, "%v", err)
				e.log.WarnContext(ctx, "reading the agent's card failed", "retryIn", retry, "error", err)
			}
		}
		if stream.Sleep(ctx, retry) != nil {
			return
		}
	}
}
