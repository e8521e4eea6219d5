// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"net/http"
	"testing"

	"github.com/a2a-operator/a2a-operator/test/redistest"
)

// TestAttackWithoutRedis attacks a sidecar while its Redis is away. Cards and probes are served; messages are served again when
// Redis is back.
func TestAttackWithoutRedis(t *testing.T) {
	redis := redistest.Start(t)
	s := startSidecar(t, echo, nil, "--store", "redis://"+redis.Address())
	subject := s.subject(t, "sidecar, Redis")
	whole := subject.client.asks
	subject.client.asks = []ask{s.agent.good[0], {method: http.MethodGet, url: s.health.url("/livez"), status: http.StatusOK}}
	subject.withstands(t, "all attacks on a2a while Redis is away", lasts, func(ctx context.Context) string {
		redis.Kill()
		defer redis.Run()
		return everything(s.agent, lasts).run(ctx)
	})
	subject.client.asks = whole
	subject.awaitReady(t)
}
