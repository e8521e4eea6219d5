// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import networkingv1 "k8s.io/api/networking/v1"

// NetworkPolicyManagement selects who manages the NetworkPolicy of an agent.
//
// +kubebuilder:validation:Enum=Managed;None
type NetworkPolicyManagement string

const (
	// NetworkPolicyManaged means that the operator creates the policy.
	NetworkPolicyManaged NetworkPolicyManagement = "Managed"
	// NetworkPolicyNone means that the operator creates no policy, and deletes the
	// one that it created.
	NetworkPolicyNone NetworkPolicyManagement = "None"
)

// AgentNetworkPolicy configures the NetworkPolicy of the agent's pods. It has an
// effect only with a network plugin that enforces NetworkPolicies.
//
// +kubebuilder:validation:XValidation:rule="self.management != 'None' || !has(self.egress)",message="spec.networkPolicy.egress has no effect with management None; remove one of the two"
type AgentNetworkPolicy struct {
	// management is Managed, which admits ingress to the ports of the sidecar only,
	// or None, for no policy. Without a policy, clients can bypass the sidecar of an
	// agent that listens on all addresses. It defaults to Managed.
	// +kubebuilder:default=Managed
	// +optional
	Management NetworkPolicyManagement `json:"management,omitempty"`

	// egress lists the rules for connections of the pods, in addition to DNS and the
	// registry. If absent, all connections are allowed. An empty list allows only
	// DNS and the registry.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Egress *[]networkingv1.NetworkPolicyEgressRule `json:"egress,omitempty"`
}
