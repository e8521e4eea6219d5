// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import "net/http"

// Remote is an agent that runs elsewhere, as the registry tells of it. It is
// never changed.
type Remote struct {
	Namespace, Name string
	// URL is where its Agent says that it is, and Card what it was found to
	// serve there; Digest names that.
	URL    string
	Card   []byte
	Digest string
}

// Remotes serve agents that run elsewhere.
type Remotes interface {
	// ServeRemote answers a request whose path is the one that the agent would
	// see. base is where the agent is reached through the gateway.
	ServeRemote(w http.ResponseWriter, r *http.Request, agent *Remote, base string)
}

// serveRemote hands a request on to who speaks with the agent. What the agent
// said of its own task is for others of the cluster.
func (h *Handler) serveRemote(w http.ResponseWriter, r *http.Request, agent *Remote, way *way) {
	if h.options.Remotes == nil {
		h.failed(w, r, errNoRemotes)
		return
	}
	out := way.seenByAgent(r)
	out.Header.Del(headerTask)
	h.options.Remotes.ServeRemote(w, out, agent, way.base)
}
