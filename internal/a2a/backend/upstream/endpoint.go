// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// endpoint is one interface of the agent, with the dialect that it speaks.
type endpoint struct {
	*dialect
	url *url.URL
	// tenant is the tenant of the interface in the card.
	tenant string
	// pinned is true if the version was configured.
	pinned bool
	// streaming is true if the card declares streaming, until the agent refuses to stream.
	streaming atomic.Bool
	// fallback is the endpoint of the same interface with the other dialect, 0.1 instead of
	// 0.3 or the reverse, nil for none. It is tried if the agent does not support the methods
	// of this endpoint. It is set if no version is configured, and the card names the version
	// 0.1, 0.2 or none.
	fallback *endpoint
}

// tenantOf returns the tenant of requests: the tenant on the card or, if the card has none,
// the tenant of the client. Over HTTP+JSON, it ignores the tenant of the client, because
// the client could then choose a segment of the path. Versions before 1.0 have no tenants.
func (p *endpoint) tenantOf(t *backend.Turn) string {
	switch {
	case p.Version != version.V10:
		return ""
	case p.tenant != "" || p.Binding == card.HTTPJSON:
		return p.tenant
	default:
		return t.Tenant
	}
}

// turnError returns the failure of the turn for an error that the agent returned.
func (p *endpoint) turnError(f *protocolError, remote bool) *backend.TurnError {
	switch f.reason {
	case a2a.ReasonTaskNotFound:
		return backend.Failed("The agent no longer has the task; it may have been restarted", f)
	case a2a.ReasonUnsupportedOperation:
		return backend.Failed("The agent does not support the operation, or its task has ended", f)
	case a2a.ReasonContentTypeNotSupported:
		return backend.Rejected("The agent does not accept content of this type")
	case a2a.ReasonInvalidParams, a2a.ReasonInvalidRequest, a2a.ReasonParse:
		return backend.Rejected("The agent rejected the message as invalid")
	case a2a.ReasonExtensionRequired:
		return backend.Rejected("The agent requires an extension that the client did not ask for")
	case a2a.ReasonMethodNotFound, a2a.ReasonVersionNotSupported:
		by := "which its card offers"
		if p.pinned {
			by = "which backend.a2a.version names"
		}
		return backend.Failed("The agent does not speak A2A "+p.Version.String()+" over "+string(p.Binding)+", "+by, f)
	case a2a.ReasonUnauthenticated, a2a.ReasonPermissionDenied:
		if remote {
			return backend.Failed("The agent requires other credentials; it receives the Authorization header of the request and no other credential", f)
		}
		return backend.Failed("The agent requires credentials; the sidecar authenticates callers and has no credential for the agent", f)
	default:
		return backend.Failed("The agent answered with an error; the log of its container may have the cause", f)
	}
}

// maxInterfaces bounds the interfaces of a card.
const maxInterfaces = 64

// cardOffer has the members of a card that determine the endpoint.
type cardOffer struct {
	interfaces []cardInterface
	streaming  bool
	// isV01 is true if the card has members that only 0.1 has.
	isV01 bool
	// pinned is true if the version was configured.
	pinned bool
}

// cardInterface is one interface of a card.
type cardInterface struct {
	url, binding, version, tenant string
}

// decodeCard decodes the interfaces and the streaming capability of a card of any version,
// and ignores its other members.
func decodeCard(text []byte) (*cardOffer, error) {
	r := jsonread.New(text)
	o := &cardOffer{}
	main := cardInterface{binding: string(card.JSONRPC)}
	var others []cardInterface
	security := false
	for name := range r.Members() {
		switch string(name) {
		case "url":
			main.url = r.String()
		case "preferredTransport":
			main.binding = r.String()
		case "protocolVersion":
			main.version = r.String()
		case "additionalInterfaces":
			others = decodeInterfaces(r)
		case "supportedInterfaces":
			o.interfaces = decodeInterfaces(r)
		case "capabilities":
			for name := range r.Members() {
				if string(name) == "streaming" {
					o.streaming = r.Bool()
				}
			}
		case "authentication":
			o.isV01 = true
		case "securitySchemes", "security", "supportsAuthenticatedExtendedCard":
			security = true
		}
	}
	o.isV01 = o.isV01 && !security
	if main.url != "" {
		o.interfaces = append(o.interfaces, main)
		for _, each := range others {
			each.version = main.version
			o.interfaces = append(o.interfaces, each)
		}
	}
	return o, r.End()
}

func decodeInterfaces(r *jsonread.Reader) []cardInterface {
	var all []cardInterface
	for i := range r.Elements() {
		if i >= maxInterfaces {
			r.TooMany(maxInterfaces)
			return nil
		}
		var each cardInterface
		for name := range r.Members() {
			switch string(name) {
			case "url":
				each.url = r.String()
			case "transport", "protocolBinding":
				each.binding = r.String()
			case "protocolVersion":
				each.version = r.String()
			case "tenant":
				each.tenant = r.String()
			}
		}
		all = append(all, each)
	}
	return all
}

// hasOrigin reports whether the URL of an interface has the scheme, the host and the port
// of origin, and no user information.
func (i *cardInterface) hasOrigin(origin *url.URL) bool {
	u, err := url.Parse(i.url)
	return err == nil && u.User == nil && u.Scheme == origin.Scheme && strings.EqualFold(u.Hostname(), origin.Hostname()) && portOf(u) == portOf(origin)
}

func portOf(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// choose returns the endpoint of the first dialect in preferred that the card offers. at is
// the configured URL. If no dialect fits, the error is a *backend.TurnError.
func (o *cardOffer) choose(at *url.URL) (*endpoint, error) {
	for _, d := range preferred {
		for i := range o.interfaces {
			each := &o.interfaces[i]
			if each.binding != string(d.Binding) || !d.Supports(each.assumedVersion(o)) {
				continue
			}
			p, err := each.endpoint(d, at, o.streaming)
			if err == nil {
				p.pinned = o.pinned
			}
			if v, _ := version.Parse(each.version); err != nil || o.pinned || each.version != "" && v != version.V02 && v != version.V01 {
				return p, err
			}
			// Cards of 0.1 and 0.2 may have no version or a wrong one, so the version of d may be
			// wrong. The fallback has the other version.
			other := rpcV01
			if d == rpcV01 {
				other = rpcV03
			}
			p.fallback, err = each.endpoint(other, at, o.streaming)
			return p, err
		}
	}
	return nil, backend.Failed(o.noInterfaceReason(), nil)
}

// assumedVersion returns the version of an interface. If the interface has none, the
// version is 0.1 for a card with members that only 0.1 has, and 0.3 otherwise. The Major of
// an invalid version is -1.
func (i *cardInterface) assumedVersion(o *cardOffer) version.Version {
	switch v, ok := version.Parse(i.version); {
	case !ok:
		return version.Version{Major: -1}
	case i.version != "":
		return v
	case o.isV01:
		return version.V01
	default:
		return version.V03
	}
}

func (i *cardInterface) endpoint(d *dialect, at *url.URL, streaming bool) (*endpoint, error) {
	u := *at
	if u.Path == "" {
		named, err := url.Parse(i.url)
		if err != nil {
			return nil, backend.Failed("The agent's card has an interface whose URL cannot be read", err)
		}
		u.Path = named.Path
		u.RawPath = named.RawPath
		if u.RawQuery == "" {
			u.RawQuery = named.RawQuery
		}
	}
	switch {
	case d.Binding != card.JSONRPC:
		u.RawPath = strings.TrimSuffix(strings.TrimSuffix(u.EscapedPath(), "/"), d.Prefix)
		u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), d.Prefix)
	case u.Path == "":
		u.Path = "/"
	}
	p := &endpoint{dialect: d, url: &u, tenant: i.tenant}
	p.streaming.Store(streaming)
	return p, nil
}

// noInterfaceReason returns the reason why no interface can be used. It contains no text
// of the card.
func (o *cardOffer) noInterfaceReason() string {
	usable := func(i cardInterface) bool { return i.binding != string(card.GRPC) }
	switch {
	case len(o.interfaces) == 0:
		return "The agent's card names no interface: it has neither url nor supportedInterfaces"
	case !slices.ContainsFunc(o.interfaces, usable):
		return "The agent's card offers gRPC only; the sidecar calls agents over JSON-RPC or HTTP+JSON"
	default:
		return "The agent's card offers no version of A2A that the sidecar speaks (0.1 to 1.0, over JSON-RPC or HTTP+JSON)"
	}
}
