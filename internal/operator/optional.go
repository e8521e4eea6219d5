// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/a2a-operator/a2a-operator/internal/crdwatch"
	"github.com/a2a-operator/a2a-operator/internal/gather"
)

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=gateways.gateway.networking.k8s.io;httproutes.gateway.networking.k8s.io;grpcroutes.gateway.networking.k8s.io,verbs=list;watch

// optionalKinds are those that a cluster may not have.
func optionalKinds(mgr manager.Manager, settings Config) *crdwatch.Kinds {
	version := gatewayv1.GroupVersion.Version
	return crdwatch.New(
		crdwatch.Config{
			Cluster:    mgr.GetConfig(),
			HTTPClient: mgr.GetHTTPClient(),
			Mapper:     mgr.GetRESTMapper(),
			Scheme:     mgr.GetScheme(),
			Cache:      cache.Options{DefaultNamespaces: watchedNamespaces(settings)},
		},
		crdwatch.Kind{Resource: gather.Gateways, Version: version, Object: &gatewayv1.Gateway{}, Transform: stripGateway},
		crdwatch.Kind{Resource: gather.HTTPRoutes, Version: version, Object: &gatewayv1.HTTPRoute{}, Transform: stripForeign},
		crdwatch.Kind{Resource: gather.GRPCRoutes, Version: version, Object: &gatewayv1.GRPCRoute{}, Transform: stripForeign},
	)
}

// stripGateway leaves out how many routes a Gateway has, which changes with each
// Agent that comes or goes: it would have all others at that Gateway looked at.
func stripGateway(obj any) (any, error) {
	if gateway, ok := obj.(*gatewayv1.Gateway); ok {
		gateway.SetManagedFields(nil)
		for i := range gateway.Status.Listeners {
			gateway.Status.Listeners[i].AttachedRoutes = 0
		}
	}
	return obj, nil
}
