// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package failure defines the errors of the CLI: a code, a message and a hint, and the exit
// status for each code. The a2a-cli specification 0.2 defines the codes (appendix D) and the
// statuses (section 11.6).
package failure

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Code identifies a failure: a constant below for a failure of the CLI itself, or the name of an
// A2A error for a failure that the agent reported.
type Code string

// The failures of the CLI itself.
const (
	Usage              Code = "A2ACLI_ERR_USAGE"
	CardNotFound       Code = "A2ACLI_ERR_CARD_NOT_FOUND"
	CardInvalid        Code = "A2ACLI_ERR_CARD_INVALID"
	Unreachable        Code = "A2ACLI_ERR_UNREACHABLE"
	CredentialsMissing Code = "A2ACLI_ERR_CREDENTIALS_MISSING"
	AuthFailed         Code = "A2ACLI_ERR_AUTH_FAILED"
	Timeout            Code = "A2ACLI_ERR_TIMEOUT"
	Internal           Code = "A2ACLI_ERR_INTERNAL"
	// Interrupted is none of the specification, which has no code for a signal.
	Interrupted Code = "A2ACLI_ERR_INTERRUPTED"
)

// Exit statuses.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitUnreachable = 3
	exitAuth        = 4
	exitTimeout     = 5
	exitInterrupted = 130 // as shells report the end by SIGINT
)

// exits are the exit statuses by code. All other codes have exitFailure.
var exits = map[Code]int{
	Usage: exitUsage, CardNotFound: exitUnreachable, Unreachable: exitUnreachable,
	CredentialsMissing: exitAuth, AuthFailed: exitAuth, Timeout: exitTimeout,
	Interrupted: exitInterrupted,
}

// Error is a failure for the user.
type Error struct {
	Code    Code
	Message string
	// Hint is a sentence about what the user can do, "" for none.
	Hint string
	// MissingRight is true if RBAC denies the user a request to the API server. Hint then names the rule that grants it.
	MissingRight bool
	// A2ACode is the JSON-RPC code or the HTTP status of the agent's error, 0 for none.
	A2ACode int
	// Cause is the wrapped error, nil for none. Message contains its text.
	Cause error
}

// New returns an error with a formatted message.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns an error whose message ends with the text of a cause.
func Wrap(code Code, cause error, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...) + ": " + cause.Error(), Cause: cause}
}

// WithHint sets the hint, and returns the error.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Exit returns the exit status.
func (e *Error) Exit() int {
	if status, ok := exits[e.Code]; ok {
		return status
	}
	return exitFailure
}

// MarshalJSON returns the error envelope of the specification (appendix B).
func (e *Error) MarshalJSON() ([]byte, error) {
	type envelope struct {
		Code    Code    `json:"code"`
		Message string  `json:"message"`
		Hint    *string `json:"hint"`
		A2ACode *int    `json:"a2aCode"`
	}
	out := envelope{Code: e.Code, Message: e.Message}
	if e.Hint != "" {
		out.Hint = &e.Hint
	}
	if e.A2ACode != 0 {
		out.A2ACode = &e.A2ACode
	}
	return json.Marshal(map[string]envelope{"error": out})
}

// Of returns the *Error in the chain of err. For any other error, it returns an *Error with the code Internal.
func Of(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: Internal, Message: err.Error(), Cause: err}
}

// underivedCodes are the codes of the reasons for which OfReason cannot derive the code from the text of the reason.
var underivedCodes = map[a2a.Reason]Code{
	a2a.ReasonParse:           "JSONParseError",
	a2a.ReasonInternal:        "InternalError",
	a2a.ReasonUnauthenticated: AuthFailed, a2a.ReasonPermissionDenied: AuthFailed,
	a2a.ReasonUnavailable: Internal, a2a.ReasonResourceExhausted: Internal, a2a.ReasonTooLarge: Internal,
}

// OfReason returns the code for an error of an agent: the name of the error in A2A 1.0, section 3.3.2, such as
// TaskNotFoundError. For a reason without a name there, it returns AuthFailed or Internal.
func OfReason(reason a2a.Reason) Code {
	if name, ok := underivedCodes[reason]; ok {
		return name
	}
	var name strings.Builder
	for word := range strings.SplitSeq(string(reason), "_") {
		if word != "" {
			name.WriteString(word[:1] + strings.ToLower(word[1:]))
		}
	}
	return Code(name.String() + "Error")
}
