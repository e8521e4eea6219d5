// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	"github.com/a2a-operator/a2a-operator/internal/names"
)

// gatewayAPI reads the Gateways to which an Agent refers, and the routes with the Agent's
// name. It also reads routes of an Agent without spec.exposure, because the routes of an
// earlier spec must be deleted.
func (g *Gatherer) gatewayAPI(ctx context.Context, agent *a2av1alpha1.Agent, children *clusterstate.Children) (clusterstate.GatewayAPI, error) {
	var api clusterstate.GatewayAPI
	var err error
	if reader := g.config.Optional.Reader(HTTPRoutes); reader != nil {
		api.HTTPRoutes = true
		if children.HTTPRoute, err = read[gatewayv1.HTTPRoute](ctx, reader, agent.Namespace, names.HTTPRoute(agent.Name)); err != nil {
			return clusterstate.GatewayAPI{}, err
		}
	}
	if reader := g.config.Optional.Reader(GRPCRoutes); reader != nil {
		api.GRPCRoutes = true
		if children.GRPCRoute, err = read[gatewayv1.GRPCRoute](ctx, reader, agent.Namespace, names.GRPCRoute(agent.Name)); err != nil {
			return clusterstate.GatewayAPI{}, err
		}
	}
	if agent.Spec.Exposure != nil {
		api.Unreadable = clusterstate.Unreadable{
			Gateways:   g.config.Optional.Unreadable(Gateways),
			HTTPRoutes: g.config.Optional.Unreadable(HTTPRoutes),
			GRPCRoutes: g.config.Optional.Unreadable(GRPCRoutes),
		}
	}
	api.Claims = g.config.Claims(agent)
	api.Gateways, err = g.gateways(ctx, agent)
	return api, err
}

func (g *Gatherer) gateways(ctx context.Context, agent *a2av1alpha1.Agent) (map[types.NamespacedName]*gatewayv1.Gateway, error) {
	reader := g.config.Optional.Reader(Gateways)
	if reader == nil || agent.Spec.Exposure == nil {
		return nil, nil
	}
	gateways := map[types.NamespacedName]*gatewayv1.Gateway{}
	for _, ref := range agent.Spec.Exposure.ParentRefs {
		key := names.Gateway(agent, ref)
		if !g.watched(key.Namespace) {
			continue
		}
		gateway, err := read[gatewayv1.Gateway](ctx, reader, key.Namespace, key.Name)
		if err != nil {
			return nil, err
		}
		if gateway != nil {
			gateways[key] = gateway
		}
	}
	return gateways, nil
}
