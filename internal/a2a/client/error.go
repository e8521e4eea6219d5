// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/scalar"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

const (
	// maxMessage bounds the text of an agent's error, in bytes.
	maxMessage = 2048
	// maxError bounds an error that is decoded, in bytes. Of a longer one, only the status counts.
	maxError = 256 << 10
)

// Error is a refusal of the agent: an error of the protocol, or a response whose status is not 2xx.
type Error struct {
	// Reason is the reason that the agent named or, if Named is false, one that follows from the status.
	Reason a2a.Reason
	Named  bool
	// Code is the code of JSON-RPC that the agent named, 0 for none. Status is the HTTP status of the response.
	Code   int
	Status int
	// Message is the text of the agent, "" for none. It is at most 2048 bytes long, and is not safe to show on a terminal.
	Message string
}

// Error returns the reason and the code, for logs. It omits the text of the agent, which may contain data of users.
func (e *Error) Error() string {
	return "agent answered error " + strconv.Itoa(cmp.Or(e.Code, e.Status)) + " " + string(e.Reason)
}

// IsUnsupported reports whether the agent does not have the method or the version of the request. The agent has then
// not processed the request.
func (e *Error) IsUnsupported() bool {
	return e.Reason == a2a.ReasonMethodNotFound || e.Reason == a2a.ReasonVersionNotSupported
}

// IsTransient reports whether the same request may succeed if it is sent again soon.
func (e *Error) IsTransient() bool {
	return e.Reason == a2a.ReasonUnavailable || e.Reason == a2a.ReasonResourceExhausted
}

// IsUnsupported reports whether an error says that the agent does not have an operation. The agent has then not begun
// to process the request.
func IsUnsupported(err error) bool {
	problem, ok := errors.AsType[*Error](err)
	return ok && (problem.Reason == a2a.ReasonMethodNotFound || problem.Reason == a2a.ReasonUnsupportedOperation)
}

// IsRefused reports whether an error is or wraps an *Error.
func IsRefused(err error) bool {
	_, ok := errors.AsType[*Error](err)
	return ok
}

// isFinal reports whether an error is a refusal that the same request will meet again.
func isFinal(err error) bool {
	problem, ok := errors.AsType[*Error](err)
	return ok && !problem.IsTransient()
}

// ConnectionError returns the error of the network in an error of a Client, nil if the connection did not fail.
func ConnectionError(err error) error {
	if failure, ok := errors.AsType[*backend.TurnError](err); ok && failure.Interrupted {
		return failure.Err
	}
	return nil
}

// DecodeError is the error of a response or of an event that cannot be decoded.
type DecodeError struct {
	// Line is the line of the event in its stream, 0 for a response that is no stream.
	Line int
	// Text is the part of the response that cannot be decoded.
	Text []byte
	// Err is the cause: ErrOtherRequest, or the error of a codec.
	Err error
}

// Error returns the place and the cause.
func (e *DecodeError) Error() string { return "decode " + Place(e.Line) + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// isUnreadable reports whether an answer could not be decoded.
func isUnreadable(err error) bool {
	_, ok := errors.AsType[*DecodeError](err)
	return ok
}

// Place names an event by its line, or a response that is no stream.
func Place(line int) string {
	if line == 0 {
		return "answer"
	}
	return "event in line " + strconv.Itoa(line)
}

var (
	// ErrOtherRequest is the error of a response of JSON-RPC to another request.
	ErrOtherRequest = errors.New("answer has the id of another request")
	// ErrTooLarge is the error of a task that is larger than Options.Admit allows.
	ErrTooLarge = errors.New("task is too large")
	// ErrIncomplete is the error of an answer that ended without a result.
	ErrIncomplete = errors.New("the answer ended without a result")
)

// reasonsOfStatuses are the reasons of HTTP statuses, for responses without an error of A2A.
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

// knownReasons are the reasons that the details of an error may name.
var knownReasons = slices.Concat(slices.Collect(maps.Values(scalar.ReasonsOfCodes)), slices.Collect(maps.Values(reasonsOfStatuses)))

// unwrap returns the content of a response or of an event: the result in JSON-RPC, and the whole text in HTTP+JSON. One
// project that implements 0.3 sends results of JSON-RPC over HTTP+JSON, which unwrap accepts. If the text contains an
// error of the protocol, unwrap returns an *Error. anyID is true to accept the response to another request.
func (d *Dialect) unwrap(text []byte, anyID bool) ([]byte, error) {
	r := jsonread.New(text)
	var result []byte
	var failed, isRPC, other bool
	for name := range r.Members() {
		switch string(name) {
		case "id":
			other = !anyID && d.Binding == card.JSONRPC && (r.Kind() != '"' || r.String() != requestID)
		case "jsonrpc":
			isRPC = true
		case "result":
			result = r.Raw()
		case "error":
			failed = true
		}
	}
	switch err := r.End(); {
	case err != nil:
		return nil, err
	case other:
		return nil, ErrOtherRequest
	case failed:
		return nil, d.decodeError(http.StatusOK, text)
	case d.Binding == card.HTTPJSON && (!isRPC || result == nil):
		return text, nil
	case result == nil:
		return nil, a2a.InvalidParams("result", "is required")
	default:
		return result, nil
	}
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

// decodeError returns the error in a response with an HTTP status, or in an event. The text contains an error, or the
// status is not 2xx.
func (d *Dialect) decodeError(status int, text []byte) *Error {
	var envelope struct {
		errorObject
		Error json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(text[:min(len(text), maxError)], &envelope) // if the body is no JSON, only the status counts
	object := envelope.errorObject
	isRPC := false
	if len(envelope.Error) > 0 && string(envelope.Error) != "null" {
		isRPC = d.Binding == card.JSONRPC
		object = errorObject{}
		if json.Unmarshal(envelope.Error, &object) != nil {
			_ = json.Unmarshal(envelope.Error, &object.Message)
		}
	}
	code, _ := object.Code.Int64()
	out := &Error{Status: status, Message: safetext.Clip(object.Message, maxMessage), Reason: scalar.ReasonsOfCodes[int(code)]}
	if out.Reason != "" || isRPC {
		out.Code = int(code)
	}
	for _, details := range []json.RawMessage{object.Data, object.Details} {
		for _, info := range errorInfos(details) {
			if slices.Contains(knownReasons, info.Reason) {
				out.Reason = info.Reason
			}
		}
	}
	switch {
	case out.Reason == "" && d.Binding == card.HTTPJSON && (status == http.StatusNotImplemented || status == http.StatusMethodNotAllowed):
		out.Reason = a2a.ReasonMethodNotFound
	case out.Reason == "" && (isRPC || stream.IsSuccess(status)):
		out.Reason = a2a.ReasonInternal
	}
	out.Named = out.Reason != ""
	if reason := reasonsOfStatuses[status]; !out.Named || out.Reason == a2a.ReasonInternal && reason != a2a.ReasonMethodNotFound {
		out.Reason = cmp.Or(reason, a2a.ReasonInternal)
	}
	return out
}

// errorInfo is the part of an error's details that names its reason.
type errorInfo struct {
	Reason a2a.Reason `json:"reason"`
}

// maxDetails is the size of the largest details in which a reason is searched, in bytes: many small objects need much memory.
const maxDetails = 64 << 10

// errorInfos returns the infos in the details of an error. The details are an array in 1.0, and one object in earlier
// versions.
func errorInfos(details json.RawMessage) []errorInfo {
	if len(details) > maxDetails {
		return nil
	}
	var infos []errorInfo
	if json.Unmarshal(details, &infos) == nil {
		return infos
	}
	var only errorInfo
	_ = json.Unmarshal(details, &only) // an error means that the details name no reason
	return []errorInfo{only}
}
