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

// Times between attempts to read the card of an agent that speaks A2A.
const (
	cardFirst = 200 * time.Millisecond
	cardMost  = 5 * time.Second
)

// trackAgentCard adds the card of an agent beside the sidecar that speaks A2A,
// where there are probes. Without the card no turn can run, so that a pod is not
// ready before it was read once. An agent that replaces its card later is asked
// for it by the turns themselves.
func (s *Sidecar) trackAgentCard(b *sidecarconfig.Backend) {
	if b.Protocol == sidecarconfig.ProtocolA2A && s.sockets.health != nil {
		s.agentCard = s.health.Add(sidecarconfig.DependencyAgentCard, health.Options{
			Blocks: func(is health.Status) bool { return !is.Reached },
		})
	}
}

// awaitAgentCard reads the card, with exponential backoff, once the agent
// listens. It ends when the card can be used, or with ctx.
func (s *Sidecar) awaitAgentCard(ctx context.Context) {
	if s.agentCard == nil {
		return
	}
	for pause := cardFirst; ctx.Err() == nil; pause = min(2*pause, cardMost) {
		if s.probes.agent.check(ctx) == nil {
			err := s.turns.backend.check(ctx)
			if err == nil {
				s.agentCard.Succeeded()
				return
			}
			if ctx.Err() == nil {
				s.agentCard.Failf(sidecarconfig.CauseInvalid, "%v", err)
				s.log.WarnContext(ctx, "card of the agent not read", "retryIn", pause, "error", err)
			}
		}
		if stream.Sleep(ctx, pause) != nil {
			return
		}
	}
}
