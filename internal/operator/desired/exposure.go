// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"net/url"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// exposed describes how callers reach an Agent from outside the cluster.
type exposed struct {
	// url is the URL for callers outside the cluster, "" while there is none.
	url string
	// bases are the bases of the cards for callers outside the cluster. url is the URL of
	// the first base, unless a gateway rewrites the cards.
	bases    []card.Base
	problems []state.Problem
}

// expose returns the addresses at which Gateways serve an Agent. A route counts only
// after a Gateway has accepted it.
func expose(in state.Agent) exposed {
	exposure := in.Agent.Spec.Exposure
	if exposure == nil {
		return exposed{}
	}
	if len(exposure.ParentRefs) == 0 {
		return behindProxy(in)
	}
	var result exposed
	result.problems = unseenGateways(in)
	grpc := ""
	for _, route := range exposedRoutes(in) {
		if problem := route.refusal(in); problem != nil {
			if route.kind == kindHTTPRoute {
				result.problems = nil // the author of a refused exposure has no right to know which Gateways exist
			}
			result.problems = append(result.problems, *problem)
			continue
		}
		urls, problems := route.servedAt(in)
		result.problems = append(result.problems, problems...)
		if len(urls) == 0 && route.kind == kindHTTPRoute && unseen(in) && in.Agent.Status.ExternalURL != "" {
			// Keep the last known URL: the operator cannot read the routes or Gateways
			// now, but they are probably unchanged.
			urls = []string{in.Agent.Status.ExternalURL}
		}
		if len(urls) == 0 {
			continue
		}
		if route.kind == kindGRPCRoute {
			grpc = card.NewBase(urls[0]).GRPC
			continue
		}
		result.url = urls[0]
		for _, each := range urls {
			result.bases = append(result.bases, card.Base{URL: each})
		}
	}
	for i := range result.bases {
		result.bases[i].GRPC = grpc
	}
	result.bases = withoutPaths(exposure, result.bases)
	return result
}

// withoutPaths returns the bases without the paths of their URLs if a gateway adds its path to the addresses on the card.
func withoutPaths(exposure *a2av1alpha1.AgentExposure, bases []card.Base) []card.Base {
	if !exposure.GatewayRewritesCard {
		return bases
	}
	for i := range bases {
		if u, err := url.Parse(bases[i].URL); err == nil {
			u.Path = "/"
			u.RawPath = ""
			bases[i].URL = u.String()
		}
	}
	return slices.CompactFunc(bases, func(a, b card.Base) bool { return a == b })
}

// behindProxy returns the address of a proxy that its owner configures, if the rules of exposure allow it.
func behindProxy(in state.Agent) exposed {
	exposure := in.Agent.Spec.Exposure
	if !permitsURL(in, noGateway, exposure.URL) {
		return exposed{problems: []state.Problem{*notAllowed(in, noGateway, "spec.exposure.url is "+exposure.URL)}}
	}
	address := strings.TrimSuffix(exposure.URL, "/") + "/"
	return exposed{url: address, bases: withoutPaths(exposure, []card.Base{{URL: address}})}
}

// maxExternal is the maximum number of external bases of an Agent. The sidecar stores one
// card for each base. Requests for other hosts get the card of the first base.
const maxExternal = 16

// servedAt returns the URLs at which Gateways serve a route, the preferred URL first, and
// the problems of the route.
func (r exposedRoute) servedAt(in state.Agent) ([]string, []state.Problem) {
	if r.unreadable != "" {
		return nil, []state.Problem{unreadable(r.kind, r.resource, r.unreadable)}
	}
	if !r.offered {
		return nil, []state.Problem{gatewayAPIMissing(r)}
	}
	exposure := in.Agent.Spec.Exposure
	var problems []state.Problem
	var addresses []address
	accepted := false
	for i, ref := range exposure.ParentRefs {
		if in.GatewayAPI.Gateways[names.Gateway(in.Agent, ref)] == nil && exposure.URL == "" {
			continue
		}
		verdict := verdictOf(r.parents, r.meta.Generation, in.Agent.Namespace, ref)
		switch {
		case verdict.refusal != "":
			problems = append(problems, routeNotAccepted(r, i, ref, verdict.refusal))
		case !verdict.accepted:
			problems = append(problems, routePending(r, i, ref))
		default:
			free, taken := r.freeHostnames(in, i)
			problems = append(problems, taken...)
			if len(free) == 0 {
				continue
			}
			accepted = true
			if gateway := in.GatewayAPI.Gateways[names.Gateway(in.Agent, ref)]; gateway != nil {
				addresses = append(addresses, gatewayAddresses(gateway, attachment{
					kind: r.kind, namespace: in.Agent.Namespace, namespaceLabels: in.NamespaceLabels,
					section: ref.SectionName, hostnames: slices.DeleteFunc(free, isAnyHost),
				})...)
			}
		}
	}
	switch {
	case !accepted:
		return nil, problems
	case exposure.URL != "" && r.kind == kindHTTPRoute:
		return []string{exposure.URL}, problems
	case len(addresses) == 0:
		return nil, append(problems, addressUnknown(r))
	default:
		return r.urls(addresses), problems
	}
}

// urls returns the distinct URLs of addresses, at most maxExternal, with the preferred
// URL first.
func (r exposedRoute) urls(addresses []address) []string {
	var urls []string
	for _, a := range slices.Concat([]address{best(addresses)}, addresses) {
		served := strings.TrimSuffix(a.String()+r.path, "/") + "/"
		if len(urls) < maxExternal && !slices.Contains(urls, served) {
			urls = append(urls, served)
		}
	}
	return urls
}

// unseen reports whether the operator cannot read the HTTPRoutes or Gateways that
// determine the URLs of the Agent.
func unseen(in state.Agent) bool {
	return in.GatewayAPI.Unreadable.HTTPRoutes != "" || in.GatewayAPI.Unreadable.Gateways != "" && in.Agent.Spec.Exposure.URL == ""
}

// unseenGateways returns a problem for each Gateway that does not exist, or one problem
// if Gateways cannot be read. With spec.exposure.url it returns no problem, because this
// URL does not depend on Gateways. It also returns no problem if the cluster does not have
// the kind HTTPRoute, because servedAt reports the missing kind.
func unseenGateways(in state.Agent) []state.Problem {
	if in.Agent.Spec.Exposure.URL != "" {
		return nil
	}
	if why := in.GatewayAPI.Unreadable.Gateways; why != "" {
		return []state.Problem{unreadable("Gateway", "gateways", why)}
	}
	if !in.GatewayAPI.HTTPRoutes {
		return nil
	}
	var problems []state.Problem
	for i, ref := range in.Agent.Spec.Exposure.ParentRefs {
		key := names.Gateway(in.Agent, ref)
		if in.GatewayAPI.Gateways[key] == nil {
			problems = append(problems, exposureProblem(a2av1alpha1.ReasonGatewayNotFound,
				"spec.exposure.parentRefs[%d] names Gateway %q of namespace %q, which does not exist or is in a namespace that the operator does not watch; "+
					"correct the reference, or set spec.exposure.url", i, key.Name, key.Namespace))
		}
	}
	return problems
}

func unreadable(kind gatewayv1.Kind, resource, why string) state.Problem {
	return exposureProblem(a2av1alpha1.ReasonGatewayAPIUnreadable,
		"The operator cannot read %[1]ss: %[3]s; ask the administrator of the operator to allow it to list and watch %[2]s.%[4]s and the CRD, or find out why "+
			"\"kubectl get %[2]s.%[4]s -A\" fails. The operator retries",
		kind, resource, strings.TrimSuffix(why, "."), gatewayv1.GroupName)
}

func gatewayAPIMissing(r exposedRoute) state.Problem {
	return exposureProblem(a2av1alpha1.ReasonGatewayAPIMissing,
		"The cluster has no kind %s: install the CRD %s.%s with version %s "+
			"(of the Gateway API %s or later: https://gateway-api.sigs.k8s.io/guides), or remove %s",
		r.kind, r.resource, gatewayv1.GroupName, gatewayv1.GroupVersion.Version, GatewayAPIVersion, r.removable())
}

func routeNotAccepted(r exposedRoute, i int, ref a2av1alpha1.GatewayRef, refusal string) state.Problem {
	return exposureProblem(a2av1alpha1.ReasonRouteNotAccepted, "Gateway %q does not accept the %s (%s); "+
		"correct spec.exposure.parentRefs[%d] or %s, or the Gateway's listeners and allowedRoutes", ref.Name, r.kind, strings.TrimSuffix(refusal, "."), i, r.field)
}

func routePending(r exposedRoute, i int, ref a2av1alpha1.GatewayRef) state.Problem {
	return exposureProblem(a2av1alpha1.ReasonRoutePending, "Gateway %q (spec.exposure.parentRefs[%d]) has not reported a status for the %s yet; "+
		"if this persists, check that the controller of its GatewayClass runs", ref.Name, i, r.kind)
}

func addressUnknown(r exposedRoute) state.Problem {
	action := ", or set spec.exposure.url"
	if r.kind == kindGRPCRoute {
		action = ""
	}
	return exposureProblem(a2av1alpha1.ReasonAddressUnknown,
		"The Gateways accept the %s and report no address; set %s to names without \"*\" of a working HTTP or HTTPS listener "+
			"whose allowedRoutes admit the %s%s",
		r.kind, r.field, r.kind, action)
}
