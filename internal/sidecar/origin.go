// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// What a web page of another origin may send and read, once it is allowed.
// Cookies are not among it: nothing here reads them.
const (
	corsMethods = "GET, POST, PUT, DELETE"
	corsHeaders = "Accept, Authorization, Content-Type, A2A-Version, A2A-Extensions, X-A2A-Extensions, Last-Event-ID, Traceparent, Tracestate, " +
		"Grpc-Timeout, X-Grpc-Web, X-User-Agent"
	corsExposed = "A2A-Version, A2A-Extensions, X-A2A-Extensions, ETag, Retry-After, WWW-Authenticate, " +
		"Grpc-Status, Grpc-Message, Grpc-Status-Details-Bin, Last-Event-Id"
	corsMaxAge = "600"
)

// origins keeps web pages away that are not of this origin, unless they are
// allowed. A browser would carry out their requests, and keep the answers from
// them only; those that need no preflight would have had their effect.
func origins(access func() *sidecarconfig.Access, deny func(http.ResponseWriter, *http.Request, *a2a.Error)) middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rules := access()
			allowed := rules.CORS.Origins()
			if len(allowed) > 0 && !slices.Contains(allowed, "*") {
				w.Header().Add("Vary", "Origin")
			}
			switch shown := r.Header.Values("Origin"); {
			case ownPage(shown, r):
				next.ServeHTTP(w, r)
			case allowedOrigin(shown, allowed) == "":
				deny(w, r, errOrigin)
			default:
				w.Header().Set("Access-Control-Allow-Origin", allowedOrigin(shown, allowed))
				crossOrigin(w, r, rules, next)
			}
		})
	}
}

var errOrigin = &a2a.Error{
	Reason:  a2a.ReasonPermissionDenied,
	Message: "Web pages of this origin may not call this agent; spec.access.cors.allowedOrigins lists those that may",
}

// ownPage reports whether a request is of no page, or of one of this host.
func ownPage(shown []string, r *http.Request) bool {
	return len(shown) == 0 || len(shown) == 1 && sameOrigin(shown[0], r.Host, r.TLS != nil)
}

// allowedOrigin is what to answer a page that may call; "" for one that may not.
func allowedOrigin(shown, allowed []string) string {
	switch {
	case len(shown) != 1:
		return ""
	case slices.Contains(allowed, "*"):
		return "*"
	case slices.Contains(allowed, shown[0]):
		return shown[0]
	default:
		return ""
	}
}

// crossOrigin serves a page that may call.
func crossOrigin(w http.ResponseWriter, r *http.Request, rules *sidecarconfig.Access, next http.Handler) {
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		preflight(w, rules)
		return
	}
	w.Header().Set("Access-Control-Expose-Headers", corsExposed)
	next.ServeHTTP(w, r)
}

// preflight says what a page that is allowed may send.
func preflight(w http.ResponseWriter, rules *sidecarconfig.Access) {
	h := w.Header()
	h.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders+keyHeader(rules))
	h.Set("Access-Control-Max-Age", corsMaxAge)
	w.WriteHeader(http.StatusNoContent)
}

// keyHeader is the header of API keys, behind others.
func keyHeader(a *sidecarconfig.Access) string {
	for _, each := range a.Authentication {
		if each.APIKey != nil && each.APIKey.Header != "" {
			return ", " + each.APIKey.Header
		}
	}
	return ""
}

// sameOrigin reports whether a page is of the host that it calls. Whether by
// http or https is not known behind a proxy that ends TLS; where TLS ends here, a
// page that came in the clear may be of anybody on the network.
func sameOrigin(origin, host string, secure bool) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "https" && (u.Scheme != "http" || secure) || u.Host == "" || u.Path != "" || u.User != nil {
		return false
	}
	port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	return strings.EqualFold(strings.TrimSuffix(u.Host, port), strings.TrimSuffix(host, port))
}

// forbid answers where no binding does.
func forbid(w http.ResponseWriter, _ *http.Request, problem *a2a.Error) {
	http.Error(w, problem.Message, http.StatusForbidden)
}
