// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"log/slog"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/metrics"
)

// refusals counts and logs the calls that authorization rules refuse.
type refusals struct {
	metrics *metrics.Metrics
	log     *slog.Logger

	mu sync.Mutex
	// logged contains the rules whose failed evaluation has been logged.
	logged map[string]bool
}

// newRefusals returns refusals that counts calls in m.
func newRefusals(m *metrics.Metrics, log *slog.Logger) *refusals {
	return &refusals{metrics: m, log: log, logged: map[string]bool{}}
}

// refused counts a refused call. If the evaluation of a rule fails, it logs the first
// failure of this rule only.
func (r *refusals) refused(ctx context.Context, why *authz.Refusal) {
	r.metrics.CallRefused(why.Rule, why.Err != nil)
	if why.Err == nil {
		return
	}
	r.mu.Lock()
	first := !r.logged[why.Rule]
	r.logged[why.Rule] = true
	r.mu.Unlock()
	if first {
		r.log.WarnContext(ctx, "call refused because a rule of authorization cannot be evaluated (logged once for each rule)", "rule", why.Rule, "error", why.Err)
	}
}

// reset is called when the rules change. It forgets which failures were logged, and
// counts by the names of the new rules.
func (r *refusals) reset() {
	r.metrics.RulesChanged()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logged = map[string]bool{}
}
