// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// newRules returns the compiled authorization rules. Without rules, it returns nil, which
// allows every call of an accepted caller.
func newRules(a *sidecarconfig.Authorization) (*authz.Policy, error) {
	if a == nil {
		return nil, nil
	}
	rules := make([]authz.Rule, len(a.Rules))
	for i, r := range a.Rules {
		rules[i] = authz.Rule{
			Name: r.Name, Allow: r.Action == sidecarconfig.ActionAllow,
			Namespaces: r.Namespaces, Principals: r.Principals, Skills: r.Skills,
		}
		for _, m := range r.Methods {
			rules[i].Methods = append(rules[i].Methods, a2a.Method(m))
		}
		if r.Expression != nil {
			rules[i].Expression = r.Expression.Checked
		}
	}
	return authz.New(rules)
}

// refusals counts and logs the calls that authorization rules refuse.
type refusals struct {
	calls *prometheus.CounterVec
	log   *slog.Logger

	// rules bounds the names of rules in the metric.
	rules boundedLabel

	mu sync.Mutex
	// logged contains the rules whose failed evaluation has been logged.
	logged map[string]bool
}

// newRefusals returns refusals that counts calls by rule and result.
func newRefusals(calls *prometheus.CounterVec, log *slog.Logger) *refusals {
	return &refusals{calls: calls, log: log, rules: boundedLabel{max: 4}}
}

// refused counts a refused call. If the evaluation of a rule fails, it logs the first
// failure of this rule only.
func (r *refusals) refused(ctx context.Context, why *authz.Refusal) {
	rule := why.Rule
	if rule != "" {
		rule = r.rules.value(rule)
	}
	if why.Err == nil {
		r.calls.WithLabelValues(rule, "denied").Inc()
		return
	}
	r.calls.WithLabelValues(rule, "failed").Inc()
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
	r.rules.reset()
	r.calls.Reset()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logged = map[string]bool{}
}
