// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/exposure"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// everyHostname allows all hostnames at all Gateways.
var everyHostname = []exposure.Permission{{Hostnames: []string{"*"}}}

// TestRoutesNeedAPermission checks that a route exists only if the rules of exposure allow all its hostnames, its
// path and the URL of the Agent at all its Gateways.
func TestRoutesNeedAPermission(t *testing.T) {
	names := func(hosts ...string) []exposure.Permission {
		return []exposure.Permission{{Hostnames: hosts}}
	}
	at := types.NamespacedName{Namespace: "gateways", Name: "public"}
	tests := map[string]struct {
		allowed []exposure.Permission
		change  func(*a2av1alpha1.AgentExposure)
		// unseen makes HTTPRoutes unreadable.
		unseen    bool
		web, grpc bool
		// said are parts of the first message.
		said []string
	}{
		"nothing allowed": {said: []string{
			"spec.exposure.hostnames has agents.example.com with spec.exposure.path /team/echo", `namespace "agents"`, `Gateway "public" of namespace "gateways"`,
			"(allowed hostnames: none)", "exposure.allowed of the chart",
		}},
		"nothing allowed and nothing seen": {unseen: true, said: []string{"spec.exposure.hostnames has agents.example.com"}},
		"other names allowed":              {allowed: names("b.example.com", "a.example.com"), said: []string{"(allowed hostnames: a.example.com, b.example.com)"}},
		"one of two routes":                {allowed: names("agents.example.com"), web: true, said: []string{"spec.exposure.grpcHostnames has grpc.example.com"}},
		"both routes":                      {allowed: names("agents.example.com", "grpc.example.com"), web: true, grpc: true},
		"below a domain":                   {allowed: names("*.example.com"), web: true, grpc: true},
		"two rules":                        {allowed: append(names("agents.example.com"), names("grpc.example.com")...), web: true, grpc: true},
		"one hostname too many": {
			allowed: names("*.example.com"), grpc: true, said: []string{"spec.exposure.hostnames has login.example.org"},
			change: func(e *a2av1alpha1.AgentExposure) { e.Hostnames = append(e.Hostnames, "login.example.org") },
		},
		"wider wildcard": {
			allowed: names("*.a.example.com", "grpc.example.com"), grpc: true, said: []string{"has *.example.com"},
			change: func(e *a2av1alpha1.AgentExposure) { e.Hostnames = []a2av1alpha1.Hostname{"*.example.com"} },
		},
		"no hostname": {
			allowed: names("*.example.com"), grpc: true, said: []string{"spec.exposure.hostnames is absent, which requests all hostnames of the listeners"},
			change: func(e *a2av1alpha1.AgentExposure) { e.Hostnames = nil },
		},
		"no hostname, all allowed": {
			allowed: names("*"), web: true, grpc: true, change: func(e *a2av1alpha1.AgentExposure) { e.Hostnames = nil },
		},
		"another Gateway allowed": {
			allowed: []exposure.Permission{{Hostnames: []string{"*"}, Gateways: []types.NamespacedName{{Namespace: "agents", Name: "public"}}}},
			said:    []string{"(allowed hostnames: none)"},
		},
		"one of two Gateways allowed": {
			allowed: []exposure.Permission{{Hostnames: []string{"*"}, Gateways: []types.NamespacedName{at}}},
			change: func(e *a2av1alpha1.AgentExposure) {
				e.ParentRefs = append(e.ParentRefs, a2av1alpha1.GatewayRef{Name: "own"})
			},
			said: []string{`Gateway "own" of namespace "agents"`},
		},
		"path allowed": {
			allowed: []exposure.Permission{{Hostnames: []string{"*.example.com"}, Paths: []string{"/team"}}}, web: true,
			said: []string{"spec.exposure.grpcHostnames has grpc.example.com"}, // a GRPCRoute takes all paths
		},
		"another path": {
			allowed: []exposure.Permission{{Hostnames: []string{"*.example.com"}, Paths: []string{"/te", "/team/echo/more"}}},
			said:    []string{"spec.exposure.path /team/echo"},
		},
		"URL allowed": {
			allowed: names("*.example.com"), web: true, grpc: true,
			change: func(e *a2av1alpha1.AgentExposure) { e.URL = "https://front.example.com/x" },
		},
		"URL of another host": {
			allowed: names("*.example.com"), grpc: true, said: []string{"spec.exposure.url is https://login.example.org/"},
			change: func(e *a2av1alpha1.AgentExposure) { e.URL = "https://login.example.org/" },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := readCase(t, filepath.Join("testdata", "exposed", "input.yaml"))
			in.Exposure = test.allowed
			in.Agent.Status.ExternalURL = "https://agents.example.com/team/echo/"
			if test.unseen {
				in.GatewayAPI.Unreadable.HTTPRoutes = "no right"
			}
			if test.change != nil {
				test.change(in.Agent.Spec.Exposure)
			}
			result, err := Agent(in, testPlatform)
			if err != nil || result.Objects == nil {
				t.Fatalf("Agent() = %+v, %v", result.Problems, err)
			}
			if web, grpc := result.Objects.HTTPRoute != nil, result.Objects.GRPCRoute != nil; web != test.web || grpc != test.grpc {
				t.Errorf("HTTPRoute %t, GRPCRoute %t, want %t, %t", web, grpc, test.web, test.grpc)
			}
			if !test.web && result.Card.ExternalURL != "" {
				t.Errorf("external URL = %q without a route", result.Card.ExternalURL)
			}
			if len(test.said) > 0 && (len(result.Exposure) == 0 || result.Exposure[0].Reason != a2av1alpha1.ReasonHostnameNotAllowed) {
				t.Fatalf("problems = %+v", result.Exposure)
			}
			for _, part := range test.said {
				if !strings.Contains(result.Exposure[0].Message, part) {
					t.Errorf("message %q does not contain %q", result.Exposure[0].Message, part)
				}
			}
		})
	}
}

// TestAnotherProxyNeedsAPermission checks that an Agent behind a proxy that is no Gateway has the URL on its card, and
// no route, only if the rules of exposure allow the URL.
func TestAnotherProxyNeedsAPermission(t *testing.T) {
	for name, test := range map[string]struct {
		allowed []exposure.Permission
		url     string
		said    string
	}{
		"allowed":         {allowed: []exposure.Permission{{Hostnames: []string{"*.example.com"}}}, url: "https://agents.example.com/team/echo/"},
		"nothing allowed": {said: `is not allowed to namespace "agents" (allowed hostnames: none)`},
		"another host":    {allowed: []exposure.Permission{{Hostnames: []string{"other.example.com"}}}, said: "spec.exposure.url is https://agents.example.com/team/echo"},
		"only at a Gateway": {
			allowed: []exposure.Permission{{Hostnames: []string{"*"}, Gateways: []types.NamespacedName{{Namespace: "gateways", Name: "public"}}}},
			said:    "spec.exposure.url is",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := readCase(t, filepath.Join("testdata", "exposed", "input.yaml"))
			in.Exposure = test.allowed
			in.Agent.Spec.Exposure = &a2av1alpha1.AgentExposure{URL: "https://agents.example.com/team/echo"}
			result, err := Agent(in, testPlatform)
			if err != nil || result.Objects == nil {
				t.Fatalf("Agent() = %+v, %v", result.Problems, err)
			}
			if result.Objects.HTTPRoute != nil || result.Objects.GRPCRoute != nil || result.Card.ExternalURL != test.url {
				t.Errorf("external URL = %q, want %q, with routes %v, %v", result.Card.ExternalURL, test.url, result.Objects.HTTPRoute, result.Objects.GRPCRoute)
			}
			if said := fmt.Sprint(result.Exposure); !strings.Contains(said, test.said) || test.said == "" && len(result.Exposure) > 0 {
				t.Errorf("problems = %s, want %q", said, test.said)
			}
		})
	}
}

// TestForbiddenRoutes checks that an existing route is forbidden by its own hostnames, whatever the spec has.
func TestForbiddenRoutes(t *testing.T) {
	for name, test := range map[string]struct {
		allowed   []exposure.Permission
		change    func(*state.Agent)
		web, grpc bool
	}{
		"allowed":             {allowed: everyHostname},
		"nothing allowed":     {web: true, grpc: true},
		"no hostname allowed": {allowed: []exposure.Permission{{Hostnames: []string{"grpc.example.com"}}}, web: true},
		"another path": {
			allowed: []exposure.Permission{{Hostnames: []string{"*"}, Paths: []string{"/team"}}}, grpc: true,
		},
		"a route for all names": {
			allowed: []exposure.Permission{{Hostnames: []string{"*.example.com"}}}, web: true,
			change: func(in *state.Agent) { in.Children.HTTPRoute.Spec.Hostnames = nil },
		},
		"another Gateway": {
			allowed: []exposure.Permission{{Hostnames: []string{"*"}, Gateways: []types.NamespacedName{{Namespace: "agents", Name: "public"}}}},
			web:     true, grpc: true,
		},
		"routes of other owners": {change: func(in *state.Agent) {
			in.Children.HTTPRoute.OwnerReferences, in.Children.GRPCRoute.OwnerReferences = nil, nil
		}},
		"an allowed spec": {
			allowed: []exposure.Permission{{Hostnames: []string{"b.example.com"}}}, web: true, grpc: true,
			change: func(in *state.Agent) {
				in.Agent.Spec.Exposure.Hostnames, in.Agent.Spec.Exposure.GRPCHostnames = []a2av1alpha1.Hostname{"b.example.com"}, nil
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := readCase(t, filepath.Join("testdata", "exposed", "input.yaml"))
			in.Exposure = test.allowed
			refs := []gatewayv1.ParentReference{{Namespace: new(gatewayv1.Namespace("gateways")), Name: "public"}}
			in.Children.HTTPRoute.Spec.ParentRefs, in.Children.GRPCRoute.Spec.ParentRefs = refs, refs
			if test.change != nil {
				test.change(&in)
			}
			if web, grpc := ForbiddenRoutes(in); (web != nil) != test.web || (grpc != nil) != test.grpc {
				t.Errorf("ForbiddenRoutes() = %t, %t, want %t, %t", web != nil, grpc != nil, test.web, test.grpc)
			}
		})
	}
}
