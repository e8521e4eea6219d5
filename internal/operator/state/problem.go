// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import "fmt"

// Problem is a user error, such as a mistake in a spec, or another message for the user about a
// resource. It becomes a condition. A failure of the system is a Go error instead.
type Problem struct {
	// Condition is the type of the condition that reports the problem.
	Condition string
	// Reason is the condition's reason.
	Reason string
	// Message says what failed, on which field or object, and what to do.
	Message string
	// Transient is true if the problem goes away without a change by a user.
	Transient bool
	// Settled is true if the operator leaves the objects as they are.
	Settled bool
}

// NewProblem returns a Problem whose message has the format and the arguments of fmt.Sprintf.
func NewProblem(condition, reason, format string, args ...any) Problem {
	return Problem{Condition: condition, Reason: reason, Message: fmt.Sprintf(format, args...)}
}
