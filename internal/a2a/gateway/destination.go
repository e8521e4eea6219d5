// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/directory"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
)

// kind is the kind of server that serves a request.
type kind int

const (
	// kindNone is for a path that nothing serves.
	kindNone kind = iota
	kindRegistry
	kindAgent
	// kindEndpoint is for a path that one of the Endpoints serves.
	kindEndpoint
)

// destination is the place to which the gateway forwards one request.
type destination struct {
	kind kind
	// refusal is the reason why there is no destination, for kindNone.
	refusal refusal
	// gateway is the base URL of the gateway from the Host header of the request, without a
	// slash at its end.
	gateway string
	// namespace and name are those of the called agent, or of the agent whose card is read
	// from the registry. In the latter case, readdressing sets them. For other requests to the
	// registry they are "". rest is the escaped path after the names of the called agent, or
	// after the prefix of the registry.
	namespace, name, rest string

	// listed is the listing of the agent. prepareCall sets it.
	listed *listing
	// registry is the base URL of the registry, without a slash at its end. resolve sets it.
	registry string
	// target is the URL of the request to the registry or the agent. resolve sets it.
	target *url.URL
	// registryToken is the sidecar's token for the registry. prepareCall sets agentToken, with
	// which the agent is called, and agentTokenKey, its key in the cache.
	registryToken, agentToken, agentTokenKey string
	// rewrites is what the gateway rewrites in the response.
	rewrites rewriting

	// span is the span of a call of an agent. It is nil while tracing is off.
	span   *tracing.Span
	result callResult
}

// agent returns the name of the agent with its namespace.
func (d *destination) agent() string { return d.namespace + "/" + d.name }

// host returns the host of the target, or "" before resolve.
func (d *destination) host() string {
	if d.target == nil {
		return ""
	}
	return d.target.Host
}

// base returns the agent's URL through the gateway, for the agent's card.
func (d *destination) base() string { return d.gateway + agentsPrefix + d.agent() }

// path returns the path of the request as the agent would see it, without the gateway's
// prefix. escaped is its escaped form for url.URL.RawPath, where "" means the default
// encoding of plain.
func (d *destination) path() (plain, escaped string) {
	if d.rest == "" {
		return "/", ""
	}
	plain, err := url.PathUnescape(d.rest)
	if err != nil {
		return d.rest, ""
	}
	return plain, d.rest
}

// seenByAgent returns a copy of the request whose path is the path that the agent would see.
func (d *destination) seenByAgent(r *http.Request) *http.Request {
	out := r.Clone(r.Context())
	out.URL.Path, out.URL.RawPath = d.path()
	return out
}

type destinationKey struct{}

func (d *destination) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, destinationKey{}, d)
}

// destinationOf returns the destination in the context of a request. ServeHTTP stores it
// there.
func destinationOf(ctx context.Context) *destination {
	return ctx.Value(destinationKey{}).(*destination)
}

// parseDestination returns the destination of a request by its path.
func parseDestination(r *http.Request) *destination {
	d := &destination{gateway: "http://" + r.Host, refusal: refusalNoSuchPath}
	if unclean(r.URL.Path) {
		return d
	}
	escaped := r.URL.EscapedPath()
	if rest, ok := strings.CutPrefix(escaped, registryPrefix); ok && (rest == "" || rest[0] == '/') {
		d.kind = kindRegistry
		d.rest = rest
		return d
	}
	if isManifestPath(escaped) {
		d.kind = kindRegistry
		d.rest = escaped
		return d
	}
	rest, ok := strings.CutPrefix(escaped, agentsPrefix)
	if !ok {
		d.kind = kindEndpoint
		return d
	}
	namespace, rest, _ := strings.Cut(rest, "/")
	name, _, _ := strings.Cut(rest, "/")
	if !directory.IsLabel(namespace) || !directory.IsLabel(name) {
		d.refusal = refusalNoLabel
		return d
	}
	d.kind = kindAgent
	d.namespace = namespace
	d.name = name
	d.rest = rest[len(name):]
	return d
}

// methods returns the HTTP methods that the gateway forwards for a path of the registry.
func (d *destination) methods() []string {
	if d.rest == ardSearch || d.rest == ardExplore {
		return []string{http.MethodPost}
	}
	return []string{http.MethodGet, http.MethodHead}
}

// resolve sets target and registry.
func (d *destination) resolve(c *Config) (err error) {
	base := c.RegistryURL
	d.registry = strings.TrimSuffix(base, "/")
	if d.kind == kindAgent {
		base = d.expand(c.AgentURL)
	}
	d.target, err = join(base, d.rest)
	return err
}

// expand replaces {name} and {namespace} in a template by the name and the namespace of
// the agent.
func (d *destination) expand(pattern string) string {
	return strings.NewReplacer("{name}", d.name, "{namespace}", d.namespace).Replace(pattern)
}

func join(base, rest string) (*url.URL, error) {
	target, err := url.Parse(strings.TrimSuffix(base, "/"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMisconfigured, err)
	}
	full := target.EscapedPath() + cmp.Or(rest, "/")
	if target.Path, err = url.PathUnescape(full); err != nil {
		return nil, fmt.Errorf("%w: %w", errMisconfigured, err)
	}
	target.RawPath = full
	return target, nil
}

// end ends the span of the call.
func (d *destination) end() {
	d.span.Answered(d.result.status)
	d.span.End(d.result.outcome())
}

// Conclude stores the result of a call: the reason of the error in the response, "" for none,
// and whether the caller disconnected before the end of the response. The Remotes call it
// with the context and on the goroutine of ServeRemote.
func Conclude(ctx context.Context, reason a2a.Reason, clientLeft bool) {
	if to, ok := ctx.Value(destinationKey{}).(*destination); ok {
		to.result.reason = reason
		to.result.clientLeft = clientLeft
	}
}

// callResult is the result of a call of an agent, for its span. Only the goroutine of the
// request accesses it.
type callResult struct {
	// status is the HTTP status of the agent's response, or 0 if there was none.
	status int
	// reason is the reason of the error with which the gateway answered, "" for none.
	reason a2a.Reason
	// clientLeft is true if the caller disconnected before the end of the response. complete is
	// true if the gateway wrote the whole response.
	clientLeft, complete bool
}

// outcome returns how the call ended, "" for success.
func (c *callResult) outcome() string {
	switch {
	case c.clientLeft:
		return tracing.OutcomeCanceled
	case c.reason != "":
		return string(c.reason)
	case !c.complete:
		return tracing.OutcomeAborted
	case c.status >= http.StatusBadRequest:
		return strconv.Itoa(c.status)
	default:
		return ""
	}
}

// serve calls next, which writes the response of an agent. If next panics, the response is
// incomplete: the caller disconnected, or the agent's response broke off.
func (c *callResult) serve(ctx context.Context, next func()) {
	defer func() { c.clientLeft = c.clientLeft || !c.complete && ctx.Err() != nil }()
	next()
	c.complete = true
}

// statusWriter stores the status of a response in the result of a call.
type statusWriter struct {
	http.ResponseWriter
	result *callResult
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	if status >= http.StatusOK && w.result.status == 0 {
		w.result.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *statusWriter) Write(p []byte) (int, error) {
	if w.result.status == 0 {
		w.result.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap implements the unwrapping of http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// rewriting selects the content of a response that the gateway rewrites, so that the
// addresses in it lead through the gateway.
type rewriting int

const (
	rewriteNone rewriting = iota
	// rewriteCard is for a response that is a card.
	rewriteCard
	// rewriteRPCCard is for a JSON-RPC response whose result is a card.
	rewriteRPCCard
	// rewriteEntries is for an entry of the registry, or a page of entries.
	rewriteEntries
	// rewriteARD is for an ARD document.
	rewriteARD
)

func (k rewriting) isCard() bool { return k == rewriteCard || k == rewriteRPCCard }

// The prefixes of the paths that the gateway forwards.
const (
	registryPrefix = "/registry"
	agentsPrefix   = "/agents/"
)

// The paths of ARD, below the base URL of the registry.
const (
	ardPrefix = "/ard/"
	ardSearch = ardPrefix + "search"
	// ardCards is the prefix of the registry's copies of cards, of agents that do not serve their own.
	ardCards = ardPrefix + "cards/"
	// ardExplore is the path of a request that returns counts of the values of fields. None of
	// these values is a URL, so the gateway does not rewrite the response.
	ardExplore = ardPrefix + "explore"
)

// isManifestPath reports whether a path is the path of an ARD manifest. The gateway also
// serves the manifests at its root, where clients of ARD look for them.
func isManifestPath(path string) bool {
	return path == "/.well-known/ard.json" || path == "/.well-known/ai-catalog.json"
}

// registryAgents is the path of the entries in the registry.
const registryAgents = "/v1/agents"

// isCardPath reports whether GET of an escaped path returns a card. This is the public card,
// or the extended card at its paths in 0.2, 0.3 and 1.0, with or without a tenant.
func isCardPath(path string) bool {
	if strings.HasPrefix(path, "/.well-known/agent") || path == "/agent/authenticatedExtendedCard" {
		return true
	}
	rest, legacy := strings.CutPrefix(path, "/v1/")
	name := "card"
	if !legacy {
		rest = strings.TrimPrefix(path, "/")
		name = "extendedAgentCard"
	}
	tenant, last, ok := strings.Cut(rest, "/")
	if !ok {
		return rest == name
	}
	return last == name && tenant != "tasks"
}

// unclean reports whether some servers could interpret the path as a different path.
func unclean(p string) bool {
	return strings.Contains(p, "\\") || strings.Contains(p, "//") || p != "/" && path.Clean(p) != strings.TrimSuffix(p, "/")
}
