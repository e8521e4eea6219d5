// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"net/url"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// endpoint is the endpoint of the agent.
type endpoint struct {
	*client.Endpoint
	// pinned is true if the version was configured.
	pinned bool
	// fallback is the endpoint of the same interface with the other dialect, 0.1 instead of
	// 0.3 or the reverse, nil for none. It is tried if the agent does not support the methods
	// of this endpoint. It is set if no version is configured, and the card names the version
	// 0.1, 0.2 or none.
	fallback *endpoint
}

// turnError returns the failure of the turn for an error that the agent returned.
func (p *endpoint) turnError(f *client.Error, remote bool) *backend.TurnError {
	switch f.Reason {
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
	case a2a.ReasonUnauthenticated:
		if remote {
			return backend.Failed("The agent requires other credentials; it receives the Authorization header of the request, or the credential in spec.remote.credentials: correct the one that it gets", f)
		}
		return backend.Failed("The agent requires credentials; the sidecar authenticates callers and has no credential for the agent: let the container accept calls without one", f)
	case a2a.ReasonPermissionDenied:
		if remote {
			return backend.Failed("The agent accepts the credential and does not allow the call; ask its owner to allow it to the Authorization header of the request, or to the credential in spec.remote.credentials", f)
		}
		return backend.Failed("The agent does not allow the call, which the sidecar has allowed; correct the rules of the container, or deny such calls in spec.access.authorization", f)
	default:
		return backend.Failed("The agent answered with an error; the log of its container may have the cause", f)
	}
}

// preference orders the interfaces of a card: the latest version first, and JSON-RPC before HTTP+JSON.
var preference = client.Preference{
	Versions: []version.Version{version.V10, version.V03, version.V01},
	Bindings: []card.Binding{card.JSONRPC, card.HTTPJSON},
}

// chooseEndpoint returns the best endpoint that a card offers. Its errors are *backend.TurnError.
func (a *agent) chooseEndpoint(text []byte) (*endpoint, error) {
	offer, err := client.ReadOffer(text)
	if err != nil {
		return nil, backend.Unrecognized("The agent's card "+stream.DecodeReason(err, "an Agent Card"), text, err)
	}
	return a.choose(offer)
}

// choose returns the best endpoint of an offer. If no dialect fits, the error is a *backend.TurnError.
func (a *agent) choose(offer *client.Offer) (*endpoint, error) {
	wanted := preference
	wanted.Unversioned = version.V03
	if offer.IsV01 {
		wanted.Unversioned = version.V01
	}
	if a.pinned != (version.Version{}) {
		for i := range offer.Interfaces {
			offer.Interfaces[i].ProtocolVersion = a.pinned.String()
		}
	}
	if a.remote != nil {
		wanted.Admit = func(i *card.Interface) bool {
			u, err := url.Parse(i.URL)
			return err == nil && u.User == nil && client.Origin(u) == client.Origin(a.url)
		}
	}
	chosen, d := client.Choose(offer.Interfaces, &wanted)
	if chosen == nil {
		if wanted.Admit != nil {
			offer.Interfaces = slices.DeleteFunc(offer.Interfaces, func(i card.Interface) bool { return !wanted.Admit(&i) })
		}
		return nil, backend.Failed(noInterfaceReason(offer.Interfaces), nil)
	}
	p, err := a.newEndpoint(chosen, d, offer.Streaming)
	if v, _ := version.Parse(chosen.ProtocolVersion); err != nil || p.pinned || chosen.ProtocolVersion != "" && v != version.V02 && v != version.V01 {
		return p, err
	}
	// Cards of 0.1 and 0.2 may have no version or a wrong one, so the version of d may be
	// wrong. The fallback has the other version.
	other := client.RPCV01
	if d == client.RPCV01 {
		other = client.RPCV03
	}
	p.fallback, err = a.newEndpoint(chosen, other, offer.Streaming)
	return p, err
}

// newEndpoint returns the endpoint of an interface. Only the path and the query of the card's URL are used, and only if
// the configured URL has none.
func (a *agent) newEndpoint(i *card.Interface, d *client.Dialect, streaming bool) (*endpoint, error) {
	u := *a.url
	if u.Path == "" {
		named, err := url.Parse(i.URL)
		if err != nil {
			return nil, backend.Failed("The agent's card has an interface whose URL cannot be read", err)
		}
		u.Path = named.Path
		u.RawPath = named.RawPath
		if u.RawQuery == "" {
			u.RawQuery = named.RawQuery
		}
	}
	return &endpoint{Endpoint: client.NewEndpoint(d, &u, i.Tenant, streaming), pinned: a.pinned != (version.Version{})}, nil
}

// noInterfaceReason returns the reason why no interface can be used. It contains no text
// of the card.
func noInterfaceReason(interfaces []card.Interface) string {
	usable := func(i card.Interface) bool { return i.Binding != card.GRPC }
	switch {
	case len(interfaces) == 0:
		return "The agent's card names no interface: it has neither url nor supportedInterfaces"
	case !slices.ContainsFunc(interfaces, usable):
		return "The agent's card offers gRPC only; the sidecar calls agents over JSON-RPC or HTTP+JSON"
	default:
		return "The agent's card offers no version of A2A that the sidecar speaks (0.1 to 1.0, over JSON-RPC or HTTP+JSON)"
	}
}
