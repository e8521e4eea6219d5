// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"
)

const (
	// decisionLifetime bounds the time after which a change of RBAC takes effect.
	decisionLifetime = 10 * time.Second
	// rememberedDecisions bounds the decisions in memory: callers times namespaces.
	rememberedDecisions = 65536
	// parallelReviews bounds the concurrent reviews for one request.
	parallelReviews = 8
)

// Authorizer decides which namespaces a caller sees: those in which RBAC lets it
// list Agents, and for a ServiceAccount its own, because Agents admit their own
// namespace by default.
type Authorizer struct {
	list      func(ctx context.Context, c Caller, namespace string) (bool, error)
	decisions *expiring[bool]
	flights   singleflight.Group
}

// NewAuthorizer returns an Authorizer that asks list whether a caller may list
// Agents in a namespace, or in all namespaces for "".
func NewAuthorizer(list func(context.Context, Caller, string) (bool, error), c clock.PassiveClock) *Authorizer {
	return &Authorizer{list: list, decisions: newExpiring[bool](c, decisionLifetime, rememberedDecisions)}
}

// Sees reports whether the caller sees the agents of a namespace.
func (a *Authorizer) Sees(ctx context.Context, c Caller, namespace string) (bool, error) {
	if c.namespace == namespace && namespace != "" {
		return true, nil
	}
	all, err := a.decide(ctx, c, "")
	if all || err != nil {
		return all, err
	}
	return a.decide(ctx, c, namespace)
}

// Visible returns the filter of namespaces for a search by the caller, decided for
// the candidates; nil admits all namespaces.
func (a *Authorizer) Visible(ctx context.Context, c Caller, candidates func() []string) (func(namespace string) bool, error) {
	all, err := a.decide(ctx, c, "")
	if err != nil || all {
		return nil, err
	}
	var mu sync.Mutex
	seen := make(map[string]bool)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelReviews)
	for _, namespace := range candidates() {
		group.Go(func() error {
			sees, err := a.Sees(ctx, c, namespace)
			mu.Lock()
			defer mu.Unlock()
			seen[namespace] = sees
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return func(namespace string) bool { return seen[namespace] }, nil
}

// decide returns a remembered decision or makes one. Concurrent calls share a review.
func (a *Authorizer) decide(ctx context.Context, c Caller, namespace string) (bool, error) {
	key := c.fingerprint + namespace
	if allowed, found := a.decisions.get(key); found {
		return allowed, nil
	}
	answer := a.flights.DoChan(key, func() (any, error) {
		// The review continues for the other requests, as in Authenticator.ask.
		allowed, err := a.list(context.WithoutCancel(ctx), c, namespace)
		if err == nil {
			a.decisions.put(key, allowed)
		}
		return allowed, err
	})
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case result := <-answer:
		allowed, _ := result.Val.(bool)
		return allowed && result.Err == nil, result.Err
	}
}
