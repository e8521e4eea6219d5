// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v03proto

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/spelling"
)

// field is a member under any of its names. There are fewer than 64, so that a
// word holds a set of them.
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
	fieldFinal
	fieldHistory
	fieldHistoryLength
	fieldID
	fieldLastChunk
	fieldMessage
	fieldMessageID
	fieldMetadata
	fieldMimeType
	fieldName
	fieldParent
	fieldPushConfig
	fieldReferenceTaskIDs
	fieldRole
	fieldSchemes
	fieldState
	fieldStatus
	fieldStatusUpdate
	fieldTask
	fieldTaskID
	fieldText
	fieldTimestamp
	fieldToken
	fieldURL
)

// fields are the names: lowerCamelCase, those of the proto, and those that
// earlier protos had.
var fields = map[string]field{
	"acceptedOutputModes":      fieldAcceptedOutputModes,
	"accepted_output_modes":    fieldAcceptedOutputModes,
	"append":                   fieldAppend,
	"artifact":                 fieldArtifact,
	"artifactId":               fieldArtifactID,
	"artifact_id":              fieldArtifactID,
	"artifactUpdate":           fieldArtifactUpdate,
	"artifact_update":          fieldArtifactUpdate,
	"artifacts":                fieldArtifacts,
	"authentication":           fieldAuthentication,
	"blocking":                 fieldBlocking,
	"config":                   fieldConfig,
	"configId":                 fieldConfigID,
	"config_id":                fieldConfigID,
	"configuration":            fieldConfiguration,
	"content":                  fieldContent,
	"parts":                    fieldContent, // artifacts say so, and so do messages of all others
	"contextId":                fieldContextID,
	"context_id":               fieldContextID,
	"credentials":              fieldCredentials,
	"data":                     fieldData,
	"description":              fieldDescription,
	"extensions":               fieldExtensions,
	"file":                     fieldFile,
	"fileWithBytes":            fieldFileWithBytes,
	"file_with_bytes":          fieldFileWithBytes,
	"fileWithUri":              fieldFileWithURI,
	"file_with_uri":            fieldFileWithURI,
	"final":                    fieldFinal,
	"history":                  fieldHistory,
	"historyLength":            fieldHistoryLength,
	"history_length":           fieldHistoryLength,
	"id":                       fieldID,
	"lastChunk":                fieldLastChunk,
	"last_chunk":               fieldLastChunk,
	"message":                  fieldMessage,
	"msg":                      fieldMessage, // up to 0.2.5
	"request":                  fieldMessage, // up to 0.2.6
	"update":                   fieldMessage, // up to 0.2.5
	"messageId":                fieldMessageID,
	"message_id":               fieldMessageID,
	"metadata":                 fieldMetadata,
	"mimeType":                 fieldMimeType,
	"mime_type":                fieldMimeType,
	"name":                     fieldName,
	"parent":                   fieldParent,
	"pushNotification":         fieldPushConfig,
	"push_notification":        fieldPushConfig,
	"pushNotificationConfig":   fieldPushConfig,
	"push_notification_config": fieldPushConfig,
	"referenceTaskIds":         fieldReferenceTaskIDs, // one SDK's proto has them
	"reference_task_ids":       fieldReferenceTaskIDs,
	"role":                     fieldRole,
	"schemes":                  fieldSchemes,
	"state":                    fieldState,
	"status":                   fieldStatus,
	"statusUpdate":             fieldStatusUpdate,
	"status_update":            fieldStatusUpdate,
	"task":                     fieldTask,
	"taskId":                   fieldTaskID,
	"task_id":                  fieldTaskID,
	"text":                     fieldText,
	"timestamp":                fieldTimestamp,
	"token":                    fieldToken,
	"url":                      fieldURL,
}

// decoder reads the shapes that requests and events share. A request is read
// by the letter, an agent's event with indulgence.
type decoder struct {
	*jsonread.Reader
	agent bool
}

func fromClient(text []byte) *decoder {
	d := &decoder{Reader: jsonread.New(text)}
	d.Spell(fieldNames.VariantOf)
	return d
}

func fromAgent(text []byte) *decoder { return &decoder{Reader: jsonread.New(text), agent: true} }

var fieldNames = spelling.NewNames(slices.Collect(maps.Keys(fields))...)

// members yields the members of an object that have a field, and refuses one
// that stands there under two of its names.
func (d *decoder) members() iter.Seq[field] {
	return func(yield func(field) bool) {
		var seen uint64
		for name := range d.Members() {
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

// Bounds on what a request may hold.
const (
	maxID      = 256
	maxParts   = 1024
	maxStrings = 256
)

func (d *decoder) id() string {
	id := d.String()
	if len(id) > maxID {
		d.Fail("is longer than 256 bytes")
	}
	return id
}

// role is an enum: a name or a number. Unspecified is what clients say that
// say nothing.
func (d *decoder) role() a2a.Role {
	var role a2a.Role
	var ok bool
	if d.Kind() == '0' {
		n := d.Int()
		if role, ok = spelling.RoleNumber(n); n == 0 {
			ok = true
		}
	} else {
		name := d.String()
		if role, ok = spelling.Role(name); name == "ROLE_UNSPECIFIED" {
			ok = true
		}
	}
	if !ok {
		d.Fail("must be ROLE_USER or ROLE_AGENT")
	}
	return role
}

func (d *decoder) state() a2a.State {
	var state a2a.State
	var ok bool
	if d.Kind() == '0' {
		state, ok = spelling.StateNumber(d.Int())
	} else {
		state, ok = spelling.State(d.String())
	}
	if !ok {
		d.Fail("is not a task state")
	}
	return state
}

func (d *decoder) time() time.Time {
	t, ok := spelling.Time(d.String())
	if !ok && !d.agent {
		d.Fail("must be a time of RFC 3339")
	}
	return t
}
