// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/http/httputil"
	"strings"
)

type wayKey struct{}

func (w *way) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, wayKey{}, w)
}

// wayOf returns what ServeHTTP has put there.
func wayOf(ctx context.Context) *way {
	return ctx.Value(wayKey{}).(*way)
}

// rewrite addresses a request. The agent's own credentials are no business of
// others; hop-by-hop and forwarding headers are dropped by the proxy.
func rewrite(r *httputil.ProxyRequest) {
	w := wayOf(r.In.Context())
	query := r.Out.URL.RawQuery
	*r.Out.URL = *w.target
	r.Out.URL.RawQuery = query
	r.Out.Host = w.target.Host
	for _, name := range []string{"Authorization", "Cookie", "Origin", "Referer", headerTask} {
		r.Out.Header.Del(name)
	}
	r.Out.Header.Set("Authorization", "Bearer "+w.token)
	if w.card() {
		// The card is changed on the way, so it has no ETag to ask for.
		r.Out.Header.Del("If-None-Match")
		r.Out.Header.Del("If-Modified-Since")
		r.Out.Header.Del("Accept-Encoding")
	}
}

var errRedirect = errors.New("answer is a redirect")

// modify keeps the agent from being sent where the gateway does not lead.
func modify(response *http.Response) error {
	redirect := response.StatusCode >= 300 && response.StatusCode < 400
	if redirect && response.StatusCode != http.StatusNotModified {
		return errRedirect
	}
	response.Header.Del("Set-Cookie")
	w := wayOf(response.Request.Context())
	if w.card() && response.StatusCode == http.StatusOK && response.Request.Method == http.MethodGet {
		return w.readdress(response)
	}
	return nil
}

// card reports whether the request is for an agent's card, the public one or,
// at the paths of 0.2, 0.3 and 1.0, the extended one.
func (w *way) card() bool {
	if w.base == "" {
		return false
	}
	switch w.target.Path {
	case "/agent/authenticatedExtendedCard", "/v1/card", "/extendedAgentCard":
		return true
	}
	return strings.HasPrefix(w.target.Path, "/.well-known/agent")
}
