// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsondecode

import (
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/typedpart"
)

// V03 is the JSON of 0.2 and 0.3, whose objects have a member kind.
var V03 = &Version{
	dialect: a2a.DialectV03,
	fields: map[string]field{
		"acceptedOutputModes":      fieldAcceptedOutputModes,
		"append":                   fieldAppend,
		"artifact":                 fieldArtifact,
		"artifactId":               fieldArtifactID,
		"artifacts":                fieldArtifacts,
		"authentication":           fieldAuthentication,
		"blocking":                 fieldBlocking,
		"configuration":            fieldConfiguration,
		"content":                  fieldContent,
		"contextId":                fieldContextID,
		"credentials":              fieldCredentials,
		"description":              fieldDescription,
		"extensions":               fieldExtensions,
		"final":                    fieldFinal,
		"history":                  fieldHistory,
		"historyLength":            fieldHistoryLength,
		"id":                       fieldID,
		inputRequest:               fieldInputRequest,
		"kind":                     fieldKind,
		"lastChunk":                fieldLastChunk,
		"message":                  fieldMessage,
		"messageId":                fieldMessageID,
		"metadata":                 fieldMetadata,
		"name":                     fieldName,
		"part":                     fieldPart,
		"parts":                    fieldParts,
		"pushNotificationConfig":   fieldPushConfig,
		"pushNotificationConfigId": fieldConfigID,
		"referenceTaskIds":         fieldReferenceTaskIDs,
		"role":                     fieldRole,
		"schemes":                  fieldSchemes,
		"state":                    fieldState,
		"status":                   fieldStatus,
		"taskId":                   fieldTaskID,
		"timestamp":                fieldTimestamp,
		"token":                    fieldToken,
		"url":                      fieldURL,
	},
	variantOf:      variantOfV03,
	list:           listV03,
	decodeEvent:    decodeKindEvent,
	partsName:      "parts",
	roleRequired:   true,
	Presence:       true,
	taskParams:     taskParams,
	pushParams:     setOf(fieldID, fieldConfigID),
	listPushParams: taskParams,
	pushIDs:        []string{"id", "pushNotificationConfigId"},
	sendPush:       setOf(fieldID, fieldURL, fieldToken, fieldAuthentication),
	setPushTask:    "taskId",
}

// taskParams are the fields of TaskQueryParams and TaskIdParams.
var taskParams = setOf(fieldID, fieldHistoryLength, fieldMetadata)

// listV03 reads the params of ListTasks, a method of 1.0, with the states of 0.3. The SDK for
// Go is the only client that calls the method in this version. It writes all names in
// snake_case.
var listV03 = &Version{
	fields: map[string]field{
		"contextId": fieldContextID, "context_id": fieldContextID,
		"status":   fieldStatus,
		"pageSize": fieldPageSize, "page_size": fieldPageSize,
		"pageToken": fieldPageToken, "page_token": fieldPageToken,
		"historyLength": fieldHistoryLength, "history_length": fieldHistoryLength,
		"statusTimestampAfter": fieldStatusTimestampAfter, "last_updated_after": fieldStatusTimestampAfter,
		"includeArtifacts": fieldIncludeArtifacts, "include_artifacts": fieldIncludeArtifacts,
	},
	variantOf: variantOfV03,
	Presence:  true,
}

// variantOfV03 returns the correct spelling of a member name that a request of 0.2 or 0.3
// misspells, and "" for other names.
var variantOfV03 = jsonread.NewNames(append([]string{
	"acceptedOutputModes", "authentication", "blocking", "configuration", "contextId", "credentials", "extensions",
	"historyLength", "id", "includeArtifacts", inputRequest, "message", "messageId", "pageSize", "pageToken", "parts",
	"pushNotificationConfig", "pushNotificationConfigId", "referenceTaskIds", "role", "schemes", "status",
	"statusTimestampAfter", "taskId", "token", "url",
}, typedpart.Names...)...).VariantOf

// ErrUnknownKind is returned for an object whose kind 0.2 and 0.3 do not have.
var ErrUnknownKind = errors.New("kind is not one of task, message, status-update, artifact-update")

// decodeKindEvent reads an object with a kind. It accepts a message whose content is a string.
func decodeKindEvent(v *Version, text []byte) (a2a.Event, error) {
	kind, err := kindOf(text)
	if err != nil {
		return a2a.Event{}, err
	}
	return v.DecodeKind(kind, text)
}

// DecodeKind reads an event of the given kind of 0.2 and 0.3. The text may omit the kind.
func (v *Version) DecodeKind(kind string, text []byte) (a2a.Event, error) {
	var e a2a.Event
	d := v.fromAgent(text)
	switch kind {
	case "task":
		e.Task = d.task()
	case "message":
		e.Message = d.message()
	case "status-update":
		e.Status = d.statusUpdate()
	case "artifact-update":
		e.Artifact = d.artifactUpdate()
	default:
		return a2a.Event{}, ErrUnknownKind
	}
	if err := d.End(); err != nil {
		return a2a.Event{}, err
	}
	return e, nil
}

func kindOf(text []byte) (string, error) {
	r := jsonread.New(text)
	defer r.Close()
	kind := ""
	for name := range r.Members() {
		if string(name) == "kind" {
			kind = r.String()
			break
		}
	}
	return kind, r.Err()
}

// inputRequest is the member with which one project that implements 0.3 describes the input
// that an agent waits for. In messages of that project, it is a member of the message. In
// the domain and in the other versions, it is a member of the message's metadata.
const inputRequest = "inputRequest"

// withInputRequest returns the metadata with inputRequest as its first member. The value is
// wanted or, if that is nil, the value that the metadata already has. Without either, the
// metadata stays unchanged.
func withInputRequest(metadata, wanted a2a.Object) a2a.Object {
	if wanted == nil && (len(metadata) == 0 || !jsonread.MayHave(metadata, inputRequest)) {
		return metadata
	}
	value, rest := jsonread.Cut(metadata, inputRequest)
	if wanted != nil {
		value = a2a.Value(wanted)
	}
	if value == nil {
		return metadata
	}
	return jsonread.With(rest, inputRequest, value)
}

// DecodeFollow reads the params with which one project that implements 0.3 calls tasks/get
// to request a stream. Such params have taskId and no id. For all other params, isFollow is
// false.
func DecodeFollow(params []byte) (r *a2a.SubscribeRequest, isFollow bool) {
	d := V03.fromClient(params)
	r = &a2a.SubscribeRequest{}
	for f := range d.members() {
		switch f {
		case fieldID:
			return nil, false
		case fieldTaskID:
			r.TaskID = d.id()
		case fieldHistoryLength:
			r.HistoryLength = d.historyLength()
		}
	}
	return r, r.TaskID != "" && d.End() == nil
}
