// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gateway is the agent's way out: from its own container, over
// loopback, to the registry and to other agents. It adds the sidecar's
// identity, which the agent itself never holds. Agents that run elsewhere see
// nothing of that identity: others speak with them (Remotes).
//
// It goes nowhere else: an address is made of two names that must be DNS
// labels and a pattern that the agent cannot influence, only agents that the
// registry lists for these names are called and shown the identity, redirects
// are not passed on, and what the agent sends as its own credential is dropped.
package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// The prefixes of what the gateway serves.
const (
	registryPrefix = "/registry"
	agentsPrefix   = "/agents/"
)

// Config says where the gateway leads.
type Config struct {
	// RegistryURL is the base of the registry's API.
	RegistryURL string
	// AgentURL is the base of an agent, with {name} and {namespace} in it.
	AgentURL string
	// TokenFile holds the sidecar's token. It is read for every request, since
	// the kubelet replaces it.
	TokenFile string
}

// Handler serves /registry/... and /agents/{namespace}/{name}/...
type Handler struct {
	config    atomic.Pointer[Config]
	proxy     *httputil.ReverseProxy
	schemes   *schemes
	directory *directory
	options   Options
}

// Options are what a gateway works with.
type Options struct {
	// Transport is required, and must follow no proxy from the environment.
	Transport http.RoundTripper
	// Remotes serve agents that run elsewhere; nil for none.
	Remotes Remotes
	// Deny answers a request for an agent with an error, in the form that its
	// client reads. The path of the request is the one that the agent would see.
	// It is required.
	Deny func(http.ResponseWriter, *http.Request, *a2a.Error)
	// Log is required, and so is Now, the clock.
	Log *slog.Logger
	Now func() time.Time
}

// New returns a handler. A nil configuration answers that there is no gateway.
func New(c *Config, options Options) *Handler {
	h := &Handler{
		schemes:   &schemes{RoundTripper: options.Transport, now: options.Now, known: map[string]scheme{}},
		directory: &directory{transport: options.Transport, now: options.Now, known: map[string]*listing{}},
		options:   options,
	}
	h.config.Store(c)
	h.proxy = &httputil.ReverseProxy{
		Transport:      h.schemes,
		Rewrite:        rewrite,
		ModifyResponse: modify,
		// Streams are passed on event by event.
		FlushInterval: -1,
		ErrorHandler:  h.failed,
		ErrorLog:      slog.NewLogLogger(options.Log.Handler(), slog.LevelDebug),
	}
	return h
}

// Swap replaces the configuration.
func (h *Handler) Swap(c *Config) { h.config.Store(c) }

// ServeHTTP passes a request on.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !local(r) {
		http.Error(w, "the gateway serves its own pod only: use http://127.0.0.1 or http://localhost, and no web page", http.StatusForbidden)
		return
	}
	config := h.config.Load()
	if config == nil {
		http.Error(w, "this sidecar has no gateway: it was not configured with a registry", http.StatusNotFound)
		return
	}
	way, err := route(config, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	if way.readOnly && r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the registry is read with GET", http.StatusMethodNotAllowed)
		return
	}
	r = r.WithContext(way.in(r.Context()))
	token, err := os.ReadFile(config.TokenFile)
	if err != nil {
		h.failed(w, r, fmt.Errorf("%w: %w", errToken, err))
		return
	}
	way.token = strings.TrimSpace(string(token))
	if way.base != "" {
		listed, err := h.directory.find(r.Context(), config, way) //nolint:contextcheck // who asks first may leave first
		switch {
		case err != nil:
			h.failed(w, r, err)
			return
		case listed.agent != nil:
			h.serveRemote(w, r, listed.agent, way)
			return
		}
		if err := link(r); err != nil {
			h.deny(w, r, &a2a.Error{Reason: a2a.ReasonInvalidRequest, Message: err.Error()})
			return
		}
		if way.asked, err = way.asksForCard(r); err != nil {
			h.deny(w, r, &a2a.Error{Reason: a2a.ReasonInvalidRequest, Message: err.Error()})
			return
		}
	}
	h.proxy.ServeHTTP(w, r)
}

// way is where one request goes.
type way struct {
	target *url.URL
	token  string
	// base is where the agent reaches the same place through the gateway, for
	// cards; "" for the registry.
	base     string
	readOnly bool
	// namespace and name are those of an agent, and rest the path behind them as
	// it was escaped.
	namespace, name, rest string
	// asked is how the request asks for a card of the agent.
	asked cardRequest
}

// agent names the agent among others.
func (w *way) agent() string { return w.namespace + "/" + w.name }

// path is what the agent would see, and how it was escaped.
func (w *way) path() (plain, escaped string) {
	if w.rest == "" {
		return "/", ""
	}
	plain, err := url.PathUnescape(w.rest)
	if err != nil {
		return w.rest, ""
	}
	return plain, w.rest
}

var errNoSuchPath = errors.New("the gateway serves /registry/<path> and /agents/<namespace>/<name>/<path>")

func route(c *Config, r *http.Request) (*way, error) {
	escaped := r.URL.EscapedPath()
	if unclean(r.URL.Path) {
		return nil, errNoSuchPath
	}
	if rest, ok := strings.CutPrefix(escaped, registryPrefix); ok && (rest == "" || rest[0] == '/') {
		target, err := join(c.RegistryURL, rest)
		return &way{target: target, readOnly: true}, err
	}
	rest, ok := strings.CutPrefix(escaped, agentsPrefix)
	if !ok {
		return nil, errNoSuchPath
	}
	namespace, rest, _ := strings.Cut(rest, "/")
	name, _, _ := strings.Cut(rest, "/")
	rest = rest[len(name):]
	if !label(namespace) || !label(name) {
		return nil, fmt.Errorf("%w: both must be DNS labels", errNoSuchPath)
	}
	base := strings.NewReplacer("{name}", name, "{namespace}", namespace).Replace(c.AgentURL)
	target, err := join(base, rest)
	return &way{
		target: target, base: "http://" + r.Host + agentsPrefix + namespace + "/" + name,
		namespace: namespace, name: name, rest: rest,
	}, err
}

// unclean refuses what a server behind might read as another path.
func unclean(p string) bool {
	return strings.Contains(p, "\\") || strings.Contains(p, "//") || p != "/" && path.Clean(p) != strings.TrimSuffix(p, "/")
}

func join(base, rest string) (*url.URL, error) {
	target, err := url.Parse(strings.TrimSuffix(base, "/"))
	if err != nil {
		return nil, errors.New("the gateway is misconfigured")
	}
	if rest == "" {
		rest = "/"
	}
	full := target.EscapedPath() + rest
	if target.Path, err = url.PathUnescape(full); err != nil {
		return nil, errNoSuchPath
	}
	target.RawPath = full
	return target, nil
}

// label reports whether s is a DNS label (RFC 1123).
func label(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// local refuses what a web page could bring about: a name that was rebound to
// loopback has another Host, and a page's own request has an Origin.
func local(r *http.Request) bool {
	if !loopback(r.Host) {
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && loopback(u.Host)
}

func loopback(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
