// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/http"
	"net/http/httputil"
)

// rewrite directs a request to its destination. It replaces the agent's credential by the
// sidecar's. The proxy drops hop-by-hop and forwarding headers.
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
		// The client has no ETag of the rewritten card, so its If-None-Match does not apply.
		r.Out.Header.Del("If-None-Match")
		r.Out.Header.Del("If-Modified-Since")
	}
}

// modify refuses redirects, because they lead around the gateway. It rewrites the addresses
// in responses, and removes a token from the cache if the agent has rejected it.
func (h *Handler) modify(response *http.Response) error {
	redirect := response.StatusCode >= 300 && response.StatusCode < 400
	if redirect && response.StatusCode != http.StatusNotModified {
		return errRedirect
	}
	response.Header.Del("Set-Cookie")
	to := destinationOf(response.Request.Context())
	to.result.status = response.StatusCode
	// gRPC-Web responses without messages have their status in a header.
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
