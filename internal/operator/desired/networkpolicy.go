// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// dnsPorts are the ports of DNS. A NetworkPolicy applies to the port of the DNS server's
// pod, which differs on OpenShift from the port of its Service.
var dnsPorts = []int32{53, 5353}

// networkPolicy returns the NetworkPolicy of an Agent, or nil if its management is None.
// The policy admits ingress only to the ports of the sidecar, so that clients cannot
// bypass the sidecar when the agent listens on all addresses. It restricts egress only if
// the spec does.
func networkPolicy(agent *a2av1alpha1.Agent, platform Platform) *networkingv1ac.NetworkPolicyApplyConfiguration {
	policy := agent.Spec.NetworkPolicy
	if policy.Management == a2av1alpha1.NetworkPolicyNone {
		return nil
	}
	spec := networkingv1ac.NetworkPolicySpec().
		WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(names.Selector(agent.Name))).
		WithPolicyTypes(networkingv1.PolicyTypeIngress).
		WithIngress(networkingv1ac.NetworkPolicyIngressRule().
			WithPorts(tcp(sidecarconfig.AgentPort), tcp(sidecarconfig.HealthPort)))
	if policy.Egress != nil {
		spec.WithPolicyTypes(networkingv1.PolicyTypeEgress).WithEgress(egress(*policy.Egress, platform)...)
	}
	return networkingv1ac.NetworkPolicy(names.NetworkPolicy(agent.Name), agent.Namespace).
		WithLabels(names.Labels(agent.Name)).
		WithSpec(spec)
}

// egress returns the rules of the user, followed by the rules that every agent needs. In
// this order, the index of a user's rule in a message of the API server is its index in
// the spec.
func egress(rules []networkingv1.NetworkPolicyEgressRule, platform Platform) []*networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration {
	var all []*networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration
	for i := range rules {
		all = append(all, egressRule(&rules[i]))
	}
	dns := networkingv1ac.NetworkPolicyEgressRule()
	for _, port := range dnsPorts {
		dns.WithPorts(tcp(port), networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolUDP).WithPort(intstr.FromInt32(port)))
	}
	all = append(all, dns)
	if platform.RegistryNamespace != "" {
		all = append(all, networkingv1ac.NetworkPolicyEgressRule().WithTo(networkingv1ac.NetworkPolicyPeer().
			WithNamespaceSelector(metav1ac.LabelSelector().WithMatchLabels(map[string]string{
				corev1.LabelMetadataName: platform.RegistryNamespace,
			})).
			WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(map[string]string{
				a2av1alpha1.LabelName: a2av1alpha1.ManagedBy,
			}))))
	}
	return all
}

// egressRule converts a rule of the user. It sets the default protocol, TCP, of ports
// without a protocol.
func egressRule(rule *networkingv1.NetworkPolicyEgressRule) *networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration {
	config := applyConfiguration[networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration](rule)
	for i := range config.Ports {
		config.Ports[i].Protocol = cmp.Or(config.Ports[i].Protocol, new(corev1.ProtocolTCP))
	}
	return config
}

func tcp(port int32) *networkingv1ac.NetworkPolicyPortApplyConfiguration {
	return networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolTCP).WithPort(intstr.FromInt32(port))
}
