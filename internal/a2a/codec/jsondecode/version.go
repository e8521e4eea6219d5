// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsondecode decodes the JSON of all versions: the requests of clients, and the tasks
// and events of agents and servers.
//
// A Version is a table of the differences of one version; all versions share the functions.
// The package is pure: it has no transport, envelope, clock or engine, and generates no ids
// but the ids of artifacts of 0.1, from their positions. It ignores unknown members.
package jsondecode

import (
	"iter"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Limits of a request.
const (
	maxID      = 256
	maxParts   = 1024
	maxStrings = 256
	maxPage    = 100
)

// Version is the JSON of one version. Its methods are safe for concurrent use.
type Version struct {
	// dialect is the dialect of push configurations.
	dialect a2a.Dialect
	// proto is true for ProtoJSON. It has enums by number, integers as strings, and two names
	// for each member.
	proto bool
	// fields maps the names of the members that the version reads to fields.
	fields map[string]field
	// variantOf is the argument of jsonread.Reader.Spell. It returns the correct spelling of a
	// member name that a request misspells, and "" for other names.
	variantOf func(name []byte) string
	// list is the version of requests to list tasks, nil if it is this version.
	list *Version

	decodeEvent func(v *Version, text []byte) (a2a.Event, error)
	// partsName is the name with which errors refer to the parts of a message.
	partsName string
	// omittedFinal is true if a status update without the member final is not final.
	omittedFinal bool
	// roleRequired makes the version refuse a message of a client without a role.
	roleRequired bool

	// Presence is true if the version distinguishes a number that is 0 from an absent one.
	Presence bool
	// Blocking is true if the proto of the version has the field blocking, whose default false
	// requests an immediate response.
	Blocking bool
	// ResourceNames is true if requests contain names of push configurations, such as
	// tasks/{task}/pushNotificationConfigs/{config}, in addition to the configuration
	// itself. A name must not contradict the ids in the configuration.
	ResourceNames bool

	// history is the length of the history if a request names none. nil means the whole history.
	history *int
	// taskParams, pushParams and listPushParams are the fields that the version reads from
	// requests with scalars only: to get, cancel or subscribe to a task, to get or delete one
	// push configuration, and to list the push configurations of a task.
	taskParams, pushParams, listPushParams fieldSet
	// pushIDs are the names of the members with the id of the task and of the configuration in
	// a request for a push configuration.
	pushIDs []string
	// setPush are the fields of a request that creates a push configuration. sendPush are
	// the fields of a push configuration in a message request.
	setPush, sendPush fieldSet
	// setPushTask is the name of the member with the id of the task in a request that creates
	// a push configuration. ProtoJSON does not use it.
	setPushTask string
}

// field identifies a member of an object by a number that is the same for all of the
// member's names.
type field uint8

const (
	fieldUnknown field = iota
	fieldAcceptedOutputModes
	fieldAppend
	fieldArtifact
	fieldArtifactID
	fieldArtifactUpdate
	fieldArtifacts
	fieldAuthentication
	fieldBlocking
	fieldConfig
	fieldConfigID
	fieldConfiguration
	fieldContent
	fieldContextID
	fieldCredentials
	fieldData
	fieldDescription
	fieldExtensions
	fieldFile
	fieldFileWithBytes
	fieldFileWithURI
	fieldFilename
	fieldFinal
	fieldHistory
	fieldHistoryLength
	fieldID
	fieldIncludeArtifacts
	fieldIndex
	fieldInputRequest
	fieldKind
	fieldLastChunk
	fieldMediaType
	fieldMessage
	fieldMessageID
	fieldMetadata
	fieldName
	fieldPageSize
	fieldPageToken
	fieldParent
	fieldPart
	fieldParts
	fieldPushConfig
	fieldRaw
	fieldReferenceTaskIDs
	fieldReturnImmediately
	fieldRole
	fieldScheme
	fieldSchemes
	fieldSessionID
	fieldState
	fieldStatus
	fieldStatusTimestampAfter
	fieldStatusUpdate
	fieldTask
	fieldTaskID
	fieldTenant
	fieldText
	fieldTimestamp
	fieldToken
	fieldURL
)

// fieldSet has one bit for each field; there are fewer than 64.
type fieldSet uint64

func setOf(fields ...field) (set fieldSet) {
	for _, f := range fields {
		set |= 1 << f
	}
	return set
}

func (s fieldSet) has(f field) bool { return s&(1<<f) != 0 }

// members reads an object and yields its fields that the version defines. It refuses a
// field of ProtoJSON that occurs under two names. A null field counts as absent.
func (d *decoder) members() iter.Seq[field] {
	return func(yield func(field) bool) { d.yieldFields(yield, false) }
}

// allMembers is like members, but also yields fields that are null.
func (d *decoder) allMembers() iter.Seq[field] {
	return func(yield func(field) bool) { d.yieldFields(yield, true) }
}

func (d *decoder) yieldFields(yield func(field) bool, nulls bool) {
	var seen fieldSet
	each := func(name []byte) bool {
		f := d.known(name, &seen)
		return f == fieldUnknown || yield(f)
	}
	if nulls {
		d.AllMembers()(each)
	} else {
		d.Members()(each)
	}
}

func (d *decoder) known(name []byte, seen *fieldSet) field {
	f := d.version.fields[string(name)]
	if f == fieldUnknown {
		d.foreign++
		return fieldUnknown
	}
	if d.version.proto && seen.has(f) {
		d.Skip()
		d.Fail("must not be set under two names")
		return fieldUnknown
	}
	*seen |= 1 << f
	return f
}
