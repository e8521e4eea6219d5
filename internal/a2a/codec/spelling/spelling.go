// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package spelling reads the words that the versions of the protocol spell
// differently: states, roles and times. Every codec accepts every spelling;
// which one it writes is its own business.
package spelling

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

// numbers are those of the enum TaskState, which 0.3 and 1.0 share.
var numbers = [...]a2a.State{
	a2a.StateUnknown, a2a.StateSubmitted, a2a.StateWorking, a2a.StateCompleted, a2a.StateFailed,
	a2a.StateCanceled, a2a.StateInputRequired, a2a.StateRejected, a2a.StateAuthRequired,
}

// State reads a state: "input-required", "input_required",
// "TASK_STATE_INPUT_REQUIRED", with one l or two in canceled.
func State(text string) (a2a.State, bool) {
	if name, ok := strings.CutPrefix(text, "TASK_STATE_"); ok {
		text = strings.ToLower(name)
	}
	state, ok := states[text]
	return state, ok
}

// StateNumber reads a state that is the number of the enum.
func StateNumber(n int) (a2a.State, bool) {
	if n < 0 || n >= len(numbers) {
		return a2a.StateUnknown, false
	}
	return numbers[n], true
}

// NumberOf returns the number of a state in the enum.
func NumberOf(s a2a.State) int { return max(slices.Index(numbers[:], s), 0) }

// Role reads a role: "user", "agent", "assistant", "ROLE_USER", "ROLE_AGENT".
func Role(text string) (a2a.Role, bool) {
	switch text {
	case "user", "ROLE_USER":
		return a2a.RoleUser, true
	case "agent", "assistant", "ROLE_AGENT":
		return a2a.RoleAgent, true
	default:
		return a2a.RoleUnspecified, false
	}
}

// RoleNumber reads a role that is the number of the enum Role.
func RoleNumber(n int) (a2a.Role, bool) {
	switch n {
	case 1:
		return a2a.RoleUser, true
	case 2:
		return a2a.RoleAgent, true
	default:
		return a2a.RoleUnspecified, false
	}
}

// TimeLayout is how every version writes a time, in UTC.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// Time reads RFC 3339 with any offset, and takes a time without one for UTC.
// The result is in UTC and whole milliseconds, as it will be written.
func Time(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t, err = time.Parse("2006-01-02T15:04:05.999999999", text)
	}
	t = t.UTC().Truncate(time.Millisecond)
	// An offset can move a time out of the years that RFC 3339 can write.
	if err != nil || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, false
	}
	return t, true
}
