// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package errormap maps the errors of the domain to the errors of JSON-RPC, HTTP and gRPC
// (A2A 1.0.1 section 5.4). The bindings encode the rows that it returns.
package errormap

import (
	"cmp"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// Row is one row of the table: the codes and texts with which the bindings report an error.
type Row struct {
	// JSONRPC is the JSON-RPC error code.
	JSONRPC int
	// HTTP is the status of a REST response.
	HTTP int
	// GRPC is the gRPC status code. REST responses contain its name.
	GRPC Code
	// Reason is the reason of the ErrorInfo.
	Reason string
	// Name is the name by which clients of 0.3 recognize the error over REST and gRPC. No
	// specification lists such names, so it is the name of the error's class in the
	// official Python SDK. It is "" for errors that clients recognize by the HTTP status or
	// the gRPC code.
	Name string
	// Message is the text of an error without a message of its own.
	Message string

	// http100 and grpc100 replace HTTP and GRPC in 1.0.0; zero values replace nothing.
	http100 int
	grpc100 Code
}

// Code is a status code of gRPC with its name.
type Code struct {
	Number uint32
	Name   string
}

// The codes of the table.
var (
	invalidArgument    = Code{3, "INVALID_ARGUMENT"}
	notFound           = Code{5, "NOT_FOUND"}
	permissionDenied   = Code{7, "PERMISSION_DENIED"}
	resourceExhausted  = Code{8, "RESOURCE_EXHAUSTED"}
	failedPrecondition = Code{9, "FAILED_PRECONDITION"}
	unimplemented      = Code{12, "UNIMPLEMENTED"}
	internal           = Code{13, "INTERNAL"}
	unavailable        = Code{14, "UNAVAILABLE"}
	unauthenticated    = Code{16, "UNAUTHENTICATED"}
)

// Profile is the release of 1.0 that determines the HTTP statuses and gRPC codes of errors.
// The zero value means Profile101.
type Profile string

// The profiles.
const (
	Profile101 Profile = "1.0.1"
	Profile100 Profile = "1.0.0"
)

// The columns are: JSONRPC, HTTP, GRPC, Reason, Name, Message, and the HTTP and GRPC of
// 1.0.0. The last two are zero if they equal those of 1.0.1.
var table = map[a2a.Reason]Row{
	a2a.ReasonParse:                   {-32700, 400, invalidArgument, "INVALID_REQUEST", "JSONParseError", "Invalid JSON payload", 0, Code{}},
	a2a.ReasonInvalidRequest:          {-32600, 400, invalidArgument, "INVALID_REQUEST", "InvalidRequestError", "Request payload validation error", 0, Code{}},
	a2a.ReasonMethodNotFound:          {-32601, 404, unimplemented, "METHOD_NOT_FOUND", "MethodNotFoundError", "Method not found", 0, Code{}},
	a2a.ReasonInvalidParams:           {-32602, 400, invalidArgument, "INVALID_PARAMS", "InvalidParamsError", "Invalid parameters", 0, Code{}},
	a2a.ReasonInternal:                {-32603, 500, internal, "INTERNAL_ERROR", "InternalError", "Internal error", 0, Code{}},
	a2a.ReasonTaskNotFound:            {-32001, 404, notFound, "TASK_NOT_FOUND", "TaskNotFoundError", "Task not found", 0, Code{}},
	a2a.ReasonTaskNotCancelable:       {-32002, 400, failedPrecondition, "TASK_NOT_CANCELABLE", "TaskNotCancelableError", "Task cannot be canceled", 409, Code{}},
	a2a.ReasonPushNotSupported:        {-32003, 400, failedPrecondition, "PUSH_NOTIFICATION_NOT_SUPPORTED", "PushNotificationNotSupportedError", "Push Notification is not supported", 0, unimplemented},
	a2a.ReasonUnsupportedOperation:    {-32004, 400, failedPrecondition, "UNSUPPORTED_OPERATION", "UnsupportedOperationError", "This operation is not supported", 0, unimplemented},
	a2a.ReasonContentTypeNotSupported: {-32005, 400, invalidArgument, "CONTENT_TYPE_NOT_SUPPORTED", "ContentTypeNotSupportedError", "Incompatible content types", 415, Code{}},
	a2a.ReasonInvalidAgentResponse:    {-32006, 500, internal, "INVALID_AGENT_RESPONSE", "InvalidAgentResponseError", "Invalid agent response", 502, Code{}},
	a2a.ReasonExtendedCardNotConfigured: {
		-32007, 400, failedPrecondition, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", "ExtendedAgentCardNotConfiguredError",
		"Authenticated Extended Card is not configured", 0,
		Code{},
	},
	a2a.ReasonExtensionRequired:   {-32008, 400, failedPrecondition, "EXTENSION_SUPPORT_REQUIRED", "ExtensionSupportRequiredError", "Extension support required", 0, Code{}},
	a2a.ReasonVersionNotSupported: {-32009, 400, failedPrecondition, "VERSION_NOT_SUPPORTED", "VersionNotSupportedError", "Protocol version is not supported", 0, unimplemented},
	a2a.ReasonUnauthenticated:     {-32603, 401, unauthenticated, "UNAUTHENTICATED", "", "Unauthenticated", 0, Code{}},
	a2a.ReasonPermissionDenied:    {-32603, 403, permissionDenied, "PERMISSION_DENIED", "", "Forbidden", 0, Code{}},
	a2a.ReasonResourceExhausted:   {-32603, 429, resourceExhausted, "RESOURCE_EXHAUSTED", "", "Too many requests", 0, Code{}},
	a2a.ReasonUnavailable:         {-32603, 503, unavailable, "UNAVAILABLE", "", "Service unavailable", 0, Code{}},
	a2a.ReasonTooLarge:            {-32600, 413, resourceExhausted, "INVALID_REQUEST", "", "Request body is too large", 0, Code{}},
}

// Lookup returns the row of an error. For an unknown reason, it returns the row of an
// internal error.
func Lookup(problem *a2a.Error, p Profile) Row {
	row, ok := table[problem.Reason]
	if !ok {
		return table[a2a.ReasonInternal]
	}
	if p == Profile100 && row.http100 != 0 {
		row.HTTP = row.http100
	}
	if p == Profile100 && row.grpc100.Number != 0 {
		row.GRPC = row.grpc100
	}
	return row
}

// ReasonOf returns the reason of an error, or ReasonInternal if the reason is not in the
// table.
func ReasonOf(problem *a2a.Error) a2a.Reason {
	if _, ok := table[problem.Reason]; !ok {
		return a2a.ReasonInternal
	}
	return problem.Reason
}

// Text returns the message of an error, or the message of the row if the error has none.
func (r Row) Text(problem *a2a.Error) string {
	if problem.Message != "" {
		return problem.Error()
	}
	return r.Message
}

// IsTransport reports whether the HTTP status or the gRPC code of an error is enough for a
// client that knows nothing of A2A. The statuses of these errors are 401, 403, 413, 429 and
// 503. Over JSON-RPC, the response to such an error has this status, and the response to
// any other error has 200.
func IsTransport(problem *a2a.Error) bool { return Lookup(problem, Profile101).Name == "" }

// Domain is the domain of every ErrorInfo.
const Domain = "a2a-protocol.org"

// SupportedVersions is the value of supportedVersions in the metadata of
// VERSION_NOT_SUPPORTED, unless the error names the versions.
const SupportedVersions = "0.1,0.2,0.3,1.0"

// Metadata returns the entry that an error adds to the metadata of its ErrorInfo. The name
// is "" if the error adds none.
func Metadata(problem *a2a.Error) (name, value string) {
	switch {
	case problem.Reason == a2a.ReasonVersionNotSupported:
		return "supportedVersions", cmp.Or(problem.Versions, SupportedVersions)
	case problem.TaskID != "":
		return "taskId", problem.TaskID
	default:
		return "", ""
	}
}

// AppendDetails appends the details of an error in 1.0: a JSON array of
// google.protobuf.Any. It contains an ErrorInfo, a BadRequest if the error names a field,
// and a RetryInfo if the error has a delay.
func AppendDetails(dst []byte, problem *a2a.Error) []byte {
	row := Lookup(problem, Profile101)
	dst = append(dst, `[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"`...)
	dst = append(dst, row.Reason...)
	dst = append(dst, `","domain":"`+Domain+`"`...)
	if name, value := Metadata(problem); name != "" {
		dst = append(dst, `,"metadata":{"`...)
		dst = append(dst, name...)
		dst = append(jsonwrite.Member(dst, `":`, value), '}')
	}
	dst = append(dst, '}')
	if problem.Field != "" {
		dst = jsonwrite.Member(dst, `,{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":`, problem.Field)
		dst = jsonwrite.Member(dst, `,"description":`, problem.Message)
		dst = append(dst, `}]}`...)
	}
	if problem.RetryAfter > 0 {
		dst = jsonwrite.Int(dst, `,{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"`, RetrySeconds(problem))
		dst = append(dst, `s"}`...)
	}
	return append(dst, ']')
}

// RetrySeconds returns the delay after which a client may retry, in seconds, rounded up; 0
// if the error has no delay.
func RetrySeconds(problem *a2a.Error) int {
	return int((problem.RetryAfter + time.Second - 1) / time.Second)
}
