// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/exposure"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// maxNamed is the maximum number of allowed hostnames in a message.
const maxNamed = 8

// isPermitted reports whether the rules of exposure allow a hostname and path at a Gateway.
func isPermitted(in state.Agent, gateway types.NamespacedName, host, path string) bool {
	return slices.ContainsFunc(in.Exposure, func(p exposure.Permission) bool { return p.Permits(gateway, host, path) })
}

// allowsRoute reports whether the rules of exposure allow the desired route of a kind.
func allowsRoute(in state.Agent, kind gatewayv1.Kind) bool {
	return !slices.ContainsFunc(exposedRoutes(in), func(r exposedRoute) bool { return r.kind == kind && r.refusal(in) != nil })
}

// refusal returns the problem of the first hostname or URL of a route that the rules of exposure
// do not allow, or nil if they allow all. The operator creates a route with all its hostnames or
// not at all: a route that has lost its last hostname would match all names of the listeners.
func (r exposedRoute) refusal(in state.Agent) *state.Problem {
	exposure := in.Agent.Spec.Exposure
	for _, ref := range exposure.ParentRefs {
		gateway := names.Gateway(in.Agent, ref)
		for _, host := range r.wanted() {
			if !isPermitted(in, gateway, string(host), r.path) {
				return notAllowed(in, gateway, r.describe(host))
			}
		}
		if r.kind == kindHTTPRoute && exposure.URL != "" && !permitsURL(in, gateway, exposure.URL) {
			return notAllowed(in, gateway, "spec.exposure.url is "+exposure.URL)
		}
	}
	return nil
}

// describe names the fields with a hostname and the path of a route.
func (r exposedRoute) describe(host a2av1alpha1.Hostname) string {
	text := r.field + " has " + string(host)
	if isAnyHost(host) {
		text = r.field + " is absent, which requests all hostnames of the listeners"
	}
	if r.path != rootPath {
		text += " with spec.exposure.path " + r.path
	}
	return text
}

// noGateway stands for a proxy that is no Gateway. A rule with Gateways does not apply to it.
var noGateway types.NamespacedName

// permitsURL reports whether the rules of exposure allow a URL to the Agent at a Gateway.
func permitsURL(in state.Agent, gateway types.NamespacedName, url string) bool {
	return slices.ContainsFunc(in.Exposure, func(p exposure.Permission) bool { return p.PermitsURL(gateway, url) })
}

func notAllowed(in state.Agent, gateway types.NamespacedName, cause string) *state.Problem {
	var allowed []string
	for _, p := range in.Exposure {
		if len(p.Gateways) == 0 || slices.Contains(p.Gateways, gateway) {
			allowed = append(allowed, p.Hostnames...)
		}
	}
	slices.Sort(allowed)
	allowed = slices.Compact(allowed)
	where := ""
	if gateway != noGateway {
		where = fmt.Sprintf(" at Gateway %q of namespace %q", gateway.Name, gateway.Namespace)
	}
	problem := exposureProblem(a2av1alpha1.ReasonHostnameNotAllowed,
		"%s, which is not allowed to namespace %q%s (allowed hostnames: %s); "+
			"use a hostname and path that are allowed, or ask the installer of the operator to allow them (exposure.allowed of the chart)",
		cause, in.Agent.Namespace, where, cmp.Or(strings.Join(allowed[:min(len(allowed), maxNamed)], ", "), "none"))
	return &problem
}

// ForbiddenRoutes returns the existing routes of the Agent that the rules of exposure do not allow.
// They depend on the routes and not on the spec, so that an Agent with a mistake in its spec does
// not keep a route. Each result is nil if there is no such route.
func ForbiddenRoutes(in state.Agent) (web *gatewayv1.HTTPRoute, grpc *gatewayv1.GRPCRoute) {
	forbidden := func(refs []gatewayv1.ParentReference, hosts []gatewayv1.Hostname, path string) bool {
		if len(hosts) == 0 {
			hosts = []gatewayv1.Hostname{gatewayv1.Hostname(anyHost)}
		}
		return slices.ContainsFunc(refs, func(ref gatewayv1.ParentReference) bool {
			gateway := types.NamespacedName{
				Namespace: string(ptr.Deref(ref.Namespace, gatewayv1.Namespace(in.Agent.Namespace))), Name: string(ref.Name),
			}
			return slices.ContainsFunc(hosts, func(host gatewayv1.Hostname) bool { return !isPermitted(in, gateway, string(host), path) })
		})
	}
	if r := in.Children.HTTPRoute; r != nil && metav1.IsControlledBy(r, in.Agent) && forbidden(r.Spec.ParentRefs, r.Spec.Hostnames, pathOf(r)) {
		web = r
	}
	if r := in.Children.GRPCRoute; r != nil && metav1.IsControlledBy(r, in.Agent) && forbidden(r.Spec.ParentRefs, r.Spec.Hostnames, rootPath) {
		grpc = r
	}
	return web, grpc
}
