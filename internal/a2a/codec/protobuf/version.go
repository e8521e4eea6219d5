// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protobuf encodes and decodes the binary form of A2A for servers: the
// messages of the package lf.a2a.v1 in 1.0, and of a2a.v1 in 0.2 and 0.3, with
// the fields that later SDKs of 0.3 added.
//
// A Version is a table of the differences of one version; all versions share the functions.
// The package is pure: it has no transport, clock or engine, and generates no ids. It has
// no generated code; its tests compare its encoding with the encoding of generated code. It
// writes fields in the order of their numbers. It encodes metadata and data as
// google.protobuf.Struct, which reduces the precision of numbers: see pbwire.AppendObject.
package protobuf

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
)

// Limits of a request.
const (
	maxParts   = 1024
	maxStrings = 256
	maxID      = 256
)

// Version is the binary form of one version. Its methods are safe for concurrent
// use.
type Version struct {
	// dialect is the dialect of push configurations. It is a dialect of JSON, because no
	// version sends push notifications by gRPC.
	dialect a2a.Dialect
	// roleRequired makes the version refuse a message without a role.
	roleRequired bool
	// presence is true if the version distinguishes a number that is 0 from an absent one.
	presence bool
	// blocking is true if the version has the field blocking, whose default false requests an
	// immediate response. It is false if the version has the field returnImmediately instead.
	blocking bool
	// resourceNames is true if requests contain the names tasks/{task} and
	// tasks/{task}/pushNotificationConfigs/{config} in place of ids.
	resourceNames bool

	// These are the numbers of the fields that the version writes; 0 means that the version
	// lacks the field.
	statusUpdate struct{ final, metadata pbwire.Number }
	artifact     struct{ name, description, parts, metadata, extensions pbwire.Number }
	push         struct{ id, taskID, url, token, authentication pbwire.Number }
	appendPart   func(dst []byte, p *a2a.Part) []byte
	// references makes the version write the ids of the tasks that a message refers to.
	references bool

	// These are the fields of the messages that the version reads.
	message, send, configuration, pushConfig, authentication  pbwire.Message
	get, cancel, subscribe, list, pushRequest, listPush, card request
	decodePart                                                func(r *pbwire.Reader) a2a.Part
	// parts is the name with which errors refer to the parts of a message.
	parts string
}

// request describes a request message that has only scalar fields.
type request struct {
	fields pbwire.Message
	// task and config are the names of the required fields with the id of a task and of a
	// push configuration, "" if no such field is required.
	task, config string
}

// The ids of the fields whose numbers differ between the versions.
const (
	fieldTenant = iota + 1
	fieldMessage
	fieldConfiguration
	fieldMetadata
	fieldTask
	fieldTaskName
	fieldConfigName
	fieldParentName
	fieldConfigID
	fieldHistoryLength
	fieldPageSize
	fieldPageToken
	fieldContextID
	fieldStatus
	fieldListSize
	fieldSince
	fieldIncludeArtifacts
	fieldURL
	fieldToken
	fieldAuthentication
	fieldScheme
	fieldSchemes
	fieldCredentials
)

var (
	tenant           = pbwire.Bytes("tenant").As(fieldTenant)
	message          = pbwire.Bytes("message").As(fieldMessage)
	configuration    = pbwire.Bytes("configuration").As(fieldConfiguration)
	metadata         = pbwire.Bytes("metadata").As(fieldMetadata)
	task             = pbwire.Bytes("id").As(fieldTask)
	taskID           = pbwire.Bytes("taskId").As(fieldTask)
	taskName         = pbwire.Bytes("name").As(fieldTaskName)
	configName       = pbwire.Bytes("name").As(fieldConfigName)
	parentName       = pbwire.Bytes("parent").As(fieldParentName)
	configID         = pbwire.Bytes("id").As(fieldConfigID)
	historyLength    = pbwire.Varint("historyLength").As(fieldHistoryLength)
	pageSize         = pbwire.Varint("pageSize").As(fieldPageSize)
	pageToken        = pbwire.Bytes("pageToken").As(fieldPageToken)
	contextID        = pbwire.Bytes("contextId").As(fieldContextID)
	status           = pbwire.Varint("status").As(fieldStatus)
	listSize         = pbwire.Varint("pageSize").As(fieldListSize)
	since            = pbwire.Bytes("statusTimestampAfter").As(fieldSince)
	includeArtifacts = pbwire.Varint("includeArtifacts").As(fieldIncludeArtifacts)
	url              = pbwire.Bytes("url").As(fieldURL)
	token            = pbwire.Bytes("token").As(fieldToken)
	authentication   = pbwire.Bytes("authentication").As(fieldAuthentication)
	scheme           = pbwire.Bytes("scheme").As(fieldScheme)
	schemes          = pbwire.Repeated("schemes").As(fieldSchemes)
	credentials      = pbwire.Bytes("credentials").As(fieldCredentials)
)

// messageFields returns the fields of a Message. The name of the field with the parts
// differs between the versions.
func messageFields(parts string) pbwire.Message {
	return pbwire.Message{
		1: pbwire.Bytes("messageId"),
		2: pbwire.Bytes("contextId"),
		3: pbwire.Bytes("taskId"),
		4: pbwire.Varint("role"),
		5: pbwire.Repeated(parts),
		6: pbwire.Bytes("metadata"),
		7: pbwire.Repeated("extensions"),
		8: pbwire.Repeated("referenceTaskIds"), // in 0.3, only the Go SDK has this field; no release has it
	}
}
