// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import "net/http"

// Remote is a remote agent as the registry describes it. It is immutable.
type Remote struct {
	Namespace, Name string
	// URL is that of its Agent's spec. Card is the card that the operator read there, and
	// Digest its digest.
	URL    string
	Card   []byte
	Digest string
}

// Remotes calls remote agents.
type Remotes interface {
	// ServeRemote answers a request whose path is the one that the agent would see. base
	// is the URL of the agent through the gateway.
	ServeRemote(w http.ResponseWriter, r *http.Request, agent *Remote, base string)
}
