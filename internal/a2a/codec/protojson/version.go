// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protojson encodes the two forms of ProtoJSON of A2A. The ProtoJSON of the package
// lf.a2a.v1 is the JSON of 1.0. The ProtoJSON of a2a.v1 is the HTTP+JSON of 0.2 and 0.3.
// Package jsondecode decodes both.
//
// A Version is a table of the differences of one version; all versions share the functions.
// The package is pure: it has no transport, envelope, clock or engine, and generates no
// ids. It writes only members of the proto, because clients refuse other members.
package protojson

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsondecode"
)

// Version is the ProtoJSON of one version. Its methods are safe for concurrent
// use.
type Version struct {
	// Version decodes the ProtoJSON of the version.
	*jsondecode.Version

	// states are the names of the enum TaskState.
	states [a2a.StateRejected + 1]string
	// messageParts and artifactParts are the texts before the parts of a message and of an
	// artifact.
	messageParts, artifactParts string
	// emptyParts makes the version write an empty array of parts.
	emptyParts bool
	appendPart func(dst []byte, p *a2a.Part) []byte
	// references makes the version write the ids of the tasks that a message refers to.
	references bool
	// final is true if a status update has the member final.
	final bool
	// tenant is true if requests name a tenant.
	tenant bool

	// pushMember is the text before the push configuration in a message request.
	pushMember string
	// schemeBefore and schemeAfter are the texts around the authentication scheme of a push
	// configuration.
	schemeBefore, schemeAfter string
}

// stateNames returns the names of the enum TaskState. canceled is the name of the canceled
// state, which the versions spell differently.
func stateNames(canceled string) [a2a.StateRejected + 1]string {
	return [...]string{
		a2a.StateUnknown:       "TASK_STATE_UNSPECIFIED",
		a2a.StateSubmitted:     "TASK_STATE_SUBMITTED",
		a2a.StateWorking:       "TASK_STATE_WORKING",
		a2a.StateInputRequired: "TASK_STATE_INPUT_REQUIRED",
		a2a.StateAuthRequired:  "TASK_STATE_AUTH_REQUIRED",
		a2a.StateCompleted:     "TASK_STATE_COMPLETED",
		a2a.StateFailed:        "TASK_STATE_FAILED",
		a2a.StateCanceled:      canceled,
		a2a.StateRejected:      "TASK_STATE_REJECTED",
	}
}
