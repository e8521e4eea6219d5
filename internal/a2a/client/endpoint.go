// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// Endpoint is an interface of an agent, with the dialect that it speaks. It is safe for concurrent use.
type Endpoint struct {
	*Dialect
	// URL is the URL of the interface. In HTTP+JSON, it has no slash at its end and no prefix of the dialect.
	URL *url.URL
	// Tenant is the tenant that the card names, "" for none.
	Tenant string
	// streaming is true if the card declares streaming, until the agent refuses to stream.
	streaming atomic.Bool
}

// NewEndpoint returns the endpoint of an interface. streaming is true if the card declares streaming.
func NewEndpoint(d *Dialect, u *url.URL, tenant string, streaming bool) *Endpoint {
	at := *u
	switch {
	case d.Binding != card.JSONRPC:
		at.RawPath = strings.TrimSuffix(strings.TrimSuffix(at.EscapedPath(), "/"), d.prefix)
		at.Path = strings.TrimSuffix(strings.TrimSuffix(at.Path, "/"), d.prefix)
	case at.Path == "":
		at.Path = "/"
	}
	e := &Endpoint{Dialect: d, URL: &at, Tenant: tenant}
	e.streaming.Store(streaming)
	return e
}

// Streams reports whether the card declares streaming and the agent has not refused to stream.
func (e *Endpoint) Streams() bool { return e.streaming.Load() }

// tenantOf returns the tenant of a request: the tenant on the card or, if the card has none, the wanted tenant. Over
// HTTP+JSON, it ignores the wanted tenant, because a caller could then choose a segment of the path. Versions before
// 1.0 have no tenants.
func (e *Endpoint) tenantOf(wanted string) string {
	switch {
	case e.Version != version.V10:
		return ""
	case e.Tenant != "" || e.Binding == card.HTTPJSON:
		return e.Tenant
	default:
		return wanted
	}
}

// Preference decides which interface of a card is called.
type Preference struct {
	// Versions are the accepted versions, the best first. Unversioned is the version of interfaces that name none.
	Versions    []version.Version
	Unversioned version.Version
	// Bindings are the preferred bindings, the best first. All others follow in the order of the card.
	Bindings []card.Binding
	// Admit reports whether an interface may be called. Nil admits all.
	Admit func(*card.Interface) bool
}

// Choose returns the interface with the best version, among these the one with the best binding, and among these the
// first one, with its dialect. It returns nil if there is no interface that the client can call.
func Choose(interfaces []card.Interface, p *Preference) (*card.Interface, *Dialect) {
	var best *card.Interface
	var dialect *Dialect
	var least int
	for i := range interfaces {
		each := &interfaces[i]
		v, ok := version.Parse(each.ProtocolVersion)
		if each.ProtocolVersion == "" {
			v = p.Unversioned
		}
		d := DialectOf(v, each.Binding)
		if !ok || d == nil || p.Admit != nil && !p.Admit(each) {
			continue
		}
		age := slices.IndexFunc(p.Versions, d.Supports)
		if age < 0 {
			continue
		}
		rank := slices.Index(p.Bindings, each.Binding)
		if rank < 0 {
			rank = len(p.Bindings)
		}
		rank += age * (len(p.Bindings) + 1)
		if best == nil || rank < least {
			best = each
			dialect = d
			least = rank
		}
	}
	return best, dialect
}

// Origin returns the origin of a URL: its scheme, its host in lower case, and its port unless it is the default port of
// the scheme.
func Origin(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; port != "" {
		host = strings.TrimSuffix(host, port)
	}
	return u.Scheme + "://" + host
}

// OriginOf is Origin for the text of a URL, "" if it is none.
func OriginOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return Origin(u)
}

// WellKnownPaths are the well-known paths of a card. The first is the path of 0.3 and later.
var WellKnownPaths = []string{"/.well-known/agent-card.json", "/.well-known/agent.json"}

// CardURLs returns the well-known URLs of a card: below the path of a URL, and then at the root if the URL has a path.
func CardURLs(of *url.URL) (below, root []*url.URL) {
	base := *of
	base.Path = strings.TrimSuffix(of.Path, "/")
	base.RawPath = strings.TrimSuffix(of.RawPath, "/")
	for _, path := range WellKnownPaths {
		u := base
		if u.RawPath != "" {
			u.RawPath += path
		}
		u.Path += path
		below = append(below, &u)
		if base.Path != "" {
			u := base
			u.Path = path
			u.RawPath = ""
			root = append(root, &u)
		}
	}
	return below, root
}

// maxInterfaces bounds the interfaces of a card.
const maxInterfaces = 64

// Offer has the members of a card that determine the endpoint.
type Offer struct {
	// Interfaces have no ProtocolVersion if the card has none.
	Interfaces []card.Interface
	// Streaming is the capability.
	Streaming bool
	// IsV01 is true if the card has members that only 0.1 has.
	IsV01 bool
}

// ReadOffer decodes the interfaces and the streaming capability of a card of any version. It ignores the other members,
// so it reads cards that card.Parse refuses. Its errors are of package jsonread.
func ReadOffer(text []byte) (*Offer, error) {
	r := jsonread.New(text)
	o := &Offer{}
	main := card.Interface{Binding: card.JSONRPC}
	var others []card.Interface
	security := false
	for name := range r.Members() {
		switch string(name) {
		case "url":
			main.URL = r.String()
		case "preferredTransport":
			main.Binding = card.Binding(r.String())
		case "protocolVersion":
			main.ProtocolVersion = r.String()
		case "additionalInterfaces":
			others = readInterfaces(r)
		case "supportedInterfaces":
			o.Interfaces = readInterfaces(r)
		case "capabilities":
			for name := range r.Members() {
				if string(name) == "streaming" {
					o.Streaming = r.Bool()
				}
			}
		case "authentication":
			o.IsV01 = true
		case "securitySchemes", "security", "supportsAuthenticatedExtendedCard":
			security = true
		}
	}
	o.IsV01 = o.IsV01 && !security
	if main.URL != "" {
		o.Interfaces = append(o.Interfaces, main)
		for _, each := range others {
			each.ProtocolVersion = main.ProtocolVersion
			o.Interfaces = append(o.Interfaces, each)
		}
	}
	return o, r.End()
}

func readInterfaces(r *jsonread.Reader) []card.Interface {
	var all []card.Interface
	for i := range r.Elements() {
		if i >= maxInterfaces {
			r.TooMany(maxInterfaces)
			return nil
		}
		var each card.Interface
		for name := range r.Members() {
			switch string(name) {
			case "url":
				each.URL = r.String()
			case "transport", "protocolBinding":
				each.Binding = card.Binding(r.String())
			case "protocolVersion":
				each.ProtocolVersion = r.String()
			case "tenant":
				each.Tenant = r.String()
			}
		}
		all = append(all, each)
	}
	return all
}
