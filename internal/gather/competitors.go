// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	"github.com/a2a-operator/a2a-operator/internal/names"
)

// AgentsByAddress is the index of Agents by the addresses that they request at Gateways. Two
// Agents with the same key may be in conflict.
const AgentsByAddress = "spec.exposure.addresses"

// AddressKeys returns the keys of an Agent in the index AgentsByAddress. A key is a Gateway with
// a hostname and a path, or a Gateway with a hostname for gRPC.
func AddressKeys(obj client.Object) []string {
	agent, ok := obj.(*a2av1alpha1.Agent)
	if !ok || agent.Spec.Exposure == nil {
		return nil
	}
	exposure := agent.Spec.Exposure
	hostnames := exposure.Hostnames
	if len(hostnames) == 0 {
		hostnames = []a2av1alpha1.Hostname{""}
	}
	var keys []string
	for _, ref := range exposure.ParentRefs {
		gateway := names.Gateway(agent, ref).String()
		for _, host := range hostnames {
			keys = append(keys, gateway+" "+string(host)+cmp.Or(exposure.Path, "/"))
		}
		for _, host := range exposure.GRPCHostnames {
			keys = append(keys, gateway+" grpc "+string(host))
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys) // the Agent may refer to several listeners of one Gateway
}

// competitors returns the other Agents that request an address of this Agent, with their routes,
// ordered by namespace and name.
func (g *Gatherer) competitors(ctx context.Context, agent *a2av1alpha1.Agent) ([]clusterstate.Competitor, error) {
	var competitors []clusterstate.Competitor
	// A map, because anyone who may create Agents may request the addresses of others.
	known := map[types.NamespacedName]struct{}{client.ObjectKeyFromObject(agent): {}}
	for _, key := range AddressKeys(agent) {
		list := &a2av1alpha1.AgentList{}
		if err := g.config.Reader.List(ctx, list, client.MatchingFields{AgentsByAddress: key}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list Agents at %s: %w", key, err)
		}
		for i := range list.Items {
			other := &list.Items[i]
			if _, again := known[client.ObjectKeyFromObject(other)]; again {
				continue
			}
			known[client.ObjectKeyFromObject(other)] = struct{}{}
			competitor := clusterstate.Competitor{Agent: other}
			var err error
			if competitor.HTTPRoute, err = optionalRoute[gatewayv1.HTTPRoute](ctx, g.config.Optional.Reader(HTTPRoutes), other.Namespace, names.HTTPRoute(other.Name)); err != nil {
				return nil, err
			}
			if competitor.GRPCRoute, err = optionalRoute[gatewayv1.GRPCRoute](ctx, g.config.Optional.Reader(GRPCRoutes), other.Namespace, names.GRPCRoute(other.Name)); err != nil {
				return nil, err
			}
			competitors = append(competitors, competitor)
		}
	}
	slices.SortFunc(competitors, func(a, b clusterstate.Competitor) int {
		return cmp.Or(cmp.Compare(a.Agent.Namespace, b.Agent.Namespace), cmp.Compare(a.Agent.Name, b.Agent.Name))
	})
	return competitors, nil
}

// optionalRoute returns a cached route, or nil if the route or the reader does not exist.
func optionalRoute[T any, O interface {
	*T
	client.Object
}](ctx context.Context, reader client.Reader, namespace, name string) (O, error) {
	if reader == nil {
		return nil, nil
	}
	return read[T, O](ctx, reader, namespace, name)
}
