// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion makes Agents from a Deployment with its Services, and from the card of a
// remote agent. Its subpackage kagent makes Agents from manifests of kagent.
//
// A conversion reports each field of its source that has no equivalent in the Agent, with the
// reason and an advice. The package is pure: it reads and writes nothing outside of its
// arguments. It returns errors of package failure.
package conversion

import (
	"fmt"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// Action is the kind of a Note: what a conversion did with a field.
type Action string

const (
	// LeftOut marks a field that the Agent does not have.
	LeftOut Action = "LeftOut"
	// Changed marks a field that has another value in the Agent.
	Changed Action = "Changed"
	// Check marks a field that has another effect in the Agent, or whose value the conversion guessed.
	Check Action = "Check"
)

// Note is the entry of a report for one field.
type Note struct {
	// Object is the kind and the name of the source, such as "Deployment team/echo".
	Object string `json:"object"`
	// Field is the path of the field. The note covers all fields below it.
	Field  string `json:"field"`
	Action Action `json:"action"`
	// Because is the reason for the action, and Do an advice to the user.
	Because string `json:"because"`
	Do      string `json:"do"`
}

// String returns the note as one line.
func (n Note) String() string {
	verb := map[Action]string{LeftOut: "left out because", Changed: "changed because", Check: "check this:"}[n.Action]
	return fmt.Sprintf("%s: %s: %s %s; %s", n.Object, n.Field, verb, n.Because, n.Do)
}

// NothingToDo is Note.Do for a field whose loss has no effect.
const NothingToDo = "no action is needed"

// Result is the outcome of a conversion.
type Result struct {
	Agents []*a2av1alpha1.Agent
	Report []Note
}
