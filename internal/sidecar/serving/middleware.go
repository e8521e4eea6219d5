// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/kit/logging"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
	"github.com/a2a-operator/a2a-operator/internal/kit/sourceaddress"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// middleware wraps a handler.
type middleware func(http.Handler) http.Handler

// denyFunc answers a request with an error.
type denyFunc = func(http.ResponseWriter, *http.Request, *a2a.Error)

// chain returns a middleware that applies all, the first one outermost.
func chain(all ...middleware) middleware {
	return func(h http.Handler) http.Handler {
		for _, a := range slices.Backward(all) {
			h = a(h)
		}
		return h
	}
}

// ofClient sets the address of a request to that of the client, if a trusted proxy sent the request.
func ofClient(trusted func() sourceaddress.Proxies) middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, trusted().Forwarded(r))
		})
	}
}

// readTimeout bounds the time in which a request must arrive. http.Server.ReadTimeout is
// not used, because it would also end streams. A binding removes this deadline when it
// has read the body.
const readTimeout = 25 * time.Second

func limitRead(now func() time.Time) middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).SetReadDeadline(now().Add(readTimeout))
			next.ServeHTTP(w, r)
		})
	}
}

// limitTime bounds the time in which a request must arrive and its response must be read,
// until the handler calls unlimitTime.
func limitTime(now func() time.Time) middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			setDeadlines(w, now().Add(readTimeout), now().Add(WriteTimeout))
			next.ServeHTTP(w, r)
		})
	}
}

// unlimitTime removes the bounds of limitTime, for a handler that waits. A read deadline
// would end the context of the request.
func unlimitTime(w http.ResponseWriter) { setDeadlines(w, time.Time{}, time.Time{}) }

func setDeadlines(w http.ResponseWriter, read, write time.Time) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(read)
	_ = control.SetWriteDeadline(write)
}

func recoverPanic(log *slog.Logger, deny denyFunc) middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				reason := recover()
				if reason == nil {
					return
				}
				if reason == http.ErrAbortHandler { //nolint:errorlint // net/http compares in the same way
					panic(reason)
				}
				log.ErrorContext(r.Context(), "request panicked", "reason", reason, "stack", string(debug.Stack()))
				if w.Header().Get("Content-Type") != "" {
					// The response has begun, so only a broken connection can show that it is
					// incomplete.
					panic(http.ErrAbortHandler)
				}
				deny(w, r, &a2a.Error{Reason: a2a.ReasonInternal})
			}()
			next.ServeHTTP(w, r)
		})
	}
}

// withTrace adds the trace id of a request to its context, for the log. The agent
// receives the trace header itself.
func withTrace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := traceID(r.Header.Get("Traceparent")); id != "" {
			r = r.WithContext(logging.ContextWithTraceID(r.Context(), id))
		}
		next.ServeHTTP(w, r)
	})
}

// traceID returns the trace id in a W3C traceparent header, or "" if the header is not
// valid.
func traceID(traceparent string) string {
	fields := strings.Split(traceparent, "-")
	if len(fields) < 4 || len(fields[1]) != 32 || strings.Trim(fields[1], "0123456789abcdef") != "" {
		return ""
	}
	return fields[1]
}

// checkHost protects an endpoint from DNS rebinding, by which a web page could call an
// agent in the network of the page's reader. configured returns hosts in the form of
// card.NormalizeHost. If configured is nil, there are no configured hosts.
//
// At a loopback address, checkHost refuses requests whose Host is neither a loopback name
// nor a configured host. Hosts are compared including their ports: the Host of a rebound
// page has the port of the endpoint, and the Host from a proxy in front of the endpoint
// has the port of the proxy. At other addresses, see checkPageHost. If access is nil,
// the endpoint there admits no pages in any case, and checkHost does nothing.
func checkHost(listener net.Addr, configured func() map[string]bool, access func() *sidecarconfig.Access, deny denyFunc) middleware {
	return func(next http.Handler) http.Handler {
		if !card.IsLoopback(listener.String()) {
			if access == nil {
				return next
			}
			return checkPageHost(next, configured, access, deny)
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if card.IsLoopback(r.Host) || configured != nil && configured()[card.NormalizeHost(r.Host)] {
				next.ServeHTTP(w, r)
				return
			}
			deny(w, r, &a2a.Error{
				Reason: a2a.ReasonPermissionDenied,
				Message: "This endpoint is at a loopback address, so Host must be localhost, a loopback address or the host of a base URL; " +
					"name the base URL by --base-url, or listen at another address by --listen",
			})
		})
	}
}

// checkPageHost protects an agent that admits callers without a credential. It refuses
// requests of browsers whose Host is neither an IP address, nor localhost, nor a configured
// host with any port. The name of such a page may have been rebound to the agent.
//
// It admits pages of origins that CORS allows, and requests over TLS, because an attacker has no
// certificate that the browser accepts. Other clients may use any Host, because the
// possible names of an agent, such as those of proxies, are unknown.
func checkPageHost(next http.Handler, configured func() map[string]bool, access func() *sidecarconfig.Access, deny denyFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rules := access()
		if r.TLS != nil || !isFromBrowser(r.Header) || !rules.AdmitsAnonymous() || isAddressOrConfigured(r.Host, configured()) ||
			allowedOrigin(r.Header.Values("Origin"), rules.CORS.Origins()) != "" {
			next.ServeHTTP(w, r)
			return
		}
		deny(w, r, &a2a.Error{
			Reason: a2a.ReasonPermissionDenied,
			Message: fmt.Sprintf("Host %q is no name of this agent, which admits Anonymous and therefore web pages at its own names only; "+
				"set spec.exposure.url to the URL with this host, or list the origin of the page in spec.access.cors.allowedOrigins", safetext.Clip(r.Host, maxHost)),
		})
	})
}

// maxHost is the maximum length of a host in an error, in bytes: that of a DNS name.
const maxHost = 253

// isFromBrowser reports whether a request may come from a browser. Browsers send Origin
// with each POST request, but neither Origin nor Sec-Fetch-Site with a GET request of a
// page at http to its own host. They send Accept-Language with each request.
func isFromBrowser(h http.Header) bool {
	for _, name := range []string{"Origin", "Sec-Fetch-Site", "Accept-Language"} {
		if _, ok := h[name]; ok {
			return true
		}
	}
	return false
}

// isAddressOrConfigured reports whether a Host, regardless of its port, is an IP address,
// localhost or a configured host.
func isAddressOrConfigured(host string, configured map[string]bool) bool {
	name := card.NormalizeHost(host)
	if before, _, err := net.SplitHostPort(name); err == nil {
		name = before
	}
	return name == "localhost" || net.ParseIP(strings.Trim(name, "[]")) != nil || configured[name]
}

// ConfiguredHosts returns the hosts of the URLs in a configuration at which the agent is
// served.
func ConfiguredHosts(c *sidecarconfig.Config) map[string]bool {
	hosts := map[string]bool{}
	add := func(b card.Base) {
		for _, host := range append(b.Hosts(), b.HostNames()...) {
			hosts[host] = true
		}
	}
	for _, b := range c.Bases {
		add(b)
	}
	for _, i := range c.Card.Interfaces {
		if address := i.URL; i.Binding == card.GRPC && !strings.Contains(address, "://") {
			add(card.Base{URL: "https://" + address, GRPC: address})
		} else {
			add(card.Base{URL: address})
		}
	}
	return hosts
}

// The values of CORS headers for pages of allowed origins. Credentials such as cookies
// are not allowed, because the sidecar reads none.
const (
	corsMethods = "GET, POST, PUT, DELETE"
	corsHeaders = "Accept, Authorization, Content-Type, A2A-Version, A2A-Extensions, X-A2A-Extensions, Last-Event-ID, Traceparent, Tracestate, Baggage, " +
		"Grpc-Timeout, X-Grpc-Web, X-User-Agent"
	corsExposed = "A2A-Version, A2A-Extensions, X-A2A-Extensions, ETag, Retry-After, WWW-Authenticate, " +
		"Grpc-Status, Grpc-Message, Grpc-Status-Details-Bin, Last-Event-Id"
	corsMaxAge = "600"
)

// checkOrigin refuses requests of web pages from other origins that are not allowed, and
// answers the preflight requests of allowed origins. CORS alone is not enough, because a
// browser sends some requests without a preflight. Without checkOrigin, such a request
// would take effect, and CORS would only hide the response from the page.
//
// Requests for which forAll returns true may come from every page. Their handlers answer preflight
// requests and set the headers of CORS. A nil forAll means none.
func checkOrigin(access func() *sidecarconfig.Access, forAll func(*http.Request) bool, deny denyFunc) middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rules := access()
			allowed := rules.CORS.Origins()
			// Most requests are not of web pages, and need no look at their routes.
			concerns := len(allowed) > 0 || len(r.Header["Origin"]) > 0
			if concerns && forAll != nil && forAll(r) {
				next.ServeHTTP(w, r)
				return
			}
			if len(allowed) > 0 && !slices.Contains(allowed, "*") {
				w.Header().Add("Vary", "Origin")
			}
			origins := r.Header.Values("Origin")
			if isOwnPage(origins, r) {
				next.ServeHTTP(w, r)
				return
			}
			allow := allowedOrigin(origins, allowed)
			if allow == "" {
				deny(w, r, errOrigin)
				return
			}
			w.Header().Set("Access-Control-Allow-Origin", allow)
			if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
				answerPreflight(w, rules)
				return
			}
			w.Header().Set("Access-Control-Expose-Headers", corsExposed)
			next.ServeHTTP(w, r)
		})
	}
}

var errOrigin = &a2a.Error{
	Reason:  a2a.ReasonPermissionDenied,
	Message: "Web pages of this origin may not call this agent; spec.access.cors.allowedOrigins lists those that may",
}

// isOwnPage reports whether a request does not come from a web page, or comes from a page
// of this host.
func isOwnPage(origins []string, r *http.Request) bool {
	return len(origins) == 0 || len(origins) == 1 && sameOrigin(origins[0], r.Host, r.TLS != nil)
}

// allowedOrigin returns the value of Access-Control-Allow-Origin, or "" if the page may
// not call the agent.
func allowedOrigin(origins, allowed []string) string {
	switch {
	case len(origins) != 1:
		return ""
	case slices.Contains(allowed, "*"):
		return "*"
	case slices.Contains(allowed, origins[0]):
		return origins[0]
	default:
		return ""
	}
}

func answerPreflight(w http.ResponseWriter, rules *sidecarconfig.Access) {
	h := w.Header()
	h.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders+apiKeyHeader(rules))
	h.Set("Access-Control-Max-Age", corsMaxAge)
	w.WriteHeader(http.StatusNoContent)
}

// apiKeyHeader returns a comma and the name of the API key header, or "" if there is
// none.
func apiKeyHeader(a *sidecarconfig.Access) string {
	for _, each := range a.Authentication {
		if each.APIKey != nil && each.APIKey.Header != "" {
			return ", " + each.APIKey.Header
		}
	}
	return ""
}

// sameOrigin reports whether a page belongs to the host that it calls. Behind a proxy
// that terminates TLS, the scheme of a request is unknown, so both schemes are accepted.
// If the sidecar itself terminates TLS (secure), the scheme http is not accepted, because
// an attacker on the network may have changed the page.
func sameOrigin(origin, host string, secure bool) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "https" && (u.Scheme != "http" || secure) || u.Host == "" || u.Path != "" || u.User != nil {
		return false
	}
	port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	return strings.EqualFold(strings.TrimSuffix(u.Host, port), strings.TrimSuffix(host, port))
}
