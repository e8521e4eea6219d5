// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

const (
	// servicePort is the port at which clients call an agent without TLS, by any binding.
	servicePort = 80
	// serviceTLSPort is the port at which clients call an agent with TLS. servicePort then leads
	// to the same port of the sidecar. The sidecar answers an HTTP request without TLS, which a
	// client sends to servicePort, with 426 Upgrade Required (serverconn.PlainRefusal).
	serviceTLSPort = 443
	// grpcServicePort is the port at which a Gateway calls an agent by gRPC, unless spec.service names another one. It is a
	// separate port, because the appProtocol of a port determines the protocol that a
	// Gateway uses.
	grpcServicePort = sidecarconfig.AgentPort
)

// service returns the Service of an Agent, which routes to the sidecars of the ready pods. The
// operator owns the field type, so that it reverts a change to NodePort or LoadBalancer: such a
// Service would be reachable without the Gateways of spec.exposure. When the type is ClusterIP
// again, the API server removes the node ports of the Service.
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
	service := ptr.Deref(agent.Spec.Service, a2av1alpha1.AgentService{})
	ports := []*corev1ac.ServicePortApplyConfiguration{agentPort(a2av1alpha1.PortAgent, cmp.Or(service.AppProtocol, "http"), servicePort)}
	grpc := "kubernetes.io/h2c"
	if agent.Spec.Access.TLS != nil {
		ports = []*corev1ac.ServicePortApplyConfiguration{
			agentPort(a2av1alpha1.PortAgent, cmp.Or(service.AppProtocol, "https"), serviceTLSPort), agentPort(a2av1alpha1.PortPlain, "http", servicePort),
		}
		grpc = "https"
	}
	if port := grpcPort(agent); port > 0 {
		ports = append(ports, agentPort(a2av1alpha1.PortGRPC, grpc, port))
	}
	return ports
}

// grpcPort returns the port of the Service that is for gRPC only, 0 for none.
func grpcPort(agent *a2av1alpha1.Agent) int32 {
	if s := agent.Spec.Service; s != nil && s.GRPCPort > 0 {
		return s.GRPCPort
	}
	if e := agent.Spec.Exposure; e != nil && len(e.GRPCHostnames) > 0 {
		return grpcServicePort
	}
	return 0
}

// callPort returns the port of the Service at which clients call an agent.
func callPort(agent *a2av1alpha1.Agent) int32 {
	if agent.Spec.Access.TLS != nil {
		return serviceTLSPort
	}
	return servicePort
}

// agentPort returns a port of the Service. Every port of the Service leads to the same
// port of the sidecar.
func agentPort(name, protocol string, port int32) *corev1ac.ServicePortApplyConfiguration {
	return corev1ac.ServicePort().
		WithName(name).
		WithProtocol(corev1.ProtocolTCP).
		WithAppProtocol(protocol).
		WithPort(port).
		WithTargetPort(intstr.FromInt32(sidecarconfig.AgentPort))
}
