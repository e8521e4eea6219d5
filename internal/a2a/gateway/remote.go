// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import "net/http"

// Remote is a remote agent as the registry describes it. It is immutable.
type Remote struct {
	Namespace, Name string
	// URL is the URL in spec.remote.url of the Agent. Card is the card that the operator has
	// read there, and Digest is its digest.
	URL    string
	Card   []byte
	Digest string
}

// Remotes is the part of the sidecar that calls remote agents.
type Remotes interface {
	// ServeRemote answers a request for a remote agent. The path of the request is the path that
	// the agent would see. base is the agent's URL through the gateway.
	ServeRemote(w http.ResponseWriter, r *http.Request, agent *Remote, base string)
}
