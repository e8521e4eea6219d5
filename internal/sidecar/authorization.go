// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"log/slog"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// newRules returns nil when there are no rules: then all is allowed to those
// who are admitted.
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

// refusals tells those who run the agent of calls that its rules refuse.
type refusals struct {
	metrics *metrics
	log     *slog.Logger

	mu sync.Mutex
	// told are the rules that were complained of.
	told map[string]bool
}

// refused counts a refusal. A rule that cannot be evaluated is logged once,
// however many calls it keeps out.
func (r *refusals) refused(ctx context.Context, why *authz.Refusal) {
	if why.Err == nil {
		r.metrics.refusedCalls.WithLabelValues(why.Rule, "denied").Inc()
		return
	}
	r.metrics.refusedCalls.WithLabelValues(why.Rule, "failed").Inc()
	r.mu.Lock()
	first := !r.told[why.Rule]
	r.told[why.Rule] = true
	r.mu.Unlock()
	if first {
		r.log.WarnContext(ctx, "rule of authorization cannot be evaluated for a call, which is refused; said once", "rule", why.Rule, "error", why.Err)
	}
}

// renew has other rules complained of.
func (r *refusals) renew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = map[string]bool{}
}
