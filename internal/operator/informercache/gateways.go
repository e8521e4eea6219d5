// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// StripGateway is a transform for Gateways. It keeps what the operator needs to find the addresses
// at which a Gateway serves a route. It omits among others the numbers of attached routes. These
// numbers change with each Agent that is created or deleted, and each change would reconcile all
// other Agents of the Gateway.
func StripGateway(obj any) (any, error) {
	gateway, ok := obj.(*gatewayv1.Gateway)
	if !ok {
		return obj, nil
	}
	kept := &gatewayv1.Gateway{ObjectMeta: identity(gateway.ObjectMeta)}
	for i := range gateway.Spec.Listeners {
		l := &gateway.Spec.Listeners[i]
		kept.Spec.Listeners = append(kept.Spec.Listeners, gatewayv1.Listener{
			Name: l.Name, Hostname: l.Hostname, Port: l.Port, Protocol: l.Protocol, AllowedRoutes: l.AllowedRoutes,
		})
	}
	kept.Status.Addresses = some(gateway.Status.Addresses, func(a gatewayv1.GatewayStatusAddress) (gatewayv1.GatewayStatusAddress, bool) { return a, a.Value != "" })
	for i := range gateway.Status.Listeners {
		l := &gateway.Status.Listeners[i]
		kept.Status.Listeners = append(kept.Status.Listeners, gatewayv1.ListenerStatus{
			Name: l.Name, SupportedKinds: l.SupportedKinds,
			Conditions: conditions(l.Conditions, string(gatewayv1.ListenerConditionAccepted), string(gatewayv1.ListenerConditionProgrammed), string(gatewayv1.ListenerConditionConflicted)),
		})
	}
	if sizeOf(kept) > maxGateway {
		return &gatewayv1.Gateway{ObjectMeta: kept.ObjectMeta}, nil
	}
	return kept, nil
}
