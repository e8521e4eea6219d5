// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/observed"
)

func listener(name, protocol, hostname string, port int32) gatewayv1.Listener {
	l := gatewayv1.Listener{Name: gatewayv1.SectionName(name), Port: port, Protocol: gatewayv1.ProtocolType(protocol)}
	if hostname != "" {
		l.Hostname = new(gatewayv1.Hostname(hostname))
	}
	return l
}

func TestGatewayURLs(t *testing.T) {
	tests := map[string]struct {
		listeners []gatewayv1.Listener
		addresses []string
		broken    string
		section   string
		hostnames []a2av1alpha1.Hostname
		want      []string
	}{
		"the route's name":             {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "", 443)}, hostnames: []a2av1alpha1.Hostname{"a.example"}, want: []string{"https://a.example"}},
		"the listener's name":          {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "l.example", 443)}, want: []string{"https://l.example"}},
		"the address":                  {listeners: []gatewayv1.Listener{listener("a", "HTTP", "", 80)}, addresses: []string{"192.0.2.1", "192.0.2.2"}, want: []string{"http://192.0.2.1"}},
		"an address of IPv6":           {listeners: []gatewayv1.Listener{listener("a", "HTTP", "", 8080)}, addresses: []string{"2001:db8::1"}, want: []string{"http://[2001:db8::1]:8080"}},
		"no address yet":               {listeners: []gatewayv1.Listener{listener("a", "HTTP", "", 80)}},
		"https before http":            {listeners: []gatewayv1.Listener{listener("a", "HTTP", "", 80), listener("b", "HTTPS", "", 8443)}, hostnames: []a2av1alpha1.Hostname{"a.example"}, want: []string{"https://a.example:8443", "http://a.example"}},
		"another section":              {listeners: []gatewayv1.Listener{listener("a", "HTTP", "", 80), listener("b", "HTTPS", "", 443)}, section: "a", hostnames: []a2av1alpha1.Hostname{"a.example"}, want: []string{"http://a.example"}},
		"a listener that does nothing": {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "", 443)}, broken: "a", hostnames: []a2av1alpha1.Hostname{"a.example"}},
		"another protocol":             {listeners: []gatewayv1.Listener{listener("a", "TCP", "", 443)}, hostnames: []a2av1alpha1.Hostname{"a.example"}},
		"a name of the wildcard":       {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "*.example", 443)}, hostnames: []a2av1alpha1.Hostname{"example", "a.example", "a.b.example", "other"}, want: []string{"https://a.example", "https://a.b.example"}},
		"a wildcard route":             {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "a.example", 443)}, hostnames: []a2av1alpha1.Hostname{"*.example"}, want: []string{"https://a.example"}},
		"wildcards only":               {listeners: []gatewayv1.Listener{listener("a", "HTTPS", "*.example", 443)}, addresses: []string{"192.0.2.1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			gateway := &gatewayv1.Gateway{Spec: gatewayv1.GatewaySpec{Listeners: test.listeners}}
			for _, a := range test.addresses {
				gateway.Status.Addresses = append(gateway.Status.Addresses, gatewayv1.GatewayStatusAddress{Value: a})
			}
			if test.broken != "" {
				gateway.Status.Listeners = []gatewayv1.ListenerStatus{{
					Name:       gatewayv1.SectionName(test.broken),
					Conditions: []metav1.Condition{{Type: string(gatewayv1.ListenerConditionProgrammed), Status: metav1.ConditionFalse}},
				}}
			}
			if diff := cmp.Diff(test.want, gatewayURLs(gateway, test.section, test.hostnames)); diff != "" {
				t.Errorf("gatewayURLs() (-want +got):\n%s", diff)
			}
		})
	}
}

// TestExpose is about what callers outside are told, and the Agent's author.
func TestExpose(t *testing.T) {
	accepted := metav1.Condition{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted"}
	refused := metav1.Condition{Type: "Accepted", Status: metav1.ConditionFalse, Reason: "NotAllowedByListeners", Message: "not from here."}
	unresolved := metav1.Condition{Type: "ResolvedRefs", Status: metav1.ConditionFalse, Reason: "BackendNotFound", Message: "no Service"}
	tests := map[string]struct {
		change func(*observed.Agent)
		said   []metav1.Condition
		url    string
		reason string
		parts  []string
	}{
		"accepted":   {said: []metav1.Condition{accepted}, url: "https://agents.example.com/"},
		"below path": {said: []metav1.Condition{accepted}, change: func(in *observed.Agent) { in.Agent.Spec.Exposure.Path = "/team/echo" }, url: "https://agents.example.com/team/echo/"},
		"no answer":  {reason: "RoutePending", parts: []string{`Gateway "public"`, "spec.exposure.parentRefs[0]", "HTTPRoute", "GatewayClass"}},
		"refused":    {said: []metav1.Condition{refused}, reason: "RouteNotAccepted", parts: []string{"NotAllowedByListeners: not from here)", "spec.exposure.parentRefs[0]", "allowedRoutes"}},
		"unresolved": {said: []metav1.Condition{accepted, unresolved}, reason: "RouteNotAccepted", parts: []string{"BackendNotFound: no Service"}},
		"somebody else's route": {
			said:   []metav1.Condition{accepted},
			change: func(in *observed.Agent) { in.Children.HTTPRoute.OwnerReferences = nil }, reason: "RoutePending",
		},
		"no Gateway": {
			change: func(in *observed.Agent) { in.GatewayAPI.Gateways = nil },
			reason: "GatewayNotFound", parts: []string{"spec.exposure.parentRefs[0]", `Gateway "public" of namespace "agents"`, "spec.exposure.url"},
		},
		"no Gateway API": {
			change: func(in *observed.Agent) { in.GatewayAPI = observed.GatewayAPI{} },
			reason: "GatewayAPIMissing", parts: []string{"no HTTPRoute", "install the CRD httproutes.gateway.networking.k8s.io with version v1", "remove spec.exposure"},
		},
		"no GRPCRoutes": {
			said: []metav1.Condition{accepted}, url: "https://agents.example.com/",
			change: func(in *observed.Agent) {
				in.GatewayAPI.GRPCRoutes = false
				in.Agent.Spec.Exposure.GRPCHostnames = []a2av1alpha1.Hostname{"grpc.example.com"}
			},
			reason: "GatewayAPIMissing", parts: []string{"grpcroutes.gateway.networking.k8s.io", "remove spec.exposure.grpcHostnames"},
		},
		"no address": {
			said:   []metav1.Condition{accepted},
			change: func(in *observed.Agent) { in.Agent.Spec.Exposure.Hostnames = nil },
			reason: "AddressUnknown", parts: []string{"spec.exposure.hostnames", "spec.exposure.url"},
		},
		"told by the user": {
			said: []metav1.Condition{accepted}, url: "https://front.example/a/",
			change: func(in *observed.Agent) { in.Agent.Spec.Exposure.URL = "https://front.example/a/" },
		},
		"told by the user, of a Gateway that cannot be seen": {
			said: []metav1.Condition{accepted}, url: "https://front.example/a/",
			change: func(in *observed.Agent) {
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
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(agent, a2av1alpha1.GroupVersion.WithKind("Agent"))},
			}}
			if test.said != nil {
				route.Status.Parents = []gatewayv1.RouteParentStatus{{ParentRef: gatewayv1.ParentReference{Name: "public"}, Conditions: test.said}}
			}
			in := observed.Agent{Agent: agent, Children: observed.Children{HTTPRoute: route}, GatewayAPI: observed.GatewayAPI{
				HTTPRoutes: true, GRPCRoutes: true,
				Gateways: map[types.NamespacedName]*gatewayv1.Gateway{{Namespace: "agents", Name: "public"}: {
					Spec: gatewayv1.GatewaySpec{Listeners: []gatewayv1.Listener{listener("web", "HTTPS", "", 443)}},
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
