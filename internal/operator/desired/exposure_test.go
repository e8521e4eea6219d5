// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

func listener(name, protocol, hostname string, port int32, changes ...func(*gatewayv1.Listener)) gatewayv1.Listener {
	l := gatewayv1.Listener{Name: gatewayv1.SectionName(name), Port: port, Protocol: gatewayv1.ProtocolType(protocol)}
	if hostname != "" {
		l.Hostname = new(gatewayv1.Hostname(hostname))
	}
	for _, change := range changes {
		change(&l)
	}
	return l
}

// from returns a change after which a listener admits routes of the given namespaces.
func from(namespaces gatewayv1.FromNamespaces, selector *metav1.LabelSelector) func(*gatewayv1.Listener) {
	return func(l *gatewayv1.Listener) {
		l.AllowedRoutes = &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: &namespaces, Selector: selector}}
	}
}

// kinds returns a change after which a listener admits only the given kinds of routes, of its own
// namespace.
func kinds(kinds ...gatewayv1.RouteGroupKind) func(*gatewayv1.Listener) {
	return func(l *gatewayv1.Listener) { l.AllowedRoutes = &gatewayv1.AllowedRoutes{Kinds: kinds} }
}

// TestGatewayAddresses checks the addresses of routes at a Gateway in the namespace "agents".
func TestGatewayAddresses(t *testing.T) {
	named := []a2av1alpha1.Hostname{"a.example"}
	gold := &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
	grpc, foreign := gatewayv1.RouteGroupKind{Kind: kindGRPCRoute}, gatewayv1.RouteGroupKind{Group: new(gatewayv1.Group("example.com")), Kind: kindHTTPRoute}
	says := func(condition gatewayv1.ListenerConditionType, status metav1.ConditionStatus) gatewayv1.ListenerStatus {
		return gatewayv1.ListenerStatus{Name: "a", Conditions: []metav1.Condition{{Type: string(condition), Status: status}}}
	}
	tests := map[string]struct {
		listeners []gatewayv1.Listener
		addresses []string
		status    gatewayv1.ListenerStatus
		section   string
		hostnames []a2av1alpha1.Hostname
		// namespace is the namespace of the route; "" means "agents".
		namespace string
		labels    map[string]string
		kind      gatewayv1.Kind
		want      []string
	}{
		"the route's name":                          {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "", 443)}, hostnames: named, want: []string{"https://a.example"}},
		"the listener's name":                       {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "l.example", 443)}, want: []string{"https://l.example"}},
		"the address":                               {listeners: []gatewayv1.Listener{listener("a", "HTTP", "", 80)}, addresses: []string{"192.0.2.1", "192.0.2.2"}, want: []string{"http://192.0.2.1"}},
		"an address of IPv6":                        {listeners: []gatewayv1.Listener{listener("a", "HTTP", "", 8080)}, addresses: []string{"2001:db8::1"}, want: []string{"http://[2001:db8::1]:8080"}},
		"no address yet":                            {listeners: []gatewayv1.Listener{listener("a", "HTTP", "", 80)}},
		"https before http":                         {listeners: []gatewayv1.Listener{listener("a", "HTTP", "", 80), listener("b", "HTTPS", "", 8443)}, hostnames: named, want: []string{"https://a.example:8443", "http://a.example"}},
		"default port first":                        {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "", 8443), listener("b", "HTTPS", "", 443)}, hostnames: named, want: []string{"https://a.example", "https://a.example:8443"}},
		"another section":                           {listeners: []gatewayv1.Listener{listener("a", "HTTP", "", 80), listener("b", "HTTPS", "", 443)}, section: "a", hostnames: named, want: []string{"http://a.example"}},
		"another protocol":                          {listeners: []gatewayv1.Listener{listener("a", "TCP", "", 443)}, hostnames: named},
		"hostnames within a wildcard listener":      {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "*.example", 443)}, hostnames: []a2av1alpha1.Hostname{"example", "a.example", "a.b.example", "other"}, want: []string{"https://a.example", "https://a.b.example"}},
		"a wildcard route":                          {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "a.example", 443)}, hostnames: []a2av1alpha1.Hostname{"*.example"}, want: []string{"https://a.example"}},
		"wildcards only":                            {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "*.example", 443)}, addresses: []string{"192.0.2.1"}},
		"not programmed":                            {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "", 443)}, status: says(gatewayv1.ListenerConditionProgrammed, metav1.ConditionFalse), hostnames: named},
		"not accepted":                              {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "", 443)}, status: says(gatewayv1.ListenerConditionAccepted, metav1.ConditionFalse), hostnames: named},
		"in conflict":                               {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "", 443)}, status: says(gatewayv1.ListenerConditionConflicted, metav1.ConditionTrue), hostnames: named},
		"in no conflict":                            {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "", 443)}, status: says(gatewayv1.ListenerConditionConflicted, metav1.ConditionFalse), hostnames: named, want: []string{"https://a.example"}},
		"a listener that does not support the kind": {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "", 443)}, status: gatewayv1.ListenerStatus{Name: "a", SupportedKinds: []gatewayv1.RouteGroupKind{grpc}}, hostnames: named},
		"a listener that supports the kind":         {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "", 443)}, status: gatewayv1.ListenerStatus{Name: "a", SupportedKinds: []gatewayv1.RouteGroupKind{grpc}}, hostnames: named, kind: kindGRPCRoute, want: []string{"https://a.example"}},
		"another kind":                              {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "", 443, kinds(grpc)), listener("b", "HTTP", "", 80)}, hostnames: named, want: []string{"http://a.example"}},
		"the kind":                                  {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "", 443, kinds(foreign, grpc))}, hostnames: named, kind: kindGRPCRoute, want: []string{"https://a.example"}},
		"the kind of another API":                   {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "", 443, kinds(foreign))}, hostnames: named},
		"a stranger": {
			listeners: []gatewayv1.Listener{
				listener("a", "HTTPS", "", 443), listener("b", "HTTPS", "", 8443, from(gatewayv1.NamespacesFromSame, nil)),
				listener("c", "HTTPS", "", 9443, kinds()), listener("d", "HTTP", "", 80, from(gatewayv1.NamespacesFromAll, nil)),
			},
			namespace: "team", hostnames: named, want: []string{"http://a.example"},
		},
		"selected":          {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "", 443, from(gatewayv1.NamespacesFromSelector, gold))}, namespace: "team", labels: gold.MatchLabels, hostnames: named, want: []string{"https://a.example"}},
		"not selected":      {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "", 443, from(gatewayv1.NamespacesFromSelector, gold))}, labels: map[string]string{"tier": "tin"}, hostnames: named},
		"no selector":       {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "", 443, from(gatewayv1.NamespacesFromSelector, nil))}, hostnames: named},
		"an empty selector": {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "", 443, from(gatewayv1.NamespacesFromSelector, &metav1.LabelSelector{}))}, namespace: "team", hostnames: named, want: []string{"https://a.example"}},
		"a selector that nobody understands": {
			listeners: []gatewayv1.Listener{listener("a", "HTTPS", "", 443, from(gatewayv1.NamespacesFromSelector, &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Like"}},
			}))},
			hostnames: named,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			gateway := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "agents"}, Spec: gatewayv1.GatewaySpec{Listeners: test.listeners}}
			for _, a := range test.addresses {
				gateway.Status.Addresses = append(gateway.Status.Addresses, gatewayv1.GatewayStatusAddress{Value: a})
			}
			gateway.Status.Listeners = []gatewayv1.ListenerStatus{test.status}
			addresses := gatewayAddresses(gateway, attachment{
				kind: cmp.Or(test.kind, kindHTTPRoute), namespace: cmp.Or(test.namespace, "agents"), namespaceLabels: test.labels,
				section: test.section, hostnames: test.hostnames,
			})
			slices.SortStableFunc(addresses, byRank)
			var got []string
			for _, a := range addresses {
				got = append(got, a.String())
			}
			if diff := gocmp.Diff(test.want, got); diff != "" {
				t.Errorf("gatewayAddresses() (-want +got):\n%s", diff)
			}
		})
	}
}

// TestExpose checks the external URLs, and the problems for the author of the Agent.
func TestExpose(t *testing.T) {
	accepted := metav1.Condition{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted"}
	refused := metav1.Condition{Type: "Accepted", Status: metav1.ConditionFalse, Reason: "NotAllowedByListeners", Message: "not from here."}
	observedAt := func(c metav1.Condition, generation int64) metav1.Condition {
		c.ObservedGeneration = generation
		return c
	}
	unresolved := metav1.Condition{Type: "ResolvedRefs", Status: metav1.ConditionFalse, Reason: "BackendNotFound", Message: "no Service"}
	tests := map[string]struct {
		change func(*state.Agent)
		said   []metav1.Condition
		url    string
		reason string
		parts  []string
	}{
		"accepted": {said: []metav1.Condition{accepted}, url: "https://agents.example.com/"},
		"below path": {said: []metav1.Condition{accepted}, change: func(in *state.Agent) {
			in.Agent.Spec.Exposure.Path, in.Children.HTTPRoute.Spec.Rules = "/team/echo", rules("/team/echo")
		}, url: "https://agents.example.com/team/echo/"},
		"no answer":  {reason: "RoutePending", parts: []string{`Gateway "public"`, "spec.exposure.parentRefs[0]", "HTTPRoute", "GatewayClass"}},
		"refused":    {said: []metav1.Condition{refused}, reason: "RouteNotAccepted", parts: []string{"NotAllowedByListeners: not from here)", "spec.exposure.parentRefs[0]", "allowedRoutes"}},
		"unresolved": {said: []metav1.Condition{accepted, unresolved}, reason: "RouteNotAccepted", parts: []string{"BackendNotFound: no Service"}},
		"accepted in an earlier generation": {
			said:   []metav1.Condition{observedAt(accepted, 1)},
			change: func(in *state.Agent) { in.Children.HTTPRoute.Generation = 2 },
			reason: "RoutePending",
		},
		"refused in an earlier generation": {
			said:   []metav1.Condition{observedAt(refused, 1)},
			change: func(in *state.Agent) { in.Children.HTTPRoute.Generation = 2 },
			reason: "RoutePending",
		},
		"unresolved in an earlier generation": {
			said: []metav1.Condition{observedAt(accepted, 2), observedAt(unresolved, 1)}, url: "https://agents.example.com/",
			change: func(in *state.Agent) { in.Children.HTTPRoute.Generation = 2 },
		},
		"accepted in the current generation": {
			said: []metav1.Condition{observedAt(accepted, 2)}, url: "https://agents.example.com/",
			change: func(in *state.Agent) { in.Children.HTTPRoute.Generation = 2 },
		},
		"accepted without an observed generation": {
			said: []metav1.Condition{accepted}, url: "https://agents.example.com/",
			change: func(in *state.Agent) { in.Children.HTTPRoute.Generation = 2 },
		},
		"accepted with another hostname": {
			said: []metav1.Condition{observedAt(accepted, 1)},
			change: func(in *state.Agent) {
				in.Agent.Spec.Exposure.Hostnames = []a2av1alpha1.Hostname{"new.example.com"}
			},
			reason: "RoutePending",
		},
		"accepted with another path": {
			said:   []metav1.Condition{observedAt(accepted, 1)},
			change: func(in *state.Agent) { in.Agent.Spec.Exposure.Path = "/new" },
			reason: "RoutePending",
		},
		"a route of another owner": {
			said:   []metav1.Condition{accepted},
			change: func(in *state.Agent) { in.Children.HTTPRoute.OwnerReferences = nil }, reason: "RoutePending",
		},
		"no Gateway": {
			change: func(in *state.Agent) { in.GatewayAPI.Gateways = nil },
			reason: "GatewayNotFound", parts: []string{"spec.exposure.parentRefs[0]", `Gateway "public" of namespace "agents"`, "spec.exposure.url"},
		},
		"no Gateway API": {
			change: func(in *state.Agent) { in.GatewayAPI = state.GatewayAPI{} },
			reason: "GatewayAPIMissing", parts: []string{"no kind HTTPRoute", "install the CRD httproutes.gateway.networking.k8s.io with version v1", "remove spec.exposure"},
		},
		"no GRPCRoutes": {
			said: []metav1.Condition{accepted}, url: "https://agents.example.com/",
			change: func(in *state.Agent) {
				in.GatewayAPI.GRPCRoutes = false
				in.Agent.Spec.Exposure.GRPCHostnames = []a2av1alpha1.Hostname{"grpc.example.com"}
			},
			reason: "GatewayAPIMissing", parts: []string{"grpcroutes.gateway.networking.k8s.io", "remove spec.exposure.grpcHostnames"},
		},
		"The operator cannot read HTTPRoutes": {
			change: func(in *state.Agent) {
				in.GatewayAPI.HTTPRoutes, in.GatewayAPI.Unreadable.HTTPRoutes = false, "it is forbidden."
				in.Children.HTTPRoute = nil
				in.Agent.Status.ExternalURL = "https://as.before/"
			},
			url:    "https://as.before/",
			reason: "GatewayAPIUnreadable", parts: []string{"The operator cannot read HTTPRoutes: it is forbidden; ", "list and watch httproutes.gateway.networking.k8s.io"},
		},
		"HTTPRoutes could never be read": {
			change: func(in *state.Agent) {
				in.GatewayAPI.HTTPRoutes, in.GatewayAPI.Unreadable.HTTPRoutes = false, "it is forbidden"
			},
			reason: "GatewayAPIUnreadable", parts: []string{"The operator cannot read HTTPRoutes"},
		},
		"The operator cannot read GRPCRoutes": {
			said: []metav1.Condition{accepted}, url: "https://agents.example.com/",
			change: func(in *state.Agent) {
				in.GatewayAPI.GRPCRoutes, in.GatewayAPI.Unreadable.GRPCRoutes = false, "it is forbidden"
				in.Agent.Spec.Exposure.GRPCHostnames = []a2av1alpha1.Hostname{"grpc.example.com"}
			},
			reason: "GatewayAPIUnreadable", parts: []string{"The operator cannot read GRPCRoutes: it is forbidden; ", "grpcroutes.gateway.networking.k8s.io"},
		},
		"The operator cannot read GRPCRoutes, and the Agent needs none": {
			said: []metav1.Condition{accepted}, url: "https://agents.example.com/",
			change: func(in *state.Agent) {
				in.GatewayAPI.GRPCRoutes, in.GatewayAPI.Unreadable.GRPCRoutes = false, "it is forbidden"
			},
		},
		"The operator cannot read Gateways": {
			said: []metav1.Condition{accepted}, url: "https://as.before/",
			change: func(in *state.Agent) {
				in.GatewayAPI.Gateways, in.GatewayAPI.Unreadable.Gateways = nil, "it is forbidden"
				in.Agent.Status.ExternalURL = "https://as.before/"
			},
			reason: "GatewayAPIUnreadable", parts: []string{"The operator cannot read Gateways: it is forbidden; ", "gateways.gateway.networking.k8s.io"},
		},
		"The operator cannot read Gateways, and spec.exposure.url names the address": {
			said: []metav1.Condition{accepted}, url: "https://front.example/a/",
			change: func(in *state.Agent) {
				in.GatewayAPI.Gateways, in.GatewayAPI.Unreadable.Gateways = nil, "it is forbidden"
				in.Agent.Spec.Exposure.URL = "https://front.example/a/"
			},
		},
		"no address": {
			said: []metav1.Condition{accepted},
			change: func(in *state.Agent) {
				in.Agent.Spec.Exposure.Hostnames, in.Children.HTTPRoute.Spec.Hostnames = nil, nil
			},
			reason: "AddressUnknown", parts: []string{"spec.exposure.hostnames", "spec.exposure.url"},
		},
		"a listener that does not take it, before one that does": {
			said: []metav1.Condition{accepted}, url: "http://agents.example.com/",
			change: func(in *state.Agent) {
				moveGateway(in, listener("web", "HTTPS", "", 443), listener("plain", "HTTP", "", 80, from(gatewayv1.NamespacesFromAll, nil)))
			},
		},
		"only listeners that do not take it": {
			said:   []metav1.Condition{accepted},
			change: func(in *state.Agent) { moveGateway(in, listener("web", "HTTPS", "", 443)) },
			reason: "AddressUnknown", parts: []string{"allowedRoutes", "spec.exposure.url"},
		},
		"one listener and then another": {
			said: []metav1.Condition{accepted}, url: "https://agents.example.com/",
			change: func(in *state.Agent) {
				for _, gateway := range in.GatewayAPI.Gateways {
					gateway.Spec.Listeners = append(gateway.Spec.Listeners, listener("plain", "HTTP", "", 80))
				}
				in.Agent.Spec.Exposure.ParentRefs = []a2av1alpha1.GatewayRef{{Name: "public", SectionName: "plain"}, {Name: "public", SectionName: "web"}}
				said := in.Children.HTTPRoute.Status.Parents[0]
				in.Children.HTTPRoute.Status.Parents = nil
				for _, section := range []gatewayv1.SectionName{"plain", "web"} {
					said.ParentRef.SectionName = &section
					in.Children.HTTPRoute.Status.Parents = append(in.Children.HTTPRoute.Status.Parents, said)
				}
			},
		},
		"the first Gateway, whatever the next one has": {
			said: []metav1.Condition{accepted}, url: "http://agents.example.com/",
			change: func(in *state.Agent) {
				front := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "front"}}
				front.Spec.Listeners = []gatewayv1.Listener{listener("plain", "HTTP", "", 80)}
				in.GatewayAPI.Gateways[types.NamespacedName{Namespace: "agents", Name: "front"}] = front
				in.Agent.Spec.Exposure.ParentRefs = []a2av1alpha1.GatewayRef{{Name: "front"}, {Name: "public"}}
				said := in.Children.HTTPRoute.Status.Parents[0]
				said.ParentRef.Name = "front"
				in.Children.HTTPRoute.Status.Parents = append(in.Children.HTTPRoute.Status.Parents, said)
			},
		},
		"spec.exposure.url names the address": {
			said: []metav1.Condition{accepted}, url: "https://front.example/a/",
			change: func(in *state.Agent) { in.Agent.Spec.Exposure.URL = "https://front.example/a/" },
		},
		"spec.exposure.url names the address, and there is no Gateway": {
			said: []metav1.Condition{accepted}, url: "https://front.example/a/",
			change: func(in *state.Agent) {
				in.GatewayAPI.Gateways = nil
				in.Agent.Spec.Exposure.URL = "https://front.example/a/"
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "echo", UID: "uid"}}
			agent.Spec.Exposure = &a2av1alpha1.AgentExposure{
				ParentRefs: []a2av1alpha1.GatewayRef{{Name: "public"}}, Hostnames: []a2av1alpha1.Hostname{"agents.example.com"},
			}
			route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{
				Generation: 1, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(agent, a2av1alpha1.GroupVersion.WithKind("Agent"))},
			}}
			route.Spec.Hostnames, route.Spec.Rules = []gatewayv1.Hostname{"agents.example.com"}, rules("/")
			if test.said != nil {
				route.Status.Parents = []gatewayv1.RouteParentStatus{{ParentRef: gatewayv1.ParentReference{Name: "public"}, Conditions: test.said}}
			}
			in := state.Agent{Agent: agent, Exposure: everyHostname, Children: state.Children{HTTPRoute: route}, GatewayAPI: state.GatewayAPI{
				HTTPRoutes: true, GRPCRoutes: true,
				Gateways: map[types.NamespacedName]*gatewayv1.Gateway{{Namespace: "agents", Name: "public"}: {
					ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "public"},
					Spec:       gatewayv1.GatewaySpec{Listeners: []gatewayv1.Listener{listener("web", "HTTPS", "", 443)}},
				}},
			}}
			if test.change != nil {
				test.change(&in)
			}
			got := expose(in)
			if got.url != test.url {
				t.Errorf("url = %q, want %q", got.url, test.url)
			}
			if test.reason == "" && len(got.problems) > 0 || test.reason != "" && (len(got.problems) != 1 || got.problems[0].Reason != test.reason) {
				t.Fatalf("problems = %+v, want %s", got.problems, test.reason)
			}
			for _, part := range test.parts {
				if !strings.Contains(got.problems[0].Message, part) {
					t.Errorf("message %q does not say %q", got.problems[0].Message, part)
				}
			}
		})
	}
}

// TestExposedBases checks that each hostname of an Agent has a base, that the first base has the URL of
// the status, and that all bases have the gRPC address.
func TestExposedBases(t *testing.T) {
	one := exposedAgent("agents", "echo", 100, "a.example")
	one.Agent.Spec.Exposure.Hostnames = []a2av1alpha1.Hostname{"b.example", "*.c.example", "a.example"}
	one.HTTPRoute.Spec.Hostnames = []gatewayv1.Hostname{"b.example", "*.c.example", "a.example"}
	one.Agent.Spec.Exposure.GRPCHostnames = []a2av1alpha1.Hostname{"grpc.example"}
	one.GRPCRoute = &gatewayv1.GRPCRoute{ObjectMeta: one.HTTPRoute.ObjectMeta}
	one.GRPCRoute.Spec.Hostnames, one.GRPCRoute.Status = []gatewayv1.Hostname{"grpc.example"}, gatewayv1.GRPCRouteStatus(one.HTTPRoute.Status)
	gateway := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "public"}}
	gateway.Spec.Listeners = []gatewayv1.Listener{
		listener("plain", "HTTP", "", 80, from(gatewayv1.NamespacesFromAll, nil)), listener("web", "HTTPS", "", 443, from(gatewayv1.NamespacesFromAll, nil)),
	}
	in := state.Agent{
		Agent: one.Agent, Exposure: everyHostname, Children: state.Children{HTTPRoute: one.HTTPRoute, GRPCRoute: one.GRPCRoute},
		GatewayAPI: state.GatewayAPI{
			HTTPRoutes: true, GRPCRoutes: true,
			Gateways: map[types.NamespacedName]*gatewayv1.Gateway{{Namespace: "infra", Name: "public"}: gateway},
		},
	}
	var want []card.Base
	for _, url := range []string{"https://b.example/", "http://b.example/", "http://a.example/", "https://a.example/"} {
		want = append(want, card.Base{URL: url, GRPC: "grpc.example:443"})
	}
	if got := expose(in); got.url != want[0].URL || !gocmp.Equal(got.bases, want) {
		t.Errorf("expose() = %s, bases (-want +got):\n%s", got.url, gocmp.Diff(want, got.bases))
	}
	// With spec.exposure.url, such as the URL of a load balancer, this URL is the only base.
	one.Agent.Spec.Exposure.URL = "https://front.example/x"
	want = []card.Base{{URL: "https://front.example/x", GRPC: "grpc.example:443"}}
	if got := expose(in); !gocmp.Equal(got.bases, want) {
		t.Errorf("with a URL: bases (-want +got):\n%s", gocmp.Diff(want, got.bases))
	}
	// The number of bases is limited to maxExternal.
	one.Agent.Spec.Exposure.URL = ""
	for i := range 40 {
		gateway.Spec.Listeners = append(gateway.Spec.Listeners, listener("l"+strconv.Itoa(i), "HTTPS", "", int32(9000+i), from(gatewayv1.NamespacesFromAll, nil)))
	}
	if got := expose(in); len(got.bases) != maxExternal || got.bases[0].URL != "https://b.example/" {
		t.Errorf("%d bases, the first %v, want %d", len(got.bases), got.bases[0], maxExternal)
	}
}

// rules returns the rules of a route from a path to an agent.
func rules(path string) []gatewayv1.HTTPRouteRule {
	return []gatewayv1.HTTPRouteRule{{Matches: []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{Value: &path}}}}}
}

// moveGateway moves the Gateway to the namespace "infra" and replaces its listeners.
func moveGateway(in *state.Agent, listeners ...gatewayv1.Listener) {
	gateway := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "public"}, Spec: gatewayv1.GatewaySpec{Listeners: listeners}}
	in.GatewayAPI.Gateways = map[types.NamespacedName]*gatewayv1.Gateway{{Namespace: "infra", Name: "public"}: gateway}
	in.Agent.Spec.Exposure.ParentRefs[0].Namespace = "infra"
	in.Children.HTTPRoute.Status.Parents[0].ParentRef.Namespace = new(gatewayv1.Namespace("infra"))
}
