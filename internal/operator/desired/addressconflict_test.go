// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// agentWithRoutes is an Agent with its routes. Each route is nil if the route does not exist.
type agentWithRoutes struct {
	Agent     *a2av1alpha1.Agent
	HTTPRoute *gatewayv1.HTTPRoute
	GRPCRoute *gatewayv1.GRPCRoute
}

// claimsOf returns the oldest of the Agents' claims for each address.
func claimsOf(agents ...agentWithRoutes) map[state.Address]state.Claim {
	oldest := map[state.Address]state.Claim{}
	for _, one := range agents {
		for at, claim := range Claims(one.Agent, one.HTTPRoute, one.GRPCRoute) {
			if known, ok := oldest[at]; !ok || claim.Precedes(known) {
				oldest[at] = claim
			}
		}
	}
	return oldest
}

// exposedAgent returns an Agent at the given hostnames of the Gateway "infra/public", and its
// route, which the Gateway has accepted. made is the creation time of the route, in seconds since
// 1970.
func exposedAgent(namespace, name string, made int64, hosts ...a2av1alpha1.Hostname) agentWithRoutes {
	agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name)}}
	agent.Spec.Exposure = &a2av1alpha1.AgentExposure{ParentRefs: []a2av1alpha1.GatewayRef{{Name: "public", Namespace: "infra"}}, Hostnames: hosts}
	route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(time.Unix(made, 0)),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(agent, a2av1alpha1.GroupVersion.WithKind("Agent"))},
	}}
	route.Spec.Hostnames, route.Spec.Rules = texts[gatewayv1.Hostname](hosts), rules("/")
	route.Status.Parents = []gatewayv1.RouteParentStatus{{
		ParentRef:  gatewayv1.ParentReference{Name: "public", Namespace: new(gatewayv1.Namespace("infra"))},
		Conditions: []metav1.Condition{{Type: "Accepted", Status: metav1.ConditionTrue}},
	}}
	return agentWithRoutes{Agent: agent, HTTPRoute: route}
}

// TestAddressConflict checks whether the Agent "agents/echo", whose route was created at second
// 100, keeps its hostnames beside one competitor.
func TestAddressConflict(t *testing.T) {
	const taken = a2av1alpha1.ReasonAddressConflict
	tests := map[string]struct {
		own        []a2av1alpha1.Hostname
		competitor agentWithRoutes
		change     func(own, competitor *agentWithRoutes)
		url        string
		reason     string
	}{
		"an older one":     {competitor: exposedAgent("zoo", "other", 99, "a.example"), reason: taken},
		"a younger one":    {competitor: exposedAgent("a", "other", 101, "a.example"), url: "https://a.example/"},
		"as old, before":   {competitor: exposedAgent("agents", "dodo", 100, "a.example"), reason: taken},
		"as old, after":    {competitor: exposedAgent("agents", "fox", 100, "a.example"), url: "https://a.example/"},
		"another hostname": {competitor: exposedAgent("zoo", "other", 99, "b.example"), url: "https://a.example/"},
		"one of two hostnames": {
			own: []a2av1alpha1.Hostname{"a.example", "b.example"}, competitor: exposedAgent("zoo", "other", 99, "c.example", "a.example"),
			url: "https://b.example/", reason: taken,
		},
		"names of the listeners": {
			own: []a2av1alpha1.Hostname{}, competitor: exposedAgent("zoo", "other", 99), reason: taken,
		},
		"another path": {
			competitor: exposedAgent("zoo", "other", 99, "a.example"),
			change:     func(_, competitor *agentWithRoutes) { at("/b", competitor) }, url: "https://a.example/",
		},
		"the same path": {
			competitor: exposedAgent("zoo", "other", 99, "a.example"),
			change:     func(own, competitor *agentWithRoutes) { at("/b", own); at("/b", competitor) }, reason: taken,
		},
		"another Gateway": {
			competitor: exposedAgent("zoo", "other", 99, "a.example"),
			change: func(_, competitor *agentWithRoutes) {
				competitor.Agent.Spec.Exposure.ParentRefs[0].Namespace = "zoo"
			}, url: "https://a.example/",
		},
		"another listener": {
			competitor: exposedAgent("zoo", "other", 99, "a.example"),
			change:     func(own, competitor *agentWithRoutes) { section("web", own); section("more", competitor) }, url: "https://a.example/",
		},
		"one listener of all": {
			competitor: exposedAgent("zoo", "other", 99, "a.example"),
			change:     func(own, _ *agentWithRoutes) { section("web", own) }, reason: taken,
		},
		"all listeners of one": {
			competitor: exposedAgent("zoo", "other", 99, "a.example"),
			change:     func(_, competitor *agentWithRoutes) { section("web", competitor) }, reason: taken,
		},
		"the same listener": {
			competitor: exposedAgent("zoo", "other", 99, "a.example"),
			change:     func(own, competitor *agentWithRoutes) { section("web", own); section("web", competitor) }, reason: taken,
		},
		"a route that is not there": {
			competitor: exposedAgent("zoo", "other", 99, "a.example"),
			change:     func(_, competitor *agentWithRoutes) { competitor.HTTPRoute = nil }, url: "https://a.example/",
		},
		"a route that the Gateway refuses": {
			competitor: exposedAgent("zoo", "other", 99, "a.example"),
			change: func(_, competitor *agentWithRoutes) {
				competitor.HTTPRoute.Status.Parents[0].Conditions[0].Status = metav1.ConditionFalse
			}, url: "https://a.example/",
		},
		"the user's URL": {
			competitor: exposedAgent("zoo", "other", 99, "a.example"),
			change:     func(own, _ *agentWithRoutes) { own.Agent.Spec.Exposure.URL = "https://front.example/" }, reason: taken,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.own == nil {
				test.own = []a2av1alpha1.Hostname{"a.example"}
			}
			own := exposedAgent("agents", "echo", 100, test.own...)
			if test.change != nil {
				test.change(&own, &test.competitor)
			}
			gateway := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "public"}}
			gateway.Spec.Listeners = []gatewayv1.Listener{listener("web", "HTTPS", "", 443, from(gatewayv1.NamespacesFromAll, nil))}
			got := expose(state.Agent{
				Agent: own.Agent, Exposure: everyHostname, Children: state.Children{HTTPRoute: own.HTTPRoute},
				GatewayAPI: state.GatewayAPI{
					HTTPRoutes: true, Claims: claimsOf(own, test.competitor),
					Gateways: map[types.NamespacedName]*gatewayv1.Gateway{{Namespace: "infra", Name: "public"}: gateway},
				},
			})
			if got.url != test.url {
				t.Errorf("url = %q, want %q", got.url, test.url)
			}
			var reasons []string
			for _, p := range got.problems {
				reasons = append(reasons, p.Reason)
				want := "to Agent agents/" + test.competitor.Agent.Name + ", "
				if test.competitor.Agent.Namespace != "agents" {
					want = "to an Agent of another namespace, "
				}
				if !strings.Contains(p.Message, want) || !strings.Contains(p.Message, "spec.exposure.hostnames or spec.exposure.path") {
					t.Errorf("message %q has no %q or no cure", p.Message, want)
				}
				if strings.Contains(p.Message, "zoo") || strings.Contains(p.Message, "other,") {
					t.Errorf("message %q names an Agent of another namespace", p.Message)
				}
			}
			var want []string
			if test.reason != "" {
				want = []string{test.reason}
			}
			if diff := gocmp.Diff(want, reasons); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAddressConflictOfTwo checks a hostname that two competitors request, too. The Gateway routes
// the hostname to the oldest route, so the message must name the Agent of that route. The route of
// the Agent "agents/echo" was created at second 100 and refers to one listener.
func TestAddressConflictOfTwo(t *testing.T) {
	gateway := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "public"}}
	gateway.Spec.Listeners = []gatewayv1.Listener{listener("web", "HTTPS", "", 443, from(gatewayv1.NamespacesFromAll, nil))}
	for name, test := range map[string]struct {
		// atListener and atAll are the seconds at which the routes of the competitors "web", at the
		// same listener, and "all", at all listeners, were created.
		atListener, atAll int64
		want              string // the Agent in the message, "" for none
	}{
		"the route at all listeners is older":                     {atListener: 99, atAll: 98, want: "all"},
		"the route at the listener is older":                      {atListener: 98, atAll: 99, want: "web"},
		"both routes are as old":                                  {atListener: 99, atAll: 99, want: "all"}, // the first by name
		"only the route at all listeners is older than the Agent": {atListener: 101, atAll: 99, want: "all"},
		"only the route at the listener is older than the Agent":  {atListener: 99, atAll: 101, want: "web"},
		"both routes are younger than the Agent":                  {atListener: 101, atAll: 102},
	} {
		t.Run(name, func(t *testing.T) {
			own := exposedAgent("agents", "echo", 100, "a.example")
			web, all := exposedAgent("agents", "web", test.atListener, "a.example"), exposedAgent("agents", "all", test.atAll, "a.example")
			section("web", &own)
			section("web", &web)
			got := expose(state.Agent{
				Agent: own.Agent, Exposure: everyHostname, Children: state.Children{HTTPRoute: own.HTTPRoute},
				GatewayAPI: state.GatewayAPI{
					HTTPRoutes: true, Claims: claimsOf(own, web, all),
					Gateways: map[types.NamespacedName]*gatewayv1.Gateway{{Namespace: "infra", Name: "public"}: gateway},
				},
			})
			switch {
			case test.want == "" && len(got.problems) > 0:
				t.Errorf("problems = %+v, want none", got.problems)
			case test.want == "":
			case len(got.problems) != 1 || !strings.Contains(got.problems[0].Message, "to Agent agents/"+test.want+", "):
				t.Errorf("problems = %+v, want one that names agents/%s", got.problems, test.want)
			}
		})
	}
}

func TestGRPCAddressConflict(t *testing.T) {
	own, competitor := exposedAgent("agents", "echo", 100, "a.example"), exposedAgent("zoo", "other", 99, "b.example")
	for _, one := range []*agentWithRoutes{&own, &competitor} {
		one.Agent.Spec.Exposure.GRPCHostnames = []a2av1alpha1.Hostname{"grpc.example"}
		one.GRPCRoute = &gatewayv1.GRPCRoute{ObjectMeta: one.HTTPRoute.ObjectMeta}
		one.GRPCRoute.Spec.Hostnames, one.GRPCRoute.Status = []gatewayv1.Hostname{"grpc.example"}, gatewayv1.GRPCRouteStatus(one.HTTPRoute.Status)
	}
	gateway := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "public"}}
	gateway.Spec.Listeners = []gatewayv1.Listener{listener("web", "HTTPS", "", 443, from(gatewayv1.NamespacesFromAll, nil))}
	got := expose(state.Agent{
		Agent: own.Agent, Exposure: everyHostname, Children: state.Children{HTTPRoute: own.HTTPRoute, GRPCRoute: own.GRPCRoute},
		GatewayAPI: state.GatewayAPI{
			HTTPRoutes: true, GRPCRoutes: true, Claims: claimsOf(own, competitor),
			Gateways: map[types.NamespacedName]*gatewayv1.Gateway{{Namespace: "infra", Name: "public"}: gateway},
		},
	})
	if got.url != "https://a.example/" || len(got.bases) != 1 || got.bases[0].GRPC != "" {
		t.Errorf("url = %q, %d addresses, want that of the HTTPRoute only", got.url, len(got.bases))
	}
	if len(got.problems) != 1 || got.problems[0].Reason != a2av1alpha1.ReasonAddressConflict || !strings.HasSuffix(got.problems[0].Message, "change spec.exposure.grpcHostnames of this Agent") {
		t.Errorf("problems = %+v", got.problems)
	}
}

func at(path string, one *agentWithRoutes) {
	one.Agent.Spec.Exposure.Path, one.HTTPRoute.Spec.Rules = path, rules(path)
}

func section(name string, one *agentWithRoutes) {
	one.Agent.Spec.Exposure.ParentRefs[0].SectionName = name
	one.HTTPRoute.Status.Parents[0].ParentRef.SectionName = new(gatewayv1.SectionName(name))
}
