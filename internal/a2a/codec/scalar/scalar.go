// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scalar parses task states, roles, times and error codes, which the versions of the
// protocol spell differently. Every codec accepts all spellings, and writes the spelling of
// its version.
package scalar

import (
	"slices"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

var states = map[string]a2a.State{
	"unknown":        a2a.StateUnknown,
	"unspecified":    a2a.StateUnknown,
	"submitted":      a2a.StateSubmitted,
	"started":        a2a.StateSubmitted,
	"working":        a2a.StateWorking,
	"completed":      a2a.StateCompleted,
	"failed":         a2a.StateFailed,
	"canceled":       a2a.StateCanceled,
	"cancelled":      a2a.StateCanceled,
	"input-required": a2a.StateInputRequired,
	"input_required": a2a.StateInputRequired,
	"rejected":       a2a.StateRejected,
	"auth-required":  a2a.StateAuthRequired,
	"auth_required":  a2a.StateAuthRequired,
}

// numbers maps the numbers of the enum TaskState of 0.3 and 1.0 to states.
var numbers = [...]a2a.State{
	a2a.StateUnknown, a2a.StateSubmitted, a2a.StateWorking, a2a.StateCompleted, a2a.StateFailed,
	a2a.StateCanceled, a2a.StateInputRequired, a2a.StateRejected, a2a.StateAuthRequired,
}

// ParseState parses the name of a state, such as "input-required", "input_required" or
// "TASK_STATE_INPUT_REQUIRED". It accepts canceled with one or two l.
func ParseState(text string) (a2a.State, bool) {
	if name, ok := strings.CutPrefix(text, "TASK_STATE_"); ok {
		text = strings.ToLower(name)
	}
	state, ok := states[text]
	return state, ok
}

// StateOf returns the state with a number of the enum TaskState.
func StateOf(n int) (a2a.State, bool) {
	if n < 0 || n >= len(numbers) {
		return a2a.StateUnknown, false
	}
	return numbers[n], true
}

// StateNumber returns the number of a state in the enum TaskState, 0 for an unknown state.
func StateNumber(s a2a.State) int { return max(slices.Index(numbers[:], s), 0) }

// ParseRole reads the name of a role: "user", "agent", "assistant", "ROLE_USER" or
// "ROLE_AGENT".
func ParseRole(text string) (a2a.Role, bool) {
	switch text {
	case "user", "ROLE_USER":
		return a2a.RoleUser, true
	case "agent", "assistant", "ROLE_AGENT":
		return a2a.RoleAgent, true
	default:
		return a2a.RoleUnspecified, false
	}
}

// RoleOf returns the role with a number of the enum Role.
func RoleOf(n int) (a2a.Role, bool) {
	switch n {
	case 1:
		return a2a.RoleUser, true
	case 2:
		return a2a.RoleAgent, true
	default:
		return a2a.RoleUnspecified, false
	}
}

// ParseTime parses a time of RFC 3339 with any offset. A time without an offset is in UTC.
// The result is in UTC, in whole milliseconds, and in the years 1 to 9999.
func ParseTime(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t, err = time.Parse("2006-01-02T15:04:05.999999999", text)
	}
	t = t.UTC().Truncate(time.Millisecond)
	// The conversion to UTC can move a time out of the years of RFC 3339.
	if err != nil || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, false
	}
	return t, true
}

// ReasonsOfCodes has the reasons of the JSON-RPC error codes of all versions. The packages
// that call agents read it. Nothing may change it.
var ReasonsOfCodes = map[int]a2a.Reason{
	-32001: a2a.ReasonTaskNotFound,
	-32002: a2a.ReasonTaskNotCancelable,
	-32003: a2a.ReasonPushNotSupported,
	-32004: a2a.ReasonUnsupportedOperation,
	-32005: a2a.ReasonContentTypeNotSupported,
	-32006: a2a.ReasonInvalidAgentResponse,
	-32007: a2a.ReasonExtendedCardNotConfigured,
	-32008: a2a.ReasonExtensionRequired,
	-32009: a2a.ReasonVersionNotSupported,
	-32700: a2a.ReasonParse,
	-32600: a2a.ReasonInvalidRequest,
	-32601: a2a.ReasonMethodNotFound,
	-32602: a2a.ReasonInvalidParams,
	-32603: a2a.ReasonInternal,
	// These codes are from an SDK; no version of A2A defines them.
	-31401: a2a.ReasonUnauthenticated,
	-31403: a2a.ReasonPermissionDenied,
}

// PreferredScheme returns the HTTP authentication scheme of a push configuration that has several
// schemes: the first one that is Bearer or Basic, which pushes support, or else the first one.
// The names of schemes are case-insensitive (RFC 9110, section 11.1). Without a scheme, it
// returns "".
func PreferredScheme(schemes []string) string {
	for _, s := range schemes {
		if strings.EqualFold(s, "Bearer") || strings.EqualFold(s, "Basic") {
			return s
		}
	}
	if len(schemes) == 0 {
		return ""
	}
	return schemes[0]
}
