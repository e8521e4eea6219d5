// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"
)

const (
	// decisionLifetime is how long a change of RBAC may take to be felt.
	decisionLifetime = 10 * time.Second
	// rememberedDecisions bounds the memory: callers times namespaces.
	rememberedDecisions = 65536
	// namespacesAtOnce bounds the questions that one request asks in parallel.
	namespacesAtOnce = 8
)

// authorizer decides which namespaces a caller sees: those in which it may
// list Agents, and a ServiceAccount its own, just as it may call their agents
// unless these say otherwise.
type authorizer struct {
	list      func(ctx context.Context, c Caller, namespace string) (bool, error)
	decisions *expiring[bool]
	flights   singleflight.Group
}

func newAuthorizer(list func(context.Context, Caller, string) (bool, error), c clock.PassiveClock) *authorizer {
	return &authorizer{list: list, decisions: newExpiring[bool](c, decisionLifetime, rememberedDecisions)}
}

// sees tells whether the caller sees the agents of a namespace.
func (a *authorizer) sees(ctx context.Context, c Caller, namespace string) (bool, error) {
	if c.home == namespace && namespace != "" {
		return true, nil
	}
	all, err := a.decide(ctx, c, "")
	if all || err != nil {
		return all, err
	}
	return a.decide(ctx, c, namespace)
}

// visible returns the test that a search applies to namespaces, decided for
// those that it is going to meet; nil admits all.
func (a *authorizer) visible(ctx context.Context, c Caller, candidates func() []string) (func(namespace string) bool, error) {
	all, err := a.decide(ctx, c, "")
	if err != nil || all {
		return nil, err
	}
	var mu sync.Mutex
	seen := make(map[string]bool)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(namespacesAtOnce)
	for _, namespace := range candidates() {
		group.Go(func() error {
			sees, err := a.sees(ctx, c, namespace)
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

// decide answers from memory, or asks once for all who wait.
func (a *authorizer) decide(ctx context.Context, c Caller, namespace string) (bool, error) {
	key := c.fingerprint + namespace
	if allowed, found := a.decisions.get(key); found {
		return allowed, nil
	}
	answer := a.flights.DoChan(key, func() (any, error) {
		// As in authenticator.ask.
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
