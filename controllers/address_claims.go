// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/desired"
	"github.com/a2a-operator/a2a-operator/internal/operator/gather"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// addressClaims is the index of the claims of Agents (state.Claim) by address. It also
// holds the oldest claim of each address, so that a reconcile does not visit all claims of an
// address. The number of claims of an address has no bound, because anyone who may create Agents
// may request the addresses of other Agents. The methods of addressClaims are safe for concurrent
// use.
//
// Only the handlers of events update the index. They first update it, and then enqueue all Agents
// at each address whose oldest claim has changed. A reconcile that has read the former oldest claim
// therefore runs again, and reads the new one.
type addressClaims struct {
	agents   client.Reader
	optional gather.OptionalKinds

	mu        sync.Mutex
	byAddress map[state.Address]*claims
	byAgent   map[types.NamespacedName]map[state.Address]state.Claim
}

// claims holds the claims of an address by their Agents, and the oldest of them.
type claims struct {
	byAgent map[types.NamespacedName]state.Claim
	oldest  state.Claim
}

func newAddressClaims(agents client.Reader, optional gather.OptionalKinds) *addressClaims {
	return &addressClaims{
		agents: agents, optional: optional,
		byAddress: map[state.Address]*claims{},
		byAgent:   map[types.NamespacedName]map[state.Address]state.Claim{},
	}
}

// oldestOf returns the oldest claim of each address that an Agent requests, or nil if the Agent
// requests none. The result has no entry for an address without a claim. The cost of a call
// depends on the number of the Agent's addresses, and not on the number of claims.
func (a *addressClaims) oldestOf(agent *a2av1alpha1.Agent) map[state.Address]state.Claim {
	addresses := desired.Addresses(agent)
	if len(addresses) == 0 {
		return nil
	}
	oldest := map[state.Address]state.Claim{}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, at := range addresses {
		if known := a.byAddress[at]; known != nil {
			oldest[at] = known.oldest
		}
	}
	return oldest
}

// has reports whether the index contains claims of an Agent.
func (a *addressClaims) has(agent types.NamespacedName) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.byAgent[agent]) > 0
}

// refresh reads the claims of an Agent from the caches, and puts them into the index in place of
// the Agent's former claims. It returns the addresses whose oldest claim has changed. If a read
// fails, refresh returns the error and does not change the index.
func (a *addressClaims) refresh(ctx context.Context, agent types.NamespacedName) ([]state.Address, error) {
	a.mu.Lock() // held during the reads, too, so that no older state replaces a newer one
	defer a.mu.Unlock()
	next, err := a.read(ctx, agent)
	if err != nil {
		return nil, err
	}
	var changed []state.Address
	for at := range a.byAgent[agent] {
		if _, kept := next[at]; !kept && a.remove(at, agent) {
			changed = append(changed, at)
		}
	}
	for at, claim := range next {
		if a.put(at, claim) {
			changed = append(changed, at)
		}
	}
	a.byAgent[agent] = next
	if len(next) == 0 {
		delete(a.byAgent, agent)
	}
	return changed, nil
}

// read returns the claims of an Agent in the caches, or nil if the Agent does not exist.
func (a *addressClaims) read(ctx context.Context, key types.NamespacedName) (map[state.Address]state.Claim, error) {
	agent, err := gather.Read[a2av1alpha1.Agent](ctx, a.agents, key.Namespace, key.Name)
	if agent == nil || err != nil {
		return nil, err
	}
	web, err := gather.Read[gatewayv1.HTTPRoute](ctx, a.optional.Reader(gather.HTTPRoutes), key.Namespace, names.HTTPRoute(key.Name))
	if err != nil {
		return nil, err
	}
	grpc, err := gather.Read[gatewayv1.GRPCRoute](ctx, a.optional.Reader(gather.GRPCRoutes), key.Namespace, names.GRPCRoute(key.Name))
	if err != nil {
		return nil, err
	}
	return desired.Claims(agent, web, grpc), nil
}

// put adds or replaces a claim. It reports whether the oldest claim of the address has changed.
// The caller holds a.mu.
func (a *addressClaims) put(at state.Address, claim state.Claim) bool {
	known := a.byAddress[at]
	if known == nil {
		a.byAddress[at] = &claims{byAgent: map[types.NamespacedName]state.Claim{claim.Agent: claim}, oldest: claim}
		return true
	}
	before := known.oldest
	known.byAgent[claim.Agent] = claim
	switch {
	case claim.Equal(before):
		return false
	case claim.Precedes(before):
		known.oldest = claim
	case claim.Agent == before.Agent:
		known.findOldest()
	}
	return !known.oldest.Equal(before)
}

// remove removes the claim of an Agent, which must exist. It reports whether the oldest claim of
// the address has changed. The caller holds a.mu.
func (a *addressClaims) remove(at state.Address, agent types.NamespacedName) bool {
	known := a.byAddress[at]
	delete(known.byAgent, agent)
	if len(known.byAgent) == 0 {
		delete(a.byAddress, at)
		return true
	}
	if known.oldest.Agent != agent {
		return false
	}
	known.findOldest()
	return true
}

// findOldest sets oldest by visiting all claims. It is called only if the oldest claim has
// changed or was removed. This is rare, and all Agents at the address are then enqueued anyway.
func (c *claims) findOldest() {
	first := true
	for _, claim := range c.byAgent {
		if first || claim.Precedes(c.oldest) {
			c.oldest = claim
			first = false
		}
	}
}
