// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsondecode

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/typedpart"
)

// V03Proto is the ProtoJSON of the package a2a.v1, for HTTP+JSON of 0.2 and 0.3. Its requests
// name the task in the path.
var V03Proto = newProto(&Version{
	dialect: a2a.DialectV03Proto,
	fields: allNames(map[string]field{
		"config":           fieldConfig,
		"content":          fieldParts, // in messages; artifacts have parts
		"file":             fieldFile,
		"fileWithBytes":    fieldFileWithBytes,
		"fileWithUri":      fieldFileWithURI,
		"final":            fieldFinal,
		"kind":             fieldKind, // only agents that mix the forms of 0.3
		"mimeType":         fieldMediaType,
		"msg":              fieldMessage, // up to 0.2.5
		"parent":           fieldParent,
		"pushNotification": fieldPushConfig,
		"request":          fieldMessage, // up to 0.2.6
		"update":           fieldMessage, // up to 0.2.5
	}),
	partsName:     "content",
	omittedFinal:  true,
	Blocking:      true,
	ResourceNames: true,
	taskParams:    setOf(fieldName),
	setPush: setOf(fieldParent, fieldName, fieldConfigID, fieldID, fieldConfig, fieldPushConfig, fieldURL, fieldToken,
		fieldAuthentication),
	sendPush: setOf(fieldID, fieldURL, fieldToken, fieldAuthentication),
})

// V10 is the JSON of 1.0: the ProtoJSON of the package lf.a2a.v1. It also reads the forms
// of the release candidate.
var V10 = newProto(&Version{
	dialect: a2a.DialectV10,
	fields: allNames(map[string]field{
		"config":                     fieldPushConfig, // only the release candidate
		"filename":                   fieldFilename,
		"includeArtifacts":           fieldIncludeArtifacts,
		"mediaType":                  fieldMediaType,
		"pageSize":                   fieldPageSize,
		"pageToken":                  fieldPageToken,
		"raw":                        fieldRaw,
		"returnImmediately":          fieldReturnImmediately,
		"scheme":                     fieldScheme,
		"statusTimestampAfter":       fieldStatusTimestampAfter,
		"taskPushNotificationConfig": fieldPushConfig,
		"tenant":                     fieldTenant,
	}),
	partsName:      "parts",
	Presence:       true,
	roleRequired:   true,
	taskParams:     setOf(fieldTenant, fieldID, fieldHistoryLength, fieldMetadata),
	pushParams:     setOf(fieldTenant, fieldTaskID, fieldID),
	listPushParams: setOf(fieldTenant, fieldTaskID, fieldPageSize, fieldPageToken),
	pushIDs:        []string{"taskId", "id"},
	setPush:        pushFieldsV10,
	sendPush:       pushFieldsV10,
})

var pushFieldsV10 = setOf(fieldTenant, fieldID, fieldConfigID, fieldTaskID, fieldURL, fieldToken, fieldAuthentication, fieldPushConfig)

// newProto sets the fields of v that are the same in both versions of ProtoJSON or follow
// from other fields.
func newProto(v *Version) *Version {
	v.proto = true
	v.decodeEvent = decodeStreamResponse
	v.variantOf = jsonread.NewNames(slices.Collect(maps.Keys(v.fields))...).VariantOf
	return v
}

// protoFields maps the lowerCamelCase names that both versions of ProtoJSON read to fields.
var protoFields = map[string]field{
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
	all := maps.Clone(protoFields)
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

// ErrNoEvent is returned for an object that is not a StreamResponse.
var ErrNoEvent = errors.New("event has none of task, message, statusUpdate, artifactUpdate")

// decodeStreamResponse reads a StreamResponse or SendMessageResponse. The event is empty if the agent
// set no member of it.
func decodeStreamResponse(v *Version, text []byte) (a2a.Event, error) {
	d := v.fromAgent(text)
	var e a2a.Event
	count := 0
	for f := range d.members() {
		switch f {
		case fieldTask:
			e.Task = d.task()
		case fieldMessage:
			e.Message = d.message()
		case fieldStatusUpdate:
			e.Status = d.statusUpdate()
		case fieldArtifactUpdate:
			e.Artifact = d.artifactUpdate()
		default:
			d.foreign++
			continue
		}
		count++
	}
	if count > 1 {
		d.Fail("must hold one of task, message, statusUpdate, artifactUpdate")
	}
	if err := d.End(); err != nil {
		return a2a.Event{}, err
	}
	if count == 0 && d.foreign > 0 {
		return a2a.Event{}, ErrNoEvent
	}
	return e, nil
}

// partV03 reads the oneof of a Part. A part of an agent without content has the zero Content.
func (d *decoder) partV03() a2a.Part {
	var p a2a.Part
	foreign := d.foreign
	count := 0
	hasKind := false
	for f := range d.members() {
		switch f {
		case fieldText:
			p.Content = a2a.ContentText
			p.Text = d.String()
			count++
		case fieldFile:
			d.file(&p)
			count++
		case fieldData:
			p.Content = a2a.ContentData
			p.Data = d.data()
			count++
		case fieldMetadata:
			p.Metadata = d.Object()
		case fieldKind:
			hasKind = true
		default:
			d.foreign++
		}
	}
	switch {
	case count == 0 && !hasKind && d.isDefault(foreign):
		return p
	case count != 1:
		d.Fail("must have exactly one of text, file, data")
	case p.Content == a2a.ContentData && d.agent && (hasKind || p.Data == nil):
		d.FailAt("data", "must be in the form of ProtoJSON")
		return p
	}
	typedpart.Unwrap(&p)
	return p
}

// file reads a FilePart. If it has both bytes and a URI, the bytes take precedence.
func (d *decoder) file(p *a2a.Part) {
	for f := range d.members() {
		switch f {
		case fieldFileWithBytes:
			p.Content = a2a.ContentRaw
			p.Raw = d.Bytes()
			p.URL = ""
			if decoded, ok := typedpart.DecodeTwice(p.Raw); ok {
				p.Raw = decoded
			}
		case fieldFileWithURI:
			if uri := d.String(); uri != "" && p.Content != a2a.ContentRaw {
				p.Content = a2a.ContentURL
				p.URL = uri
			}
		case fieldMediaType:
			p.MediaType = d.String()
		case fieldName:
			p.Filename = d.String()
		}
	}
	if p.Content == 0 {
		d.FailAt("fileWithBytes", "is required unless fileWithUri is set")
	}
}

// data reads a DataPart. If the member is absent, the data is an empty object. For the object of an agent
// that has only other members, data returns nil: it is the data of a part with a kind.
func (d *decoder) data() a2a.Value {
	var value a2a.Value
	foreign := d.foreign
	for f := range d.members() {
		if f == fieldData {
			value = a2a.Value(d.Object())
		} else {
			d.foreign++
		}
	}
	if value == nil && (!d.agent || d.foreign == foreign) {
		return a2a.Value("{}")
	}
	return value
}

// partV10 reads the oneof of a Part. A member that is null counts as absent, except data: it
// must not be null, because the SDKs cannot read such a part. A part of an agent without content has
// the zero Content.
func (d *decoder) partV10() a2a.Part {
	var p a2a.Part
	foreign := d.foreign
	count := 0
	for f := range d.allMembers() {
		if f != fieldData && d.Kind() == 'n' {
			continue
		}
		switch f {
		case fieldText:
			p.Content = a2a.ContentText
			p.Text = d.String()
			count++
		case fieldRaw:
			p.Content = a2a.ContentRaw
			p.Raw = d.Bytes()
			count++
		case fieldURL:
			p.Content = a2a.ContentURL
			p.URL = d.String()
			count++
		case fieldData:
			p.Content = a2a.ContentData
			p.Data = d.Value()
			if string(p.Data) == "null" {
				d.FailUnreadable(typedpart.NoNull)
			}
			count++
		case fieldFilename:
			p.Filename = d.String()
		case fieldMediaType:
			p.MediaType = d.String()
		case fieldMetadata:
			p.Metadata = d.Object()
		default:
			d.foreign++
		}
	}
	if count != 1 && (count > 0 || !d.isDefault(foreign)) {
		d.Fail("must have exactly one of text, raw, url, data")
	}
	return p
}
