// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/crdwatch"
	"github.com/a2a-operator/a2a-operator/internal/operator/gather"
	"github.com/a2a-operator/a2a-operator/internal/operator/informercache"
)

// NewScheme returns a scheme of every kind that the manager reads or writes.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), a2av1alpha1.AddToScheme(scheme), gatewayv1.Install(scheme)); err != nil {
		return nil, fmt.Errorf("build scheme: %w", err)
	}
	return scheme, nil
}

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=gateways.gateway.networking.k8s.io;httproutes.gateway.networking.k8s.io;grpcroutes.gateway.networking.k8s.io,verbs=list;watch

// optionalKinds returns the watch of the kinds of the Gateway API, which are optional in a
// cluster.
func optionalKinds(mgr manager.Manager, config Config) *crdwatch.Kinds {
	version := gatewayv1.GroupVersion.Version
	return crdwatch.New(
		crdwatch.Config{
			Cluster:    mgr.GetConfig(),
			HTTPClient: mgr.GetHTTPClient(),
			Mapper:     mgr.GetRESTMapper(),
			Scheme:     mgr.GetScheme(),
			Cache:      informercache.OptionalOptions(config.WatchNamespaces),
		},
		crdwatch.Kind{Resource: gather.Gateways, Version: version, Object: &gatewayv1.Gateway{}, Transform: informercache.StripGateway},
		crdwatch.Kind{Resource: gather.HTTPRoutes, Version: version, Object: &gatewayv1.HTTPRoute{}, Transform: informercache.StripForeign},
		crdwatch.Kind{Resource: gather.GRPCRoutes, Version: version, Object: &gatewayv1.GRPCRoute{}, Transform: informercache.StripForeign},
	)
}
