// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package errormap is the table of errors: what each reason of the domain looks
// like in JSON-RPC, HTTP and gRPC (A2A 1.0.1 section 5.4). It writes no whole
// answer; each binding wraps what it finds here in its own way.
package errormap

import (
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Fault is one row of the table.
type Fault struct {
	// Code is that of JSON-RPC.
	Code int
	// HTTP is the status of REST.
	HTTP int
	// GRPC is the number of the gRPC status.
	GRPC uint32
	// Reason is the ErrorInfo reason of 1.0.
	Reason string
	// Message is said when the error says nothing itself.
	Message string
}

// The numbers of gRPC statuses.
const (
	invalidArgument    = 3
	notFound           = 5
	permissionDenied   = 7
	resourceExhausted  = 8
	failedPrecondition = 9
	unimplemented      = 12
	internal           = 13
	unavailable        = 14
	unauthenticated    = 16
)

// statuses are the names that REST gives to them.
var statuses = map[uint32]string{
	invalidArgument:    "INVALID_ARGUMENT",
	notFound:           "NOT_FOUND",
	permissionDenied:   "PERMISSION_DENIED",
	resourceExhausted:  "RESOURCE_EXHAUSTED",
	failedPrecondition: "FAILED_PRECONDITION",
	unimplemented:      "UNIMPLEMENTED",
	internal:           "INTERNAL",
	unavailable:        "UNAVAILABLE",
	unauthenticated:    "UNAUTHENTICATED",
}

// Status returns the name of the gRPC status.
func (f Fault) Status() string { return statuses[f.GRPC] }

// Profile names the release of 1.0 whose mapping to HTTP and gRPC is used.
type Profile string

// The profiles. The zero value is Profile101.
const (
	Profile101 Profile = "1.0.1"
	Profile100 Profile = "1.0.0"
)

var table = map[a2a.Reason]Fault{
	a2a.ReasonParse:                   {-32700, 400, invalidArgument, "INVALID_REQUEST", "Invalid JSON payload"},
	a2a.ReasonInvalidRequest:          {-32600, 400, invalidArgument, "INVALID_REQUEST", "Request payload validation error"},
	a2a.ReasonMethodNotFound:          {-32601, 404, unimplemented, "METHOD_NOT_FOUND", "Method not found"},
	a2a.ReasonInvalidParams:           {-32602, 400, invalidArgument, "INVALID_PARAMS", "Invalid parameters"},
	a2a.ReasonInternal:                {-32603, 500, internal, "INTERNAL_ERROR", "Internal error"},
	a2a.ReasonTaskNotFound:            {-32001, 404, notFound, "TASK_NOT_FOUND", "Task not found"},
	a2a.ReasonTaskNotCancelable:       {-32002, 400, failedPrecondition, "TASK_NOT_CANCELABLE", "Task cannot be canceled"},
	a2a.ReasonPushNotSupported:        {-32003, 400, failedPrecondition, "PUSH_NOTIFICATION_NOT_SUPPORTED", "Push Notification is not supported"},
	a2a.ReasonUnsupportedOperation:    {-32004, 400, failedPrecondition, "UNSUPPORTED_OPERATION", "This operation is not supported"},
	a2a.ReasonContentTypeNotSupported: {-32005, 400, invalidArgument, "CONTENT_TYPE_NOT_SUPPORTED", "Incompatible content types"},
	a2a.ReasonInvalidAgentResponse:    {-32006, 500, internal, "INVALID_AGENT_RESPONSE", "Invalid agent response"},
	a2a.ReasonExtendedCardNotConfigured: {
		-32007, 400, failedPrecondition, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", "Authenticated Extended Card is not configured",
	},
	a2a.ReasonExtensionRequired:   {-32008, 400, failedPrecondition, "EXTENSION_SUPPORT_REQUIRED", "Extension support required"},
	a2a.ReasonVersionNotSupported: {-32009, 400, failedPrecondition, "VERSION_NOT_SUPPORTED", "Protocol version is not supported"},
	a2a.ReasonUnauthenticated:     {-32603, http.StatusUnauthorized, unauthenticated, "UNAUTHENTICATED", "Unauthenticated"},
	a2a.ReasonPermissionDenied:    {-32603, http.StatusForbidden, permissionDenied, "PERMISSION_DENIED", "Forbidden"},
	a2a.ReasonResourceExhausted:   {-32603, http.StatusTooManyRequests, resourceExhausted, "RESOURCE_EXHAUSTED", "Too many requests"},
	a2a.ReasonUnavailable:         {-32603, http.StatusServiceUnavailable, unavailable, "UNAVAILABLE", "Service unavailable"},
	a2a.ReasonTooLarge:            {-32600, http.StatusRequestEntityTooLarge, resourceExhausted, "INVALID_REQUEST", "Request body is too large"},
}

// changed are the rows that 1.0.0 had otherwise.
var changed = map[a2a.Reason]struct {
	http int
	grpc uint32
}{
	a2a.ReasonTaskNotCancelable:       {http.StatusConflict, failedPrecondition},
	a2a.ReasonPushNotSupported:        {http.StatusBadRequest, unimplemented},
	a2a.ReasonUnsupportedOperation:    {http.StatusBadRequest, unimplemented},
	a2a.ReasonContentTypeNotSupported: {http.StatusUnsupportedMediaType, invalidArgument},
	a2a.ReasonInvalidAgentResponse:    {http.StatusBadGateway, internal},
	a2a.ReasonVersionNotSupported:     {http.StatusBadRequest, unimplemented},
}

// Of returns the row of an error. One with an unknown reason is internal.
func Of(problem *a2a.Error, p Profile) Fault {
	f, ok := table[problem.Reason]
	if !ok {
		return table[a2a.ReasonInternal]
	}
	if c, ok := changed[problem.Reason]; ok && p == Profile100 {
		f.HTTP, f.GRPC = c.http, c.grpc
	}
	return f
}

// Says returns what a client is told.
func (f Fault) Says(problem *a2a.Error) string {
	if problem.Message != "" {
		return problem.Error()
	}
	return f.Message
}

// OfTransport reports whether an error is one of HTTP itself in every binding:
// a client need not know the protocol to act on it.
func OfTransport(problem *a2a.Error) bool {
	switch problem.Reason {
	case a2a.ReasonUnauthenticated, a2a.ReasonPermissionDenied, a2a.ReasonResourceExhausted,
		a2a.ReasonUnavailable, a2a.ReasonTooLarge:
		return true
	default:
		return false
	}
}
