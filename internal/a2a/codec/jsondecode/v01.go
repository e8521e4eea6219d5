// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsondecode

import (
	"errors"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/typedpart"
)

// V01 is the JSON of 0.1, whose parts have a member type. A push configuration has no id,
// because a task has one configuration.
var V01 = &Version{
	dialect: a2a.DialectV01,
	fields: map[string]field{
		"acceptedOutputModes":    fieldAcceptedOutputModes,
		"append":                 fieldAppend,
		"artifact":               fieldArtifact,
		"artifacts":              fieldArtifacts,
		"authentication":         fieldAuthentication,
		"credentials":            fieldCredentials,
		"description":            fieldDescription,
		"final":                  fieldFinal,
		"history":                fieldHistory,
		"historyLength":          fieldHistoryLength,
		"id":                     fieldID,
		"index":                  fieldIndex,
		"lastChunk":              fieldLastChunk,
		"message":                fieldMessage,
		"metadata":               fieldMetadata,
		"name":                   fieldName,
		"parts":                  fieldParts,
		"pushNotification":       fieldConfig, // in TaskSendParams
		"pushNotificationConfig": fieldPushConfig,
		"role":                   fieldRole,
		"schemes":                fieldSchemes,
		"sessionId":              fieldSessionID,
		"state":                  fieldState,
		"status":                 fieldStatus,
		"timestamp":              fieldTimestamp,
		"token":                  fieldToken,
		"url":                    fieldURL,
	},
	variantOf: jsonread.NewNames(append([]string{
		"acceptedOutputModes", "authentication", "credentials", "historyLength", "id", "message", "parts",
		"pushNotification", "pushNotificationConfig", "role", "schemes", "sessionId", "token", "url",
	}, typedpart.Names...)...).VariantOf,
	decodeEvent: decodeUpdate,
	partsName:   "parts",
	Presence:    true,
	// Without a history length, the answers of 0.1 have no history.
	history:     new(0),
	taskParams:  taskParams,
	pushParams:  taskParams,
	pushIDs:     []string{"id"},
	sendPush:    setOf(fieldURL, fieldToken, fieldAuthentication),
	setPushTask: "id",
}

// ErrUnknownEvent is returned for an object that is not an event of 0.1.
var ErrUnknownEvent = errors.New("event has neither status nor artifact")

// decodeUpdate reads an event of a server's stream, which has a status or an artifact.
func decodeUpdate(v *Version, text []byte) (a2a.Event, error) {
	d := v.fromAgent(text)
	var (
		id       string
		status   *a2a.StatusUpdate
		artifact *a2a.ArtifactUpdate
		metadata a2a.Object
		final    *bool
	)
	for f := range d.members() {
		switch f {
		case fieldID:
			id = d.id()
		case fieldStatus:
			status = &a2a.StatusUpdate{}
			status.Status, _ = d.status()
		case fieldArtifact:
			u := d.indexedArtifact()
			artifact = &u
		case fieldFinal:
			b := d.Bool()
			final = &b
		case fieldMetadata:
			metadata = d.Object()
		}
	}
	if err := d.End(); err != nil {
		return a2a.Event{}, err
	}
	switch {
	case status != nil && artifact == nil:
		status.TaskID = id
		status.Metadata = metadata
		status.Paused = status.Status.State == a2a.StateInputRequired && final != nil && !*final
		return a2a.Event{Status: status}, nil
	case artifact != nil && status == nil:
		artifact.TaskID = id
		artifact.Metadata = metadata
		return a2a.Event{Artifact: artifact}, nil
	default:
		return a2a.Event{}, ErrUnknownEvent
	}
}

// artifactAt reads the artifact at a position of a task.
func (d *decoder) artifactAt(position int) a2a.Artifact {
	if d.version.dialect != a2a.DialectV01 {
		return d.artifact()
	}
	a := d.indexedArtifact()
	if a.Index == 0 && position > 0 {
		// If the server omits the index, the index is the position in the array.
		a.Artifact.ID = artifactID(position)
	}
	return a.Artifact
}

// indexedArtifact reads an Artifact. In 0.1, its members include the members of the update.
func (d *decoder) indexedArtifact() a2a.ArtifactUpdate {
	var u a2a.ArtifactUpdate
	foreign := d.foreign
	for f := range d.members() {
		switch f {
		case fieldIndex:
			u.Index = d.Int()
			if u.Index < 0 {
				d.Fail("must not be negative")
			}
		case fieldName:
			u.Artifact.Name = d.String()
		case fieldDescription:
			u.Artifact.Description = d.String()
		case fieldParts:
			u.Artifact.Parts = d.parts()
		case fieldAppend:
			u.Append = d.Bool()
		case fieldLastChunk:
			u.LastChunk = d.Bool()
		case fieldMetadata:
			u.Artifact.Metadata = d.Object()
		default:
			d.foreign++
		}
	}
	u.Artifact.Parts = d.partsOrEmpty(u.Artifact.Parts, foreign)
	u.Artifact.ID = artifactID(u.Index)
	return u
}

func artifactID(index int) string { return "artifact-" + strconv.Itoa(index) }

// decodeTaskSend reads TaskSendParams. The client chooses the id of the task, even of a new
// one. Without a history length, the answers of 0.1 have no history.
func (v *Version) decodeTaskSend(params []byte) (*a2a.SendRequest, error) {
	d := v.fromClient(params)
	s := &a2a.SendRequest{Dialect: a2a.DialectV01, ClientTaskID: true, HistoryLength: v.history}
	var task, session string
	for f := range d.members() {
		switch f {
		case fieldID:
			task = d.id()
		case fieldSessionID:
			session = d.id()
		case fieldMessage:
			s.Message = d.message()
		case fieldAcceptedOutputModes:
			// Early samples of 0.1 send this member.
			s.AcceptedOutputModes = d.Strings(maxStrings)
		case fieldHistoryLength:
			s.HistoryLength = d.historyLength()
		case fieldConfig:
			s.Push = d.sendPush()
		case fieldMetadata:
			s.Metadata = d.Object()
		}
	}
	d.required("id", task != "")
	d.required("message", s.Message != nil)
	if s.Message != nil {
		s.Message.TaskID = task
		s.Message.ContextID = session
	}
	return s, d.End()
}
