// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/http"
	"net/http/httputil"
)

// rewrite addresses a request to its destination, with the sidecar's credential instead of
// the agent's. The proxy drops hop-by-hop and forwarding headers.
func rewrite(r *httputil.ProxyRequest) {
	to := destinationOf(r.In.Context())
	query := r.Out.URL.RawQuery
	*r.Out.URL = *to.target
	r.Out.URL.RawQuery = query
	r.Out.Host = to.target.Host
	for _, name := range []string{"Authorization", "Cookie", "Origin", "Referer", headerTask} {
		r.Out.Header.Del(name)
	}
	r.Out.Header.Set("Authorization", "Bearer "+to.token)
	if to.rewrites == rewriteNone {
		return
	}
	r.Out.Header.Del("Accept-Encoding")
	if to.rewrites.isCard() {
		// A rewritten card has no ETag that the client could compare.
		r.Out.Header.Del("If-None-Match")
		r.Out.Header.Del("If-Modified-Since")
	}
}

// modify refuses redirects, which lead past the gateway, rewrites the addresses in
// responses, and drops a token that an agent has not accepted.
func (h *Handler) modify(response *http.Response) error {
	redirect := response.StatusCode >= 300 && response.StatusCode < 400
	if redirect && response.StatusCode != http.StatusNotModified {
		return errRedirect
	}
	response.Header.Del("Set-Cookie")
	to := destinationOf(response.Request.Context())
	to.result.status = response.StatusCode
	// gRPC-Web has its status in a header of a response without messages.
	unauthenticated := response.StatusCode == http.StatusUnauthorized || response.Header.Get("Grpc-Status") == "16"
	if to.kind == kindAgent && unauthenticated {
		h.tokens.Reject(to.audience, to.token)
	}
	if to.rewrites == rewriteNone || response.StatusCode != http.StatusOK {
		return nil
	}
	if response.Request.Method == http.MethodHead {
		response.Header.Del("Content-Length") // the rewritten response has another length
		return nil
	}
	return h.rewriteBody(to, response)
}
