// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/kit/remotecredential"
)

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
	// Client is the audience of the calling agent itself.
	Client string
	// CredentialURL is the URL at which the registry gives the credentials for remote agents.
	CredentialURL string
	// Audience is the audience of an agent, a template with {name} and {namespace}.
	Audience string
}

// MCPPath is the path of the MCP server.
const MCPPath = "/mcp"

// Endpoints are the handlers that the gateway itself serves to its own pod. They call agents
// and the registry through the gateway's Handler.
type Endpoints struct {
	// Agent is the directory as an A2A agent. It serves all paths that belong neither to the
	// registry nor to agents nor to MCP. If it is nil, these other paths are not served.
	Agent http.Handler
	// MCP is the MCP server, or nil to serve none.
	MCP http.Handler
	// Sessions serves the paths below SessionsPrefix, without a registry, too. If it returns nil, they are paths like others.
	Sessions func() http.Handler
}

// SessionsPrefix is the prefix of the paths at which an agent's container stores its sessions.
const SessionsPrefix = "/api/"

// Remote is a remote agent as the registry describes it. It is immutable.
type Remote struct {
	Namespace, Name string
	// URL is the URL in spec.remote.url of the Agent. Card is the card that the operator has
	// read there, and Digest is its digest.
	URL    string
	Card   []byte
	Digest string
	// Credential returns the credential with which the sidecar calls the agent for the subject of ctx (delegation.From), zero for none. origin
	// is the origin of the request that has the credential. refused is
	// the Digest of one that the agent has refused, "" for none. Its errors are those of remotecredentials.Source.Get.
	Credential func(ctx context.Context, origin, refused string) (remotecredential.Credential, error)
}

// Remotes is the part of the sidecar that calls remote agents.
type Remotes interface {
	// ServeRemote answers a request for a remote agent. The path of the request is the path that
	// the agent would see. base is the agent's URL through the gateway. The context has the subject for whom the agent is called if
	// the agent needs a token of its users (delegation.From).
	ServeRemote(w http.ResponseWriter, r *http.Request, agent *Remote, base string)
}
