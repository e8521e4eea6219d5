// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2aclient

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/scalar"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// maxMessage bounds the text of an agent's error, in bytes.
const maxMessage = 4096

// protocolError is an error that the agent reported.
type protocolError struct {
	reason  a2a.Reason
	code    int
	message string
}

// Error returns the reason and the agent's text.
func (e *protocolError) Error() string {
	return string(e.reason) + ": " + e.message
}

// failure returns the failure for the user.
func (e *protocolError) failure() *failure.Error {
	out := failure.New(failure.OfReason(e.reason), "%s", cmp.Or(e.message, "the agent answered with an error"))
	out.A2ACode = e.code
	out.Cause = e
	switch e.reason {
	case a2a.ReasonTaskNotFound:
		return out.WithHint("you have no such task at the agent; list your tasks with kubectl a2a task list")
	case a2a.ReasonResourceExhausted:
		if strings.Contains(e.message, "limits.tokens.") {
			return out.WithHint("wait until then, or ask the owner of the agent to raise the field of spec.limits.tokens")
		}
		return out.WithHint("try again in some seconds")
	case a2a.ReasonUnavailable:
		return out.WithHint("try again in some seconds")
	case a2a.ReasonVersionNotSupported, a2a.ReasonMethodNotFound:
		return out.WithHint("name another version of the card with --a2a-version")
	default:
		return out
	}
}

// reasonsOfStatuses are the reasons of HTTP statuses, for answers without an error of A2A.
var reasonsOfStatuses = map[int]a2a.Reason{
	http.StatusUnauthorized:          a2a.ReasonUnauthenticated,
	http.StatusForbidden:             a2a.ReasonPermissionDenied,
	http.StatusNotFound:              a2a.ReasonMethodNotFound,
	http.StatusMethodNotAllowed:      a2a.ReasonMethodNotFound,
	http.StatusNotImplemented:        a2a.ReasonMethodNotFound,
	http.StatusRequestEntityTooLarge: a2a.ReasonTooLarge,
	http.StatusTooManyRequests:       a2a.ReasonResourceExhausted,
	http.StatusServiceUnavailable:    a2a.ReasonUnavailable,
	http.StatusBadGateway:            a2a.ReasonUnavailable,
	http.StatusGatewayTimeout:        a2a.ReasonUnavailable,
}

// known reports whether A2A defines a reason.
func known(reason a2a.Reason) bool {
	return slices.Contains(slices.Collect(maps.Values(scalar.ReasonsOfCodes)), reason) || slices.Contains(slices.Collect(maps.Values(reasonsOfStatuses)), reason)
}

// errorObject is an error of JSON-RPC, of HTTP+JSON 1.0 (google.rpc.Status), or of HTTP+JSON 0.3.
type errorObject struct {
	Code    json.Number `json:"code"`
	Message string      `json:"message"`
	// Data (in JSON-RPC) and Details (in HTTP+JSON) contain the ErrorInfo of 1.0. In versions before 1.0, Data may be an
	// object with a reason.
	Data    json.RawMessage `json:"data"`
	Details json.RawMessage `json:"details"`
}

// decodeError returns the error in a response. text is the whole body of the response. A response with status 200 may
// contain an error, too. decodeError returns nil for a response with status 2xx and without an error.
func decodeError(status int, text []byte) *protocolError {
	var envelope struct {
		errorObject
		Error json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(text, &envelope) // if the body is no JSON, only the status counts
	failed := status < http.StatusOK || status >= http.StatusMultipleChoices
	object := envelope.errorObject
	if len(envelope.Error) > 0 && string(envelope.Error) != "null" {
		failed = true
		object = errorObject{}
		if json.Unmarshal(envelope.Error, &object) != nil {
			_ = json.Unmarshal(envelope.Error, &object.Message)
		}
	}
	if !failed {
		return nil
	}
	out := &protocolError{code: status, message: safetext.Clip(object.Message, maxMessage)}
	code, _ := object.Code.Int64()
	out.reason = scalar.ReasonsOfCodes[int(code)]
	if out.reason != "" {
		out.code = int(code)
	}
	for _, details := range []json.RawMessage{object.Data, object.Details} {
		for _, info := range errorInfos(details) {
			if known(info.Reason) {
				out.reason = info.Reason
			}
		}
	}
	if out.reason == "" || out.reason == a2a.ReasonInternal {
		out.reason = cmp.Or(reasonsOfStatuses[status], a2a.ReasonInternal)
	}
	if out.message == "" {
		out.message = "the agent answered with HTTP status " + http.StatusText(status)
	}
	return out
}

// errorInfo is the part of an error's details that names its reason.
type errorInfo struct {
	Reason a2a.Reason `json:"reason"`
}

// errorInfos returns the infos in the details of an error. The details are an array in 1.0, and one object in earlier
// versions.
func errorInfos(details json.RawMessage) []errorInfo {
	var infos []errorInfo
	if json.Unmarshal(details, &infos) == nil {
		return infos
	}
	var only errorInfo
	_ = json.Unmarshal(details, &only) // an error means that the details name no reason
	return []errorInfo{only}
}
