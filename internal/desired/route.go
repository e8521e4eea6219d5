// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	"github.com/a2a-operator/a2a-operator/internal/names"
)

// GatewayAPIVersion is the first release of the Gateway API whose standard CRDs have all
// fields of the routes, including the timeouts of HTTPRoutes.
const GatewayAPIVersion = "v1.2"

const (
	// noTimeout disables the timeout of a Gateway, because a stream lasts as long as its
	// task.
	noTimeout = "0s"
	// rootPath is the path of the sidecar's endpoint.
	rootPath = "/"
)

// httpRoute returns the HTTPRoute that routes JSON-RPC, HTTP+JSON and the card to the
// Service. It returns nil without spec.exposure, or if the cluster does not have the
// kind.
func httpRoute(in clusterstate.Agent) *gatewayv1ac.HTTPRouteApplyConfiguration {
	exposure := in.Agent.Spec.Exposure
	if exposure == nil || !in.GatewayAPI.HTTPRoutes {
		return nil
	}
	rule := gatewayv1ac.HTTPRouteRule().
		WithMatches(gatewayv1ac.HTTPRouteMatch().WithPath(gatewayv1ac.HTTPPathMatch().
			WithType(gatewayv1.PathMatchPathPrefix).
			WithValue(exposurePath(exposure)))).
		WithBackendRefs(gatewayv1ac.HTTPBackendRef().
			WithName(gatewayv1.ObjectName(names.Service(in.Agent.Name))).
			WithPort(callPort(in.Agent))).
		WithTimeouts(gatewayv1ac.HTTPRouteTimeouts().WithRequest(noTimeout))
	if exposurePath(exposure) != rootPath {
		rule.WithFilters(gatewayv1ac.HTTPRouteFilter().
			WithType(gatewayv1.HTTPRouteFilterURLRewrite).
			WithURLRewrite(gatewayv1ac.HTTPURLRewriteFilter().WithPath(gatewayv1ac.HTTPPathModifier().
				WithType(gatewayv1.PrefixMatchHTTPPathModifier).
				WithReplacePrefixMatch(rootPath))))
	}
	return gatewayv1ac.HTTPRoute(names.HTTPRoute(in.Agent.Name), in.Agent.Namespace).
		WithLabels(names.Labels(in.Agent.Name)).
		WithSpec(gatewayv1ac.HTTPRouteSpec().
			WithParentRefs(parentRefs(exposure)...).
			WithHostnames(hostnames(exposure.Hostnames)...).
			WithRules(rule))
}

// grpcRoute returns the GRPCRoute that routes gRPC to the Service. It returns nil without
// grpcHostnames. gRPC needs hostnames of its own, because a Gateway accepts a hostname
// for one kind of route only.
func grpcRoute(in clusterstate.Agent) *gatewayv1ac.GRPCRouteApplyConfiguration {
	exposure := in.Agent.Spec.Exposure
	if exposure == nil || len(exposure.GRPCHostnames) == 0 || !in.GatewayAPI.GRPCRoutes {
		return nil
	}
	return gatewayv1ac.GRPCRoute(names.GRPCRoute(in.Agent.Name), in.Agent.Namespace).
		WithLabels(names.Labels(in.Agent.Name)).
		WithSpec(gatewayv1ac.GRPCRouteSpec().
			WithParentRefs(parentRefs(exposure)...).
			WithHostnames(hostnames(exposure.GRPCHostnames)...).
			WithRules(gatewayv1ac.GRPCRouteRule().WithBackendRefs(gatewayv1ac.GRPCBackendRef().
				WithName(gatewayv1.ObjectName(names.Service(in.Agent.Name))).
				WithPort(grpcServicePort))))
}

func parentRefs(exposure *a2av1alpha1.AgentExposure) []*gatewayv1ac.ParentReferenceApplyConfiguration {
	var refs []*gatewayv1ac.ParentReferenceApplyConfiguration
	for _, parent := range exposure.ParentRefs {
		ref := gatewayv1ac.ParentReference().WithName(gatewayv1.ObjectName(parent.Name))
		if parent.Namespace != "" {
			ref.WithNamespace(gatewayv1.Namespace(parent.Namespace))
		}
		if parent.SectionName != "" {
			ref.WithSectionName(gatewayv1.SectionName(parent.SectionName))
		}
		refs = append(refs, ref)
	}
	return refs
}

func hostnames(written []a2av1alpha1.Hostname) []gatewayv1.Hostname {
	var all []gatewayv1.Hostname
	for _, h := range written {
		all = append(all, gatewayv1.Hostname(h))
	}
	return all
}

func exposurePath(exposure *a2av1alpha1.AgentExposure) string {
	if exposure.Path == "" {
		return rootPath
	}
	return exposure.Path
}
