// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"errors"
	"time"
)

// Reason classifies an error of the protocol. Its value is the ErrorInfo reason of 1.0,
// except for ReasonParse and ReasonTooLarge, which clients of 1.0 receive as
// INVALID_REQUEST. Package errormap has the table from reasons to the codes of all
// bindings.
type Reason string

// The reasons (A2A 1.0 sections 3.3.2 and 5.4).
const (
	ReasonTaskNotFound              Reason = "TASK_NOT_FOUND"
	ReasonTaskNotCancelable         Reason = "TASK_NOT_CANCELABLE"
	ReasonPushNotSupported          Reason = "PUSH_NOTIFICATION_NOT_SUPPORTED"
	ReasonUnsupportedOperation      Reason = "UNSUPPORTED_OPERATION"
	ReasonContentTypeNotSupported   Reason = "CONTENT_TYPE_NOT_SUPPORTED"
	ReasonInvalidAgentResponse      Reason = "INVALID_AGENT_RESPONSE"
	ReasonExtendedCardNotConfigured Reason = "EXTENDED_AGENT_CARD_NOT_CONFIGURED"
	ReasonExtensionRequired         Reason = "EXTENSION_SUPPORT_REQUIRED"
	ReasonVersionNotSupported       Reason = "VERSION_NOT_SUPPORTED"
	ReasonParse                     Reason = "PARSE_ERROR"
	ReasonInvalidRequest            Reason = "INVALID_REQUEST"
	ReasonMethodNotFound            Reason = "METHOD_NOT_FOUND"
	ReasonInvalidParams             Reason = "INVALID_PARAMS"
	ReasonUnauthenticated           Reason = "UNAUTHENTICATED"
	ReasonPermissionDenied          Reason = "PERMISSION_DENIED"
	ReasonResourceExhausted         Reason = "RESOURCE_EXHAUSTED"
	ReasonUnavailable               Reason = "UNAVAILABLE"
	ReasonTooLarge                  Reason = "REQUEST_TOO_LARGE"
	ReasonInternal                  Reason = "INTERNAL_ERROR"
)

// Error is a failure that is reported to the client. It never contains the text of a Go
// error, a response body of an upstream, or a credential.
type Error struct {
	Reason  Reason
	Message string
	// Field is the path of the invalid request field, such as "message.parts[0]"; ""
	// if the error concerns no single field.
	Field string
	// TaskID is the task that the error concerns, "" for none.
	TaskID string
	// Versions are the versions that the client may name in this place, in an error with
	// ReasonVersionNotSupported; "" for all that the server supports.
	Versions string
	// RetryAfter is the delay after which the same request may succeed; 0 if unknown.
	RetryAfter time.Duration
	// Challenge is the value of WWW-Authenticate in a response over HTTP, "" for none.
	Challenge string
}

// Error returns the message and the field.
func (e *Error) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

// TaskNotFound returns the error for a task that does not exist or belongs to another
// owner. A client cannot distinguish the two.
func TaskNotFound(id string) *Error {
	return &Error{Reason: ReasonTaskNotFound, Message: "Task not found", TaskID: id}
}

// InvalidParams returns the error for an invalid field of the request.
func InvalidParams(field, message string) *Error {
	return &Error{Reason: ReasonInvalidParams, Message: message, Field: field}
}

// Busy returns an error with ReasonResourceExhausted for a request that exceeds a limit
// now. Its RetryAfter is one second.
func Busy(message string) *Error {
	return &Error{Reason: ReasonResourceExhausted, Message: message, RetryAfter: time.Second}
}

// ErrorOf returns the error to report to the client: the *Error that err wraps, if it
// wraps one. ErrDraining and ErrSlowSubscriber become ReasonUnavailable, and any other
// error becomes ReasonInternal, both without a message.
func ErrorOf(err error) *Error {
	if problem, ok := errors.AsType[*Error](err); ok {
		return problem
	}
	if errors.Is(err, ErrDraining) || errors.Is(err, ErrSlowSubscriber) {
		return &Error{Reason: ReasonUnavailable}
	}
	return &Error{Reason: ReasonInternal}
}

// LacksExtendedCard reports whether an error means that no extended card exists. It returns
// false for the error of a caller that is not allowed to read the card.
func LacksExtendedCard(err error) bool {
	problem, ok := errors.AsType[*Error](err)
	return ok && (problem.Reason == ReasonUnsupportedOperation || problem.Reason == ReasonExtendedCardNotConfigured)
}

// Errors that end a stream while its task continues. The client can subscribe again.
var (
	ErrSlowSubscriber = errors.New("subscriber fell too far behind")
	ErrDraining       = errors.New("server is shutting down")
)
