// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AgentAccess says who may call an agent.
type AgentAccess struct {
	// authentication lists the ways to prove who is calling; any one of them
	// is enough. It defaults to Kubernetes alone.
	// +kubebuilder:default={{type: "Kubernetes"}}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=type
	// +optional
	Authentication []Authentication `json:"authentication,omitempty"`
}

// AuthenticationType names a way to prove who is calling.
//
// +kubebuilder:validation:Enum=Kubernetes;Anonymous
type AuthenticationType string

const (
	// AuthenticationKubernetes admits ServiceAccounts of the Agent's namespace
	// that show a token for the audience <name>.<namespace>.a2a-operator.dev
	// or a2a-operator.dev.
	AuthenticationKubernetes AuthenticationType = "Kubernetes"
	// AuthenticationAnonymous admits calls without a credential.
	AuthenticationAnonymous AuthenticationType = "Anonymous"
)

// Authentication is one way to prove who is calling.
type Authentication struct {
	// type is Kubernetes, a ServiceAccount's token, or Anonymous, no credential
	// at all. Anybody who reaches the Service may call an Anonymous agent.
	// +required
	Type AuthenticationType `json:"type"`
}
