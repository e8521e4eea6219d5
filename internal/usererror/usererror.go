// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package usererror holds what is to be told to a user about a resource.
//
// A mistake of a user is a Problem, a value that becomes a condition; a
// failure of the system is an error. The package has no behaviour.
package usererror

// Problem is one thing to be told about a resource.
type Problem struct {
	// Condition is the type of the condition on which it stands.
	Condition string
	// Reason is the condition's reason.
	Reason string
	// Message names the field and the cure.
	Message string
}
