// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

// Config has the addresses of the registry and the agents, and the token for the registry.
type Config struct {
	// RegistryURL is the base of the registry's API.
	RegistryURL string
	// AgentURL is the base URL of an agent, a template with {name} and {namespace}.
	AgentURL string
	// TokenFile is the file with the sidecar's token for the registry. It is read for every
	// request, because the kubelet replaces it.
	TokenFile string
	// TokenURL is the URL at which the registry exchanges the sidecar's token for a token for
	// one agent.
	TokenURL string
	// Audience is the audience of an agent, a template with {name} and {namespace}.
	Audience string
}
