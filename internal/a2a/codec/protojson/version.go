// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protojson encodes and decodes the ProtoJSON of A2A: that of the
// package lf.a2a.v1, which is the JSON of 1.0, and that of a2a.v1, which
// HTTP+JSON uses in 0.2 and 0.3.
//
// A Version is a table of what one version does differently; the functions are
// the same for all. The package is pure: no transport, envelope, clock or engine,
// and it generates no ids. It writes no member that the proto lacks, because
// clients refuse such members. It ignores unknown members that it reads.
package protojson

import (
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Limits of a request.
const (
	maxID      = 256
	maxParts   = 1024
	maxStrings = 256
	maxPage    = 100
)

// ErrUnknownKind is returned for an object that is no StreamResponse.
var ErrUnknownKind = errors.New("event has none of task, message, statusUpdate, artifactUpdate")

// Version is the ProtoJSON of one version. Its methods are safe for concurrent
// use.
type Version struct {
	// dialect is the dialect of push configurations.
	dialect a2a.Dialect
	// fields are the members that the version reads, by name.
	fields map[string]field
	// variantOf returns the field name that another name misspells: see
	// jsonread.Reader.Spell.
	variantOf func(name []byte) string

	// states are the names of the enum TaskState.
	states [a2a.StateRejected + 1]string
	// messageParts and artifactParts are the text up to the first part.
	messageParts, artifactParts string
	// partsName is the name of the parts of a message in errors.
	partsName string
	// emptyParts makes the version write an array of parts that is empty.
	emptyParts bool
	appendPart func(dst []byte, p *a2a.Part) []byte
	decodePart func(d *decoder) a2a.Part
	// references makes the version write the ids of the tasks that a message
	// refers to.
	references bool
	// final is true if a status update has the member final.
	final bool

	// presence is true if a number that is 0 differs from one that is absent.
	presence bool
	// roleRequired refuses a message of a client without a role.
	roleRequired bool
	// blocking is true if a client asks for an immediate answer with
	// "blocking": false, which is the default, and not with returnImmediately.
	blocking bool
	// tenant is true if requests name a tenant.
	tenant bool
	// taskParams are the fields of a request that names a task and little more.
	taskParams fieldSet

	// pushMember is the text before the push configuration of a message.
	pushMember string
	// scheme is the text around the authentication scheme of a push
	// configuration.
	schemeBefore, schemeAfter string
	// resourceNames is true if push configurations are named
	// tasks/{task}/pushNotificationConfigs/{config}, beside the configuration
	// itself. Such a name must not contradict the ids in the configuration.
	resourceNames bool
	// preferScheme makes a version with several schemes choose Bearer or Basic.
	preferScheme bool
	// setPush and sendPush are the fields of a push configuration that is
	// created, and of one that comes with a message.
	setPush, sendPush fieldSet
}

// stateNames returns the names of the enum TaskState. The versions spell canceled
// differently.
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
