// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/gather"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// exposedCache is a cache of Agents and of their HTTPRoutes, which one Gateway accepts. visited is
// the number of its Gets, plus the number of Agents that its Lists returned.
type exposedCache struct {
	client.Reader
	agents  map[types.NamespacedName]*a2av1alpha1.Agent
	routes  map[types.NamespacedName]*gatewayv1.HTTPRoute
	visited int
}

func (c *exposedCache) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	c.visited++
	switch obj := obj.(type) {
	case *a2av1alpha1.Agent:
		if agent := c.agents[key]; agent != nil {
			*obj = *agent
			return nil
		}
	case *gatewayv1.HTTPRoute:
		if route := c.routes[key]; route != nil {
			*obj = *route
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (c *exposedCache) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var filter client.ListOptions
	filter.ApplyOptions(options)
	key, _ := filter.FieldSelector.RequiresExactMatch(agentsByAddress)
	for _, agent := range c.agents {
		if slices.Contains(addressKeys(agent), key) {
			c.visited++
			list.(*a2av1alpha1.AgentList).Items = append(list.(*a2av1alpha1.AgentList).Items, *agent)
		}
	}
	return nil
}

// onlyHTTPRoutes is a cluster that has HTTPRoutes only.
type onlyHTTPRoutes struct{ cache client.Reader }

func (o onlyHTTPRoutes) Reader(kind schema.GroupResource) client.Reader {
	if kind == gather.HTTPRoutes {
		return o.cache
	}
	return nil
}

func (onlyHTTPRoutes) Unreadable(schema.GroupResource) string { return "" }

// add adds an Agent with the given hostnames. created is the creation time of its route, in seconds
// since 1970.
func (c *exposedCache) add(name string, created int64, hosts ...a2av1alpha1.Hostname) types.NamespacedName {
	agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(name)}}
	agent.Spec.Exposure = &a2av1alpha1.AgentExposure{ParentRefs: []a2av1alpha1.GatewayRef{{Name: "shared"}}, Hostnames: hosts}
	route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: name, CreationTimestamp: metav1.NewTime(time.Unix(created, 0)),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(agent, a2av1alpha1.GroupVersion.WithKind("Agent"))},
	}}
	for _, host := range hosts {
		route.Spec.Hostnames = append(route.Spec.Hostnames, gatewayv1.Hostname(host))
	}
	route.Spec.Rules = []gatewayv1.HTTPRouteRule{{Matches: []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{Value: new("/")}}}}}
	route.Status.Parents = []gatewayv1.RouteParentStatus{{
		ParentRef:  gatewayv1.ParentReference{Name: "shared"},
		Conditions: []metav1.Condition{{Type: "Accepted", Status: metav1.ConditionTrue}},
	}}
	key := client.ObjectKeyFromObject(agent)
	c.agents[key], c.routes[key] = agent, route
	return key
}

func newExposedCache() (*exposedCache, agentMapping) {
	cache := &exposedCache{agents: map[types.NamespacedName]*a2av1alpha1.Agent{}, routes: map[types.NamespacedName]*gatewayv1.HTTPRoute{}}
	return cache, agentMapping{cache: cache, claims: newAddressClaims(cache, onlyHTTPRoutes{cache})}
}

// TestManyAgentsAtOneAddress checks that a reconcile and most events visit none of the other Agents
// at an address, however many there are.
func TestManyAgentsAtOneAddress(t *testing.T) {
	const agents = 1_000
	cache, mapping := newExposedCache()
	for i := range agents {
		key := cache.add(fmt.Sprintf("echo-%d", i), int64(i), "a.example", "b.example")
		cache.visited = 0
		requests := mapping.ofClaims(t.Context(), key)
		if i > 0 && (len(requests) > 0 || cache.visited > 2) {
			t.Fatalf("the event of a younger Agent enqueues %d Agents and reads %d objects, want none, and the Agent with its route", len(requests), cache.visited)
		}
	}
	cache.visited = 0
	unexposed := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "unexposed"}}
	if requests := mapping.competitorsOf(t.Context(), unexposed); len(requests) > 0 || cache.visited > 0 {
		t.Errorf("the event of an Agent without an exposure enqueues %d Agents and reads %d objects, want none", len(requests), cache.visited)
	}
	last := cache.agents[types.NamespacedName{Namespace: "team", Name: fmt.Sprintf("echo-%d", agents-1)}]
	found := mapping.claims.oldestOf(last)
	if len(found) != 2 || cache.visited != 0 {
		t.Fatalf("oldestOf() returned %d claims and read %d objects, want the oldest of 2 addresses, and no object", len(found), cache.visited)
	}
	for at, claim := range found {
		if claim.Agent.Name != "echo-0" {
			t.Errorf("the oldest claim of %v is of %s, want echo-0", at, claim.Agent)
		}
	}
}

// TestUnchangedOldestClaim checks that an event that does not change the oldest claim visits no other claim.
func TestUnchangedOldestClaim(t *testing.T) {
	cache, mapping := newExposedCache()
	oldest := cache.add("oldest", 1, "a.example")
	mapping.ofClaims(t.Context(), oldest)
	hidden := state.Claim{Agent: types.NamespacedName{Namespace: "team", Name: "hidden"}} // without a creation time, so it precedes every claim: a visit of all claims would find it
	for _, known := range mapping.claims.byAddress {
		known.byAgent[hidden.Agent] = hidden
	}
	if requests := mapping.ofClaims(t.Context(), oldest); len(requests) > 0 {
		t.Errorf("the event visits the other claims, and enqueues %v", requests)
	}
	for at, claim := range mapping.claims.oldestOf(cache.agents[oldest]) {
		if claim.Agent != oldest {
			t.Errorf("the oldest claim of %v is of %s, want %s", at, claim.Agent, oldest)
		}
	}
}

// TestClaimsFollowEvents checks that each change of the oldest claim enqueues the Agents at the address.
func TestClaimsFollowEvents(t *testing.T) {
	cache, mapping := newExposedCache()
	middle := cache.add("middle", 2, "a.example")
	oldest := cache.add("oldest", 1, "a.example", "b.example")
	youngest := cache.add("youngest", 3, "a.example")
	for _, step := range []struct {
		name   string
		change func()
		event  types.NamespacedName
		want   string // the Agent with the oldest claim to a.example
		all    bool   // whether the Agents at a.example are enqueued
	}{
		{name: "the first Agent", event: middle, want: "middle", all: true},
		{name: "a younger Agent", event: youngest, want: "middle"},
		{name: "an older Agent", event: oldest, want: "oldest", all: true},
		{name: "the same event again", event: oldest, want: "oldest"},
		{name: "a route that the Gateway refuses", event: oldest, want: "middle", all: true, change: func() {
			cache.routes[oldest].Status.Parents[0].Conditions[0].Status = metav1.ConditionFalse
		}},
		{name: "a route that the Gateway accepts again", event: oldest, want: "oldest", all: true, change: func() {
			cache.routes[oldest].Status.Parents[0].Conditions[0].Status = metav1.ConditionTrue
		}},
		{name: "a route that was created again", event: oldest, want: "middle", all: true, change: func() {
			cache.routes[oldest].CreationTimestamp = metav1.NewTime(time.Unix(4, 0))
		}},
		{name: "another path", event: middle, want: "youngest", all: true, change: func() {
			cache.agents[middle].Spec.Exposure.Path = "/other"
		}},
		{name: "no exposure", event: youngest, want: "oldest", all: true, change: func() { cache.agents[youngest].Spec.Exposure = nil }},
		{name: "a deleted Agent", event: oldest, want: "", all: true, change: func() { delete(cache.agents, oldest) }},
	} {
		if step.change != nil {
			step.change()
		}
		var want, got []string
		for key, agent := range cache.agents {
			if step.all && agent.Spec.Exposure != nil && agent.Spec.Exposure.Path == "" {
				want = append(want, key.Name)
			}
		}
		for _, request := range expand(t, mapping, mapping.ofClaims(t.Context(), step.event)) {
			got = append(got, request.Name)
		}
		slices.Sort(want)
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("%s: enqueued %v, want %v", step.name, got, want)
		}
		asked := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "asks"}}
		asked.Spec.Exposure = &a2av1alpha1.AgentExposure{ParentRefs: []a2av1alpha1.GatewayRef{{Name: "shared"}}, Hostnames: []a2av1alpha1.Hostname{"a.example"}}
		holder := ""
		for _, claim := range mapping.claims.oldestOf(asked) {
			holder = claim.Agent.Name
		}
		if holder != step.want {
			t.Errorf("%s: the oldest claim is of %q, want %q", step.name, holder, step.want)
		}
	}
	if len(mapping.claims.byAgent) != 0 || len(mapping.claims.byAddress) != 0 {
		t.Errorf("the index has %d Agents and %d addresses without an accepted route, want none",
			len(mapping.claims.byAgent), len(mapping.claims.byAddress))
	}
}
