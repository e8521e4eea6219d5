// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Visibility selects who finds an agent in the registry. Each value includes the
// ones before it.
//
// +kubebuilder:validation:Enum=Cluster;Federated;Public
type Visibility string

const (
	// VisibilityCluster means callers that see the namespace of the Agent.
	VisibilityCluster Visibility = "Cluster"
	// VisibilityFederated means also the registries of other clusters that are
	// peers of this one.
	VisibilityFederated Visibility = "Federated"
	// VisibilityPublic means also everyone else, with and without a token.
	VisibilityPublic Visibility = "Public"
)

// AgentDiscovery configures who finds an agent in the registry. It gives no right
// to call the agent.
type AgentDiscovery struct {
	// visibility selects who finds the agent: with Cluster, callers whose RBAC lets
	// them see the namespace; with Federated, also the registries of other clusters
	// that are peers; with Public, everyone, without a token. A Public agent with an
	// external URL is also in the catalog outside of the cluster, if the registry has
	// one. It defaults to Cluster.
	// +kubebuilder:default=Cluster
	// +optional
	Visibility Visibility `json:"visibility,omitempty"`
}
