// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// protocolError is an error that the agent returned. It omits the agent's text, which is
// not meant for clients of the sidecar.
type protocolError struct {
	// reason is "" for a code that the protocol does not define.
	reason a2a.Reason
	code   int
}

// Error returns the reason and the code, for the log.
func (f *protocolError) Error() string {
	return "agent answered error " + strconv.Itoa(f.code) + " " + string(f.reason)
}

// isUnsupported reports whether the agent does not support the method or the version of the
// request. The agent has then not processed the request.
func (f *protocolError) isUnsupported() bool {
	return f.reason == a2a.ReasonMethodNotFound || f.reason == a2a.ReasonVersionNotSupported
}

// turnError returns the failure of the turn for an error of the agent.
func (f *protocolError) turnError(p *endpoint) *backend.TurnError {
	switch f.reason {
	case a2a.ReasonTaskNotFound:
		return backend.Failed("The agent does not know the task any more; it may have been restarted", f)
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
		return backend.Failed("The agent requires credentials; the sidecar authenticates callers and has no credential for the agent", f)
	default:
		return backend.Failed("The agent answered with an error", f)
	}
}
