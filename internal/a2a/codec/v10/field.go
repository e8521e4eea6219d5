// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v10

import (
	"iter"
	"maps"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/spelling"
)

// field is a member under either of its names, lowerCamelCase or that of the
// proto. There are fewer than 64, so that a word holds a set of them.
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
	fieldConfigID
	fieldConfiguration
	fieldContextID
	fieldCredentials
	fieldData
	fieldDescription
	fieldExtensions
	fieldFilename
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

var fields = map[string]field{
	"acceptedOutputModes":           fieldAcceptedOutputModes,
	"accepted_output_modes":         fieldAcceptedOutputModes,
	"append":                        fieldAppend,
	"artifact":                      fieldArtifact,
	"artifactId":                    fieldArtifactID,
	"artifact_id":                   fieldArtifactID,
	"artifactUpdate":                fieldArtifactUpdate,
	"artifact_update":               fieldArtifactUpdate,
	"artifacts":                     fieldArtifacts,
	"authentication":                fieldAuthentication,
	"blocking":                      fieldBlocking, // the release candidate
	"configId":                      fieldConfigID, // the release candidate
	"config_id":                     fieldConfigID,
	"configuration":                 fieldConfiguration,
	"contextId":                     fieldContextID,
	"context_id":                    fieldContextID,
	"credentials":                   fieldCredentials,
	"data":                          fieldData,
	"description":                   fieldDescription,
	"extensions":                    fieldExtensions,
	"filename":                      fieldFilename,
	"history":                       fieldHistory,
	"historyLength":                 fieldHistoryLength,
	"history_length":                fieldHistoryLength,
	"id":                            fieldID,
	"includeArtifacts":              fieldIncludeArtifacts,
	"include_artifacts":             fieldIncludeArtifacts,
	"lastChunk":                     fieldLastChunk,
	"last_chunk":                    fieldLastChunk,
	"mediaType":                     fieldMediaType,
	"media_type":                    fieldMediaType,
	"message":                       fieldMessage,
	"messageId":                     fieldMessageID,
	"message_id":                    fieldMessageID,
	"metadata":                      fieldMetadata,
	"name":                          fieldName,
	"pageSize":                      fieldPageSize,
	"page_size":                     fieldPageSize,
	"pageToken":                     fieldPageToken,
	"page_token":                    fieldPageToken,
	"parts":                         fieldParts,
	"taskPushNotificationConfig":    fieldPushConfig,
	"task_push_notification_config": fieldPushConfig,
	"pushNotificationConfig":        fieldPushConfig, // the release candidate
	"push_notification_config":      fieldPushConfig,
	"config":                        fieldPushConfig,
	"raw":                           fieldRaw,
	"referenceTaskIds":              fieldReferenceTaskIDs,
	"reference_task_ids":            fieldReferenceTaskIDs,
	"returnImmediately":             fieldReturnImmediately,
	"return_immediately":            fieldReturnImmediately,
	"role":                          fieldRole,
	"scheme":                        fieldScheme,
	"schemes":                       fieldSchemes, // the release candidate
	"state":                         fieldState,
	"status":                        fieldStatus,
	"statusTimestampAfter":          fieldStatusTimestampAfter,
	"status_timestamp_after":        fieldStatusTimestampAfter,
	"statusUpdate":                  fieldStatusUpdate,
	"status_update":                 fieldStatusUpdate,
	"task":                          fieldTask,
	"taskId":                        fieldTaskID,
	"task_id":                       fieldTaskID,
	"tenant":                        fieldTenant,
	"text":                          fieldText,
	"timestamp":                     fieldTimestamp,
	"token":                         fieldToken,
	"url":                           fieldURL,
}

// decoder reads the shapes that requests and events share. A request is read
// by the letter, an agent's event with indulgence.
type decoder struct {
	*jsonread.Reader
	agent bool
}

// fromClient reads the params of a request.
func fromClient(params []byte) *decoder {
	d := &decoder{Reader: jsonread.New(params)}
	d.Spell(fieldNames.VariantOf)
	return d
}

var fieldNames = spelling.NewNames(slices.Collect(maps.Keys(fields))...)

// members yields the members of an object that have a field, and refuses one
// that stands there under both of its names.
func (d *decoder) members() iter.Seq[field] { return d.fieldsOf(d.Members()) }

// allMembers is members with those that are null.
func (d *decoder) allMembers() iter.Seq[field] { return d.fieldsOf(d.AllMembers()) }

func (d *decoder) fieldsOf(names iter.Seq[[]byte]) iter.Seq[field] {
	return func(yield func(field) bool) {
		var seen uint64
		for name := range names {
			f := fields[string(name)]
			if f == fieldUnknown {
				continue
			}
			if seen&(1<<f) != 0 {
				d.Skip()
				d.Fail("stands there twice, under two names")
				return
			}
			seen |= 1 << f
			if !yield(f) {
				return
			}
		}
	}
}

const maxID = 256

func (d *decoder) id() string {
	id := d.String()
	if len(id) > maxID {
		d.Fail("is longer than 256 bytes")
	}
	return id
}

// required blames a member that is missing from a request. What an agent
// leaves out is filled in.
func (d *decoder) required(name string, there bool) {
	if !there && !d.agent {
		d.FailAt(name, "is required")
	}
}

// role is an enum: a name or a number.
func (d *decoder) role() a2a.Role {
	role, ok := d.enumRole()
	if !ok {
		d.Fail("must be ROLE_USER or ROLE_AGENT")
	}
	return role
}
