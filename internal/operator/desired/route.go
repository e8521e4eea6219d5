// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
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
// Service. It returns nil without spec.exposure.parentRefs, if the rules of exposure do not allow
// the route, or if the cluster does not have the kind.
func httpRoute(in state.Agent) *gatewayv1ac.HTTPRouteApplyConfiguration {
	exposure := in.Agent.Spec.Exposure
	if exposure == nil || len(exposure.ParentRefs) == 0 || !in.GatewayAPI.HTTPRoutes || !allowsRoute(in, kindHTTPRoute) {
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
			WithHostnames(texts[gatewayv1.Hostname](exposure.Hostnames)...).
			WithRules(rule))
}

// grpcRoute returns the GRPCRoute that routes gRPC to the Service. It returns nil without
// spec.exposure.grpcHostnames, if the rules of exposure do not allow the route, or if the
// cluster does not have the kind. gRPC needs hostnames of its own, because a Gateway accepts
// a hostname for one kind of route only.
func grpcRoute(in state.Agent) *gatewayv1ac.GRPCRouteApplyConfiguration {
	exposure := in.Agent.Spec.Exposure
	if exposure == nil || len(exposure.GRPCHostnames) == 0 || !in.GatewayAPI.GRPCRoutes || !allowsRoute(in, kindGRPCRoute) {
		return nil
	}
	return gatewayv1ac.GRPCRoute(names.GRPCRoute(in.Agent.Name), in.Agent.Namespace).
		WithLabels(names.Labels(in.Agent.Name)).
		WithSpec(gatewayv1ac.GRPCRouteSpec().
			WithParentRefs(parentRefs(exposure)...).
			WithHostnames(texts[gatewayv1.Hostname](exposure.GRPCHostnames)...).
			WithRules(gatewayv1ac.GRPCRouteRule().WithBackendRefs(gatewayv1ac.GRPCBackendRef().
				WithName(gatewayv1.ObjectName(names.Service(in.Agent.Name))).
				WithPort(grpcPort(in.Agent)))))
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

func exposurePath(exposure *a2av1alpha1.AgentExposure) string {
	return cmp.Or(exposure.Path, rootPath)
}

// exposedRoute is the HTTPRoute or the GRPCRoute of an Agent, with its current status.
type exposedRoute struct {
	kind     gatewayv1.Kind
	resource string
	offered  bool
	// unreadable is the reason why the operator cannot read routes of this kind, "" if it
	// can.
	unreadable string
	field      string
	hostnames  []a2av1alpha1.Hostname
	// parents is the status of the route. It is nil if the route does not exist, belongs to
	// another owner, or has another hostname or path than desired, because the status of such
	// a route does not apply to the desired route.
	parents []gatewayv1.RouteParentStatus
	meta    metav1.ObjectMeta
	// path is the path after the address of a Gateway.
	path string
}

const (
	kindHTTPRoute gatewayv1.Kind = "HTTPRoute"
	kindGRPCRoute gatewayv1.Kind = "GRPCRoute"
)

func exposedRoutes(in state.Agent) []exposedRoute {
	exposure := in.Agent.Spec.Exposure
	if len(exposure.ParentRefs) == 0 {
		return nil
	}
	web := exposedRoute{
		kind: kindHTTPRoute, resource: "httproutes", offered: in.GatewayAPI.HTTPRoutes, unreadable: in.GatewayAPI.Unreadable.HTTPRoutes,
		field: "spec.exposure.hostnames", hostnames: exposure.Hostnames,
		path: exposurePath(exposure),
	}
	if r := in.Children.HTTPRoute; r != nil && metav1.IsControlledBy(r, in.Agent) &&
		slices.Equal(r.Spec.Hostnames, texts[gatewayv1.Hostname](web.hostnames)) && pathOf(r) == web.path {
		web.parents = r.Status.Parents
		web.meta = r.ObjectMeta
	}
	if len(exposure.GRPCHostnames) == 0 {
		return []exposedRoute{web}
	}
	grpc := exposedRoute{
		kind: kindGRPCRoute, resource: "grpcroutes", offered: in.GatewayAPI.GRPCRoutes, unreadable: in.GatewayAPI.Unreadable.GRPCRoutes,
		field: "spec.exposure.grpcHostnames", hostnames: exposure.GRPCHostnames,
		path: rootPath,
	}
	if r := in.Children.GRPCRoute; r != nil && metav1.IsControlledBy(r, in.Agent) &&
		slices.Equal(r.Spec.Hostnames, texts[gatewayv1.Hostname](grpc.hostnames)) {
		grpc.parents = r.Status.Parents
		grpc.meta = r.ObjectMeta
	}
	return []exposedRoute{web, grpc}
}

// removable returns the field that a user can remove so that the Agent needs no route of this
// kind.
func (r exposedRoute) removable() string {
	if r.kind == kindHTTPRoute {
		return "spec.exposure"
	}
	return r.field
}

func exposureProblem(reason, format string, args ...any) state.Problem {
	return state.NewProblem(a2av1alpha1.ConditionExposed, reason, format, args...)
}

// anyHost stands for all hostnames of a Gateway's listeners. A route without hostnames
// matches all of them.
const anyHost a2av1alpha1.Hostname = ""

func isAnyHost(host a2av1alpha1.Hostname) bool { return host == anyHost }

// pathOf returns the path of a route, or "" for a route in a form that the operator does
// not write.
func pathOf(route *gatewayv1.HTTPRoute) string {
	if len(route.Spec.Rules) != 1 || len(route.Spec.Rules[0].Matches) != 1 {
		return ""
	}
	path := route.Spec.Rules[0].Matches[0].Path
	if path == nil || path.Value == nil {
		return ""
	}
	return *path.Value
}

// parentVerdict is the status of a route at a Gateway.
type parentVerdict struct {
	accepted bool
	// refusal is the reason why the route is not accepted. It is empty while there is no
	// status.
	refusal string
}

// verdictOf returns the status of a route at one of its parents. If several controllers
// report a status, the route is accepted if one of them accepts it. The status of an
// earlier generation of the route is ignored.
func verdictOf(parents []gatewayv1.RouteParentStatus, generation int64, namespace string, ref a2av1alpha1.GatewayRef) parentVerdict {
	var verdict parentVerdict
	for i := range parents {
		if !sameParent(parents[i].ParentRef, namespace, ref) {
			continue
		}
		conditions := current(parents[i].Conditions, generation)
		refused := firstFalse(conditions, string(gatewayv1.RouteConditionAccepted), string(gatewayv1.RouteConditionResolvedRefs))
		switch {
		case refused != nil:
			verdict.refusal = refused.Reason + ": " + refused.Message
		case meta.IsStatusConditionTrue(conditions, string(gatewayv1.RouteConditionAccepted)):
			return parentVerdict{accepted: true}
		}
	}
	return verdict
}

// current returns the conditions that were observed for this generation of the route or a
// later one, and those without a generation.
func current(conditions []metav1.Condition, generation int64) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(conditions), func(c metav1.Condition) bool {
		return c.ObservedGeneration > 0 && c.ObservedGeneration < generation
	})
}

func firstFalse(conditions []metav1.Condition, types ...string) *metav1.Condition {
	for _, t := range types {
		if c := meta.FindStatusCondition(conditions, t); c != nil && c.Status == metav1.ConditionFalse {
			return c
		}
	}
	return nil
}

func sameParent(status gatewayv1.ParentReference, namespace string, ref a2av1alpha1.GatewayRef) bool {
	own := gatewayv1.Namespace(namespace)
	return string(status.Name) == ref.Name && string(ptr.Deref(status.SectionName, "")) == ref.SectionName &&
		ptr.Deref(status.Namespace, own) == cmp.Or(gatewayv1.Namespace(ref.Namespace), own)
}
