// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protojson

import (
	"iter"
	"maps"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

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

// allNames returns the common fields and the fields that only one version has. It contains
// each under its lowerCamelCase name and under its name in the proto.
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
