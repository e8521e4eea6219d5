// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/a2a-operator/a2a-operator/test/redistest"
)

// TestAttackWithoutRedis attacks a sidecar while its Redis is away. Cards and probes are served; messages are served again when
// Redis is back.
func TestAttackWithoutRedis(t *testing.T) {
	for _, v := range victims() {
		redis := redistest.Start(t)
		s := v.start(t, echo, "--store", "redis://"+redis.Address())
		subject := s.subject(t, "sidecar, Redis")
		whole := subject.client.asks
		subject.client.asks = []ask{s.agent.good[0], {method: http.MethodGet, url: s.health.url("/livez"), status: http.StatusOK}}
		subject.withstands(t, fmt.Sprintf("all attacks on %s while Redis is away", &v), lasts, func(ctx context.Context) string {
			redis.Kill()
			defer redis.Run()
			return v.attack(ctx, s, lasts)
		})
		subject.client.asks = whole
		subject.awaitReady(t)
	}
}
