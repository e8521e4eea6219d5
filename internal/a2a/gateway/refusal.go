// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// refusal describes why the gateway does not forward a request, if the reason is the request
// itself.
type refusal struct {
	status int
	// code is a code of the registry's errors, and reason a reason of A2A errors.
	code    string
	reason  a2a.Reason
	message string
}

var (
	refusalNotLocal = refusal{
		http.StatusForbidden, "PermissionDenied", a2a.ReasonPermissionDenied,
		"The gateway serves its own pod only, and no web page: call it at http://127.0.0.1 or http://localhost, without a foreign Origin",
	}
	refusalNoGateway = refusal{
		http.StatusNotFound, "NotFound", a2a.ReasonUnsupportedOperation,
		"This sidecar has no gateway: it was not configured with a registry",
	}
	refusalMethod = refusal{
		http.StatusMethodNotAllowed, "MethodNotAllowed", a2a.ReasonInvalidRequest, "The registry is read with GET, and searched at /registry/ard/search and /registry/ard/explore with POST",
	}
	refusalNoSuchPath = refusal{
		http.StatusNotFound, "NotFound", a2a.ReasonMethodNotFound,
		"The gateway serves /registry/<path>, /agents/<namespace>/<name>/<path>, /mcp, and the directory agent at /",
	}
	refusalNoLabel = refusal{
		http.StatusNotFound, "NotFound", a2a.ReasonMethodNotFound,
		"The gateway serves /agents/<namespace>/<name>/<path>; namespace and name must be DNS labels",
	}
)

// writeError writes an error in the JSON form of the registry.
func writeError(w http.ResponseWriter, status int, code, message string) {
	// The error is nil, because text that is not UTF-8 is written with replacement characters.
	body, _ := jsontext.AppendQuote([]byte(`{"error":{"code":"`+code+`","message":`), message)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, "}}\n"...))
}
