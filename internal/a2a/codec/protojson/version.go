// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protojson encodes and decodes the two forms of ProtoJSON of A2A. The ProtoJSON of
// the package lf.a2a.v1 is the JSON of 1.0. The ProtoJSON of a2a.v1 is the HTTP+JSON of 0.2
// and 0.3.
//
// A Version is a table of the differences of one version; all versions share the functions.
// The package is pure: it has no transport, envelope, clock or engine, and generates no
// ids. It writes only members of the proto, because clients refuse other members. It
// ignores unknown members that it reads.
package protojson

import (
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// Limits of a request.
const (
	maxID      = 256
	maxParts   = 1024
	maxStrings = 256
	maxPage    = 100
)

// ErrUnknownKind is returned for an object that is not a StreamResponse.
var ErrUnknownKind = errors.New("event has none of task, message, statusUpdate, artifactUpdate")

// Version is the ProtoJSON of one version. Its methods are safe for concurrent
// use.
type Version struct {
	// dialect is the dialect of push configurations.
	dialect a2a.Dialect
	// fields maps the names of the members that the version reads to fields.
	fields map[string]field
	// variantOf is the argument of jsonread.Reader.Spell: it returns the field name that a
	// name misspells.
	variantOf func(name []byte) string

	// states are the names of the enum TaskState.
	states [a2a.StateRejected + 1]string
	// messageParts and artifactParts are the texts before the parts of a message and of an
	// artifact.
	messageParts, artifactParts string
	// partsName is the name with which errors refer to the parts of a message.
	partsName string
	// emptyParts makes the version write an empty array of parts.
	emptyParts bool
	appendPart func(dst []byte, p *a2a.Part) []byte
	decodePart func(r *reader) a2a.Part
	// references makes the version write the ids of the tasks that a message refers to.
	references bool
	// final is true if a status update has the member final.
	final bool

	// presence is true if the version distinguishes a number that is 0 from an absent one.
	presence bool
	// roleRequired makes the version refuse a message of a client without a role.
	roleRequired bool
	// blocking is true if the version has the field blocking, whose default false requests an
	// immediate response. It is false if the version has the field returnImmediately instead.
	blocking bool
	// tenant is true if requests name a tenant.
	tenant bool
	// taskParams are the fields that the version reads of a request to get, cancel or
	// subscribe to a task.
	taskParams fieldSet

	// pushMember is the text before the push configuration in a message request.
	pushMember string
	// schemeBefore and schemeAfter are the texts around the authentication scheme of a push
	// configuration.
	schemeBefore, schemeAfter string
	// resourceNames is true if requests contain names of push configurations, such as
	// tasks/{task}/pushNotificationConfigs/{config}, in addition to the configuration
	// itself. A name must not contradict the ids in the configuration.
	resourceNames bool
	// setPush are the fields of a request that creates a push configuration. sendPush are
	// the fields of a push configuration in a message request.
	setPush, sendPush fieldSet
}

// newVersion sets the fields of a Version that it derives from other fields.
func newVersion(v *Version) *Version {
	v.variantOf = jsonread.NewNames(slices.Collect(maps.Keys(v.fields))...).VariantOf
	return v
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
	fieldLastChunk
	fieldMediaType
	fieldMessage
	fieldMessageID
	fieldMetadata
	fieldName
	fieldPageSize
	fieldPageToken
	fieldParent
	fieldParts
	fieldPushConfig
	fieldRaw
	fieldReferenceTaskIDs
	fieldReturnImmediately
	fieldRole
	fieldScheme
	fieldSchemes
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

// commonFields maps the lowerCamelCase names that all versions read to fields.
var commonFields = map[string]field{
	"acceptedOutputModes":    fieldAcceptedOutputModes,
	"append":                 fieldAppend,
	"artifact":               fieldArtifact,
	"artifactId":             fieldArtifactID,
	"artifactUpdate":         fieldArtifactUpdate,
	"artifacts":              fieldArtifacts,
	"authentication":         fieldAuthentication,
	"blocking":               fieldBlocking, // in 1.0, only the release candidate
	"configId":               fieldConfigID, // in 1.0, only the release candidate
	"configuration":          fieldConfiguration,
	"contextId":              fieldContextID,
	"credentials":            fieldCredentials,
	"data":                   fieldData,
	"description":            fieldDescription,
	"extensions":             fieldExtensions,
	"history":                fieldHistory,
	"historyLength":          fieldHistoryLength,
	"id":                     fieldID,
	"lastChunk":              fieldLastChunk,
	"message":                fieldMessage,
	"messageId":              fieldMessageID,
	"metadata":               fieldMetadata,
	"name":                   fieldName,
	"parts":                  fieldParts,
	"pushNotificationConfig": fieldPushConfig, // in 1.0, only the release candidate
	"referenceTaskIds":       fieldReferenceTaskIDs,
	"role":                   fieldRole,
	"schemes":                fieldSchemes, // in 1.0, only the release candidate
	"state":                  fieldState,
	"status":                 fieldStatus,
	"statusUpdate":           fieldStatusUpdate,
	"task":                   fieldTask,
	"taskId":                 fieldTaskID,
	"text":                   fieldText,
	"timestamp":              fieldTimestamp,
	"token":                  fieldToken,
	"url":                    fieldURL,
}

// allNames returns the common fields and others, the fields that only one version has. The
// map contains each field under its lowerCamelCase name and under its name in the proto.
func allNames(others map[string]field) map[string]field {
	all := maps.Clone(commonFields)
	maps.Copy(all, others)
	for name, f := range maps.Clone(all) {
		all[protoName(name)] = f
	}
	return all
}

// protoName converts lowerCamelCase to lower_snake_case.
func protoName(name string) string {
	var out strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			out.WriteByte('_')
		}
		out.WriteRune(r)
	}
	return strings.ToLower(out.String())
}

// reader reads objects by the fields of one version.
type reader struct {
	jsonread.Reader
	fields map[string]field
}

// members reads an object and yields its fields that the version defines. It refuses a
// field that occurs under two names. A null field counts as absent.
func (r *reader) members() iter.Seq[field] {
	return func(yield func(field) bool) {
		var seen fieldSet
		for name := range r.Members() {
			if f := r.known(name, &seen); f != fieldUnknown && !yield(f) {
				return
			}
		}
	}
}

// allMembers is like members, but also yields fields that are null.
func (r *reader) allMembers() iter.Seq[field] {
	return func(yield func(field) bool) {
		var seen fieldSet
		for name := range r.AllMembers() {
			if f := r.known(name, &seen); f != fieldUnknown && !yield(f) {
				return
			}
		}
	}
}

func (r *reader) known(name []byte, seen *fieldSet) field {
	f := r.fields[string(name)]
	if f == fieldUnknown {
		return fieldUnknown
	}
	if seen.has(f) {
		r.Skip()
		r.Fail("must not be set under two names")
		return fieldUnknown
	}
	*seen |= 1 << f
	return f
}
