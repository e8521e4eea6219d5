// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
)

// kind says what serves a request.
type kind int

const (
	// kindNone is a path that nothing serves.
	kindNone kind = iota
	kindRegistry
	kindAgent
	// kindEndpoint is one of the Endpoints.
	kindEndpoint
)

// destination is where the gateway forwards one request.
type destination struct {
	kind kind
	// refusal is why there is no destination; for kindNone.
	refusal refusal
	// gateway is the base URL of the gateway by which the agent called it, without a slash
	// at its end.
	gateway string
	// namespace and name are those of an agent, "" for the registry. rest is the path
	// behind them, or behind the prefix of the registry, as it was escaped.
	namespace, name, rest string

	// listed is the listing of an agent. prepareCall sets it.
	listed *listing
	// registry is the base URL of the registry, without a slash at its end. resolve sets it.
	registry string
	// target is the URL of the request to the registry or the agent. resolve sets it.
	target *url.URL
	// token is the sidecar's token for the registry, and that for the agent with this
	// audience after prepareCall.
	token, audience string
	// rewrites is what the gateway rewrites in the response.
	rewrites rewriting

	// span is that of a call of an agent, nil while tracing is off.
	span   *tracing.Span
	result callResult
}

// agent returns the name of the agent with its namespace.
func (d *destination) agent() string { return d.namespace + "/" + d.name }

// host returns the host of the target, "" before resolve.
func (d *destination) host() string {
	if d.target == nil {
		return ""
	}
	return d.target.Host
}

// base returns the URL of the agent through the gateway, for its card.
func (d *destination) base() string { return d.gateway + agentsPrefix + d.agent() }

// path returns the path that the agent would see, and its escaped form ("" for the
// default one).
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

// seenByAgent returns the request with the path that the agent would see.
func (d *destination) seenByAgent(r *http.Request) *http.Request {
	out := r.Clone(r.Context())
	out.URL.Path, out.URL.RawPath = d.path()
	return out
}

type destinationKey struct{}

func (d *destination) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, destinationKey{}, d)
}

// destinationOf returns the destination that ServeHTTP has put into the context.
func destinationOf(ctx context.Context) *destination {
	return ctx.Value(destinationKey{}).(*destination)
}

// parseDestination reads the path of a request.
func parseDestination(r *http.Request) *destination {
	d := &destination{gateway: "http://" + r.Host, refusal: refusalNoSuchPath}
	if unclean(r.URL.Path) {
		return d
	}
	escaped := r.URL.EscapedPath()
	if rest, ok := strings.CutPrefix(escaped, registryPrefix); ok && (rest == "" || rest[0] == '/') {
		d.kind, d.rest = kindRegistry, rest
		return d
	}
	if isManifestPath(escaped) {
		d.kind, d.rest = kindRegistry, escaped
		return d
	}
	rest, ok := strings.CutPrefix(escaped, agentsPrefix)
	if !ok {
		d.kind = kindEndpoint
		return d
	}
	namespace, rest, _ := strings.Cut(rest, "/")
	name, _, _ := strings.Cut(rest, "/")
	if !label(namespace) || !label(name) {
		d.refusal = refusalNoLabel
		return d
	}
	d.kind, d.namespace, d.name, d.rest = kindAgent, namespace, name, rest[len(name):]
	return d
}

// methods returns the methods that the gateway forwards to a path of the registry.
func (d *destination) methods() []string {
	if d.rest == ardSearch || d.rest == ardExplore {
		return []string{http.MethodPost}
	}
	return []string{http.MethodGet, http.MethodHead}
}

// resolve sets the target.
func (d *destination) resolve(c *Config) (err error) {
	base := c.RegistryURL
	d.registry = strings.TrimSuffix(base, "/")
	if d.kind == kindAgent {
		base = d.expand(c.AgentURL)
	}
	d.target, err = join(base, d.rest)
	return err
}

// expand replaces the names in a pattern by those of the agent.
func (d *destination) expand(pattern string) string {
	return strings.NewReplacer("{name}", d.name, "{namespace}", d.namespace).Replace(pattern)
}

func join(base, rest string) (*url.URL, error) {
	target, err := url.Parse(strings.TrimSuffix(base, "/"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMisconfigured, err)
	}
	if rest == "" {
		rest = "/"
	}
	full := target.EscapedPath() + rest
	if target.Path, err = url.PathUnescape(full); err != nil {
		return nil, fmt.Errorf("%w: %w", errMisconfigured, err)
	}
	target.RawPath = full
	return target, nil
}
