// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

const (
	// servicePort is where an agent is called, in any way.
	servicePort = 80
	// serviceTLSPort is the same of an agent with TLS. At the other the sidecar
	// tells clients without TLS to come with it.
	serviceTLSPort = 443
	// grpcServicePort is where a Gateway calls it by gRPC: which protocol a
	// Gateway speaks to a Service depends on the port's appProtocol.
	grpcServicePort = sidecarconfig.AgentPort
)

// service leads to the sidecars of the pods that are ready. Its type is owned, so
// that one which was patched to NodePort or LoadBalancer, and so leads past the
// Gateways of spec.exposure, is put right. The API server then takes back the node
// ports, which only the two other types have.
func service(agent *a2av1alpha1.Agent) *corev1ac.ServiceApplyConfiguration {
	spec := corev1ac.ServiceSpec().
		WithType(corev1.ServiceTypeClusterIP).
		WithSelector(names.Selector(agent.Name)).
		WithPorts(servicePorts(agent)...)
	return corev1ac.Service(names.Service(agent.Name), agent.Namespace).
		WithLabels(names.Labels(agent.Name)).
		WithSpec(spec)
}

func servicePorts(agent *a2av1alpha1.Agent) []*corev1ac.ServicePortApplyConfiguration {
	ports := []*corev1ac.ServicePortApplyConfiguration{agentPort(a2av1alpha1.PortAgent, "http", servicePort)}
	grpc := "kubernetes.io/h2c"
	if agent.Spec.Access.TLS != nil {
		ports = []*corev1ac.ServicePortApplyConfiguration{
			agentPort(a2av1alpha1.PortAgent, "https", serviceTLSPort), agentPort(a2av1alpha1.PortPlain, "http", servicePort),
		}
		grpc = "https"
	}
	if e := agent.Spec.Exposure; e != nil && len(e.GRPCHostnames) > 0 {
		ports = append(ports, agentPort(a2av1alpha1.PortGRPC, grpc, grpcServicePort))
	}
	return ports
}

// callPort is where an agent is called.
func callPort(agent *a2av1alpha1.Agent) int32 {
	if agent.Spec.Access.TLS != nil {
		return serviceTLSPort
	}
	return servicePort
}

// agentPort leads to the one port at which the sidecar is called.
func agentPort(name, protocol string, port int32) *corev1ac.ServicePortApplyConfiguration {
	return corev1ac.ServicePort().
		WithName(name).
		WithProtocol(corev1.ProtocolTCP).
		WithAppProtocol(protocol).
		WithPort(port).
		WithTargetPort(intstr.FromInt32(sidecarconfig.AgentPort))
}
