// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

// Config says where the registry and the agents are.
type Config struct {
	// RegistryURL is the base of the registry's API.
	RegistryURL string
	// AgentURL is the base of an agent, with {name} and {namespace} in it.
	AgentURL string
	// TokenFile has the sidecar's token for the registry. It is read for every request,
	// because the kubelet replaces it.
	TokenFile string
	// TokenURL is where the registry exchanges that token for one for an agent.
	TokenURL string
	// Audience is the audience of an agent, with {name} and {namespace} in it.
	Audience string
}
