// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"errors"
	"time"
)

// Reason classifies an error of the protocol. Each binding has one table from
// reasons to its own codes; the text is the ErrorInfo reason of 1.0.
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

// Error is a failure that its caller is told about. It never holds the text of
// a Go error, of an upstream's body or of a credential.
type Error struct {
	Reason  Reason
	Message string
	// Field is the path of the offending request field, such as
	// "message.parts[0]"; "" when none is to blame.
	Field string
	// TaskID is the task in question, "" when there is none.
	TaskID string
	// RetryAfter is when the same request may succeed; 0 says nothing.
	RetryAfter time.Duration
}

// Error returns the message and the field.
func (e *Error) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

// TaskNotFound is the answer for tasks that are missing and for those of
// somebody else; the two cannot be told apart.
func TaskNotFound(id string) *Error {
	return &Error{Reason: ReasonTaskNotFound, Message: "Task not found", TaskID: id}
}

// InvalidParams blames one field of the request.
func InvalidParams(field, message string) *Error {
	return &Error{Reason: ReasonInvalidParams, Message: message, Field: field}
}

// Busy is the answer to a request for which there is no room now.
func Busy(message string) *Error {
	return &Error{Reason: ReasonResourceExhausted, Message: message, RetryAfter: time.Second}
}

// ErrorOf returns the error that a client is told about. What is not meant for
// clients becomes an internal error without its text.
func ErrorOf(err error) *Error {
	if problem, ok := errors.AsType[*Error](err); ok {
		return problem
	}
	if errors.Is(err, ErrDraining) || errors.Is(err, ErrSlowSubscriber) {
		return &Error{Reason: ReasonUnavailable}
	}
	return &Error{Reason: ReasonInternal}
}

// LacksExtendedCard reports whether an error says that there is no extended
// card, and not that the caller may not have it.
func LacksExtendedCard(err error) bool {
	problem, ok := errors.AsType[*Error](err)
	return ok && (problem.Reason == ReasonUnsupportedOperation || problem.Reason == ReasonExtendedCardNotConfigured)
}

// Ends of a stream that are no failures of the task. The client may subscribe again.
var (
	ErrSlowSubscriber = errors.New("subscriber fell too far behind")
	ErrDraining       = errors.New("server is shutting down")
)
