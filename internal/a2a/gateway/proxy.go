// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/http/httputil"
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
	if w.asked != cardNone {
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
	if w.asked == cardNone || response.StatusCode != http.StatusOK {
		return nil
	}
	return w.readdress(response)
}
