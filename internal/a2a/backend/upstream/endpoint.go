// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"net/url"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
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
	// streaming is false once the agent has refused to stream.
	streaming atomic.Bool
	// fallback is the endpoint with the other dialect to try if the agent does not support
	// the methods, nil for none. It is set for a card of 0.1 or 0.2 that does not name its
	// version.
	fallback *endpoint
}

// tenantOf returns the tenant of requests: the tenant on the card or, if the card has none,
// the tenant of the client. Over HTTP+JSON, it ignores the tenant of the client, because
// the client could then choose a segment of the path. Versions before 1.0 have no tenants.
func (p *endpoint) tenantOf(t *backend.Turn) string {
	switch {
	case p.version != version.V10:
		return ""
	case p.tenant != "" || p.bindingName == card.HTTPJSON:
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
		return backend.Failed("The agent does not support this, or its task has ended", f)
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
		return backend.Failed("The agent does not speak A2A "+p.version.String()+" over "+string(p.bindingName)+", "+by, f)
	case a2a.ReasonUnauthenticated, a2a.ReasonPermissionDenied:
		if remote {
			return backend.Failed("The agent requires other credentials; it receives the Authorization header of the request and no other credential", f)
		}
		return backend.Failed("The agent requires credentials; the sidecar authenticates callers and has no credential for the agent", f)
	default:
		return backend.Failed("The agent answered with an error", f)
	}
}
