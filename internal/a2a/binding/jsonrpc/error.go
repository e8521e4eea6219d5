// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// outcome is what an error looks like in this binding.
type outcome struct {
	code int
	// status is the HTTP status. All but the failures of HTTP itself are 200.
	status int
	// reason is the ErrorInfo reason of 1.0.
	reason  string
	message string
}

var outcomes = map[a2a.Reason]outcome{
	a2a.ReasonParse:                   {-32700, 200, "INVALID_REQUEST", "Invalid JSON payload"},
	a2a.ReasonInvalidRequest:          {-32600, 200, "INVALID_REQUEST", "Request payload validation error"},
	a2a.ReasonMethodNotFound:          {-32601, 200, "METHOD_NOT_FOUND", "Method not found"},
	a2a.ReasonInvalidParams:           {-32602, 200, "INVALID_PARAMS", "Invalid parameters"},
	a2a.ReasonInternal:                {-32603, 200, "INTERNAL_ERROR", "Internal error"},
	a2a.ReasonTaskNotFound:            {-32001, 200, "TASK_NOT_FOUND", "Task not found"},
	a2a.ReasonTaskNotCancelable:       {-32002, 200, "TASK_NOT_CANCELABLE", "Task cannot be canceled"},
	a2a.ReasonPushNotSupported:        {-32003, 200, "PUSH_NOTIFICATION_NOT_SUPPORTED", "Push Notification is not supported"},
	a2a.ReasonUnsupportedOperation:    {-32004, 200, "UNSUPPORTED_OPERATION", "This operation is not supported"},
	a2a.ReasonContentTypeNotSupported: {-32005, 200, "CONTENT_TYPE_NOT_SUPPORTED", "Incompatible content types"},
	a2a.ReasonInvalidAgentResponse:    {-32006, 200, "INVALID_AGENT_RESPONSE", "Invalid agent response"},
	a2a.ReasonExtendedCardNotConfigured: {
		-32007, 200, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", "Authenticated Extended Card is not configured",
	},
	a2a.ReasonExtensionRequired:   {-32008, 200, "EXTENSION_SUPPORT_REQUIRED", "Extension support required"},
	a2a.ReasonVersionNotSupported: {-32009, 200, "VERSION_NOT_SUPPORTED", "Protocol version is not supported"},
	a2a.ReasonUnauthenticated:     {-32603, http.StatusUnauthorized, "UNAUTHENTICATED", "Unauthenticated"},
	a2a.ReasonPermissionDenied:    {-32603, http.StatusForbidden, "PERMISSION_DENIED", "Forbidden"},
	a2a.ReasonResourceExhausted:   {-32603, http.StatusTooManyRequests, "RESOURCE_EXHAUSTED", "Too many requests"},
	a2a.ReasonUnavailable:         {-32603, http.StatusServiceUnavailable, "UNAVAILABLE", "Service unavailable"},
	a2a.ReasonTooLarge:            {-32600, http.StatusRequestEntityTooLarge, "INVALID_REQUEST", "Request body is too large"},
}

// problemOf returns the error that a client is told about. What is not meant
// for clients becomes an internal error without its text.
func problemOf(err error) *a2a.Error {
	if problem, ok := errors.AsType[*a2a.Error](err); ok {
		return problem
	}
	if errors.Is(err, a2a.ErrDraining) || errors.Is(err, a2a.ErrSlowSubscriber) {
		return &a2a.Error{Reason: a2a.ReasonUnavailable}
	}
	return &a2a.Error{Reason: a2a.ReasonInternal}
}

func outcomeOf(problem *a2a.Error) outcome {
	if o, ok := outcomes[problem.Reason]; ok {
		return o
	}
	return outcomes[a2a.ReasonInternal]
}

// Code is the code that an error has in this binding.
func Code(problem *a2a.Error) int { return outcomeOf(problem).code }

// supportedVersions goes with VERSION_NOT_SUPPORTED.
const supportedVersions = "0.2,0.3,1.0"

// appendError appends a whole response. Versions up to 0.3 type data as an
// object, 1.0 as an array of google.protobuf.Any.
func appendError(dst, id []byte, problem *a2a.Error, detailed bool) []byte {
	o := outcomeOf(problem)
	message := o.message
	if problem.Message != "" {
		message = problem.Error()
	}
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	dst = append(dst, `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(o.code), 10)
	dst = append(dst, `,"message":`...)
	dst = appendString(dst, message)
	if detailed || problem.Reason == a2a.ReasonVersionNotSupported {
		dst = appendDetails(dst, problem, o.reason)
	} else if problem.Field != "" {
		dst = append(dst, `,"data":{"reason":"`...)
		dst = append(dst, o.reason...)
		dst = append(dst, `","field":`...)
		dst = appendString(dst, problem.Field)
		dst = append(dst, '}')
	}
	return append(dst, `}}`...)
}

func appendDetails(dst []byte, problem *a2a.Error, reason string) []byte {
	dst = append(dst, `,"data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"`...)
	dst = append(dst, reason...)
	dst = append(dst, `","domain":"a2a-protocol.org"`...)
	switch {
	case problem.Reason == a2a.ReasonVersionNotSupported:
		dst = append(dst, `,"metadata":{"supportedVersions":"`+supportedVersions+`"}`...)
	case problem.TaskID != "":
		dst = append(dst, `,"metadata":{"taskId":`...)
		dst = appendString(dst, problem.TaskID)
		dst = append(dst, '}')
	}
	dst = append(dst, '}')
	if problem.Field != "" {
		dst = append(dst, `,{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":`...)
		dst = appendString(dst, problem.Field)
		dst = append(dst, `,"description":`...)
		dst = appendString(dst, problem.Message)
		dst = append(dst, `}]}`...)
	}
	return append(dst, ']')
}

func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// gone reports whether there is nobody left to answer.
func gone(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err())
}
