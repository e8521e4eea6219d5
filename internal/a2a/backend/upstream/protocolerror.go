// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// maxErrorBody bounds the body of an error response, in bytes.
const maxErrorBody = 64 << 10

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
