// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/exposure"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

func TestPortsOfTheService(t *testing.T) {
	tls := a2av1alpha1.AgentAccess{TLS: &a2av1alpha1.AccessTLS{}}
	gateway := &a2av1alpha1.AgentExposure{GRPCHostnames: []a2av1alpha1.Hostname{"grpc.example.com"}}
	tests := map[string]struct {
		spec  a2av1alpha1.AgentSpec
		ports []string
		grpc  string
	}{
		"by default": {ports: []string{"a2a 80 http"}, grpc: "echo.team.svc.corp.example:80"},
		"with TLS":   {spec: a2av1alpha1.AgentSpec{Access: tls}, ports: []string{"a2a 443 https", "a2a-plain 80 http"}, grpc: "echo.team.svc.corp.example:443"},
		"behind a Gateway with gRPC": {
			spec: a2av1alpha1.AgentSpec{Exposure: gateway}, ports: []string{"a2a 80 http", "a2a-grpc 8641 kubernetes.io/h2c"}, grpc: "echo.team.svc.corp.example:80",
		},
		"with another protocol": {
			spec:  a2av1alpha1.AgentSpec{Service: &a2av1alpha1.AgentService{AppProtocol: "kgateway.dev/a2a"}},
			ports: []string{"a2a 80 kgateway.dev/a2a"}, grpc: "echo.team.svc.corp.example:80",
		},
		"with another protocol and TLS": {
			spec:  a2av1alpha1.AgentSpec{Access: tls, Service: &a2av1alpha1.AgentService{AppProtocol: "tls"}},
			ports: []string{"a2a 443 tls", "a2a-plain 80 http"}, grpc: "echo.team.svc.corp.example:443",
		},
		"with a port for gRPC": {
			spec:  a2av1alpha1.AgentSpec{Service: &a2av1alpha1.AgentService{GRPCPort: 50051}},
			ports: []string{"a2a 80 http", "a2a-grpc 50051 kubernetes.io/h2c"}, grpc: "echo.team.svc.corp.example:50051",
		},
		"with a port for gRPC, TLS and a Gateway": {
			spec:  a2av1alpha1.AgentSpec{Access: tls, Exposure: gateway, Service: &a2av1alpha1.AgentService{GRPCPort: 8641}},
			ports: []string{"a2a 443 https", "a2a-plain 80 http", "a2a-grpc 8641 https"}, grpc: "echo.team.svc.corp.example:8641",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			agent := &a2av1alpha1.Agent{Spec: test.spec}
			agent.Namespace = "team"
			agent.Name = "echo"
			var ports []string
			for _, port := range servicePorts(agent) {
				ports = append(ports, fmt.Sprintf("%s %d %s", *port.Name, *port.Port, *port.AppProtocol))
			}
			if diff := cmp.Diff(test.ports, ports); diff != "" {
				t.Errorf("ports (-want +got):\n%s", diff)
			}
			bases := serviceBases(agent, Platform{ClusterDomain: "corp.example"})
			if bases[0].GRPC != test.grpc {
				t.Errorf("the card names %s for gRPC, want %s", bases[0].GRPC, test.grpc)
			}
		})
	}
}

// TestCardForAGatewayThatRewritesIt checks that the card for external hosts has no path, and the external URL has one.
func TestCardForAGatewayThatRewritesIt(t *testing.T) {
	for rewrites, base := range map[bool]string{false: "https://agents.example.com:8443/team/echo/", true: "https://agents.example.com:8443/"} {
		agent := &a2av1alpha1.Agent{Spec: a2av1alpha1.AgentSpec{Exposure: &a2av1alpha1.AgentExposure{
			URL: "https://agents.example.com:8443/team/echo", GatewayRewritesCard: rewrites,
		}}}
		got := expose(state.Agent{Agent: agent, Exposure: []exposure.Permission{{Hostnames: []string{"*"}}}})
		if got.url != "https://agents.example.com:8443/team/echo/" || len(got.bases) != 1 || got.bases[0].URL != base {
			t.Errorf("with gatewayRewritesCard %v: %+v, want the base %s", rewrites, got, base)
		}
	}
}
