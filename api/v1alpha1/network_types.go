// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import networkingv1 "k8s.io/api/networking/v1"

// NetworkPolicyManagement says who makes the NetworkPolicy of an agent.
//
// +kubebuilder:validation:Enum=Managed;None
type NetworkPolicyManagement string

const (
	// NetworkPolicyManaged lets the operator make one.
	NetworkPolicyManaged NetworkPolicyManagement = "Managed"
	// NetworkPolicyNone leaves it to the user: the operator makes none, and
	// deletes the one that it has made.
	NetworkPolicyNone NetworkPolicyManagement = "None"
)

// AgentNetworkPolicy says what the network lets through to the agent's pods and
// from them. It takes a network plugin that enforces NetworkPolicies.
//
// +kubebuilder:validation:XValidation:rule="self.management != 'None' || !has(self.egress)",message="spec.networkPolicy.egress has no effect with management None; remove one of the two"
type AgentNetworkPolicy struct {
	// management is Managed, which admits nothing but the ports of the sidecar,
	// or None. Without a policy an agent that listens on all addresses can be
	// called past its sidecar. It defaults to Managed.
	// +kubebuilder:default=Managed
	// +optional
	Management NetworkPolicyManagement `json:"management,omitempty"`

	// egress lists where the pods may connect to, beside DNS and the registry.
	// Absent means anywhere; an empty list means nowhere else.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Egress *[]networkingv1.NetworkPolicyEgressRule `json:"egress,omitempty"`
}
