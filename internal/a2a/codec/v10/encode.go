// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v10 is the JSON of A2A 1.0: ProtoJSON of the package lf.a2a.v1. It
// turns bytes into the domain and back.
//
// The package is pure: it knows no transport, no envelope, no clock and no
// engine, and makes up no ids. It writes no member that the protocol does not
// name, since clients of 1.0 refuse those; unknown members that it reads are
// left out.
package v10

import (
	"encoding/base64"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/spelling"
)

// AppendEvent appends a StreamResponse. One that holds a task or a message is
// also a SendMessageResponse.
func AppendEvent(dst []byte, e *a2a.Event) []byte {
	switch {
	case e.Task != nil:
		dst = append(dst, `{"task":`...)
		dst = AppendTask(dst, e.Task)
	case e.Message != nil:
		dst = append(dst, `{"message":`...)
		dst = AppendMessage(dst, e.Message)
	case e.Status != nil:
		dst = append(dst, `{"statusUpdate":`...)
		dst = appendStatusUpdate(dst, e.Status)
	case e.Artifact != nil:
		dst = append(dst, `{"artifactUpdate":`...)
		dst = appendArtifactUpdate(dst, e.Artifact)
	default:
		dst = append(dst, '{')
	}
	return append(dst, '}')
}

// AppendTask appends a Task.
func AppendTask(dst []byte, t *a2a.Task) []byte {
	dst = append(dst, `{"id":`...)
	dst = appendString(dst, t.ID)
	dst = appendOptional(dst, `,"contextId":`, t.ContextID)
	dst = append(dst, `,"status":`...)
	dst = appendStatus(dst, &t.Status)
	if len(t.Artifacts) > 0 {
		dst = append(dst, `,"artifacts":[`...)
		for i := range t.Artifacts {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendArtifact(dst, &t.Artifacts[i])
		}
		dst = append(dst, ']')
	}
	if len(t.History) > 0 {
		dst = append(dst, `,"history":[`...)
		for i, m := range t.History {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendMessage(dst, m)
		}
		dst = append(dst, ']')
	}
	dst = appendMetadata(dst, t.Metadata)
	return append(dst, '}')
}

// AppendMessage appends a Message.
func AppendMessage(dst []byte, m *a2a.Message) []byte {
	dst = append(dst, `{"messageId":`...)
	dst = appendString(dst, m.ID)
	dst = appendOptional(dst, `,"contextId":`, m.ContextID)
	dst = appendOptional(dst, `,"taskId":`, m.TaskID)
	if m.Role == a2a.RoleUser {
		dst = append(dst, `,"role":"ROLE_USER"`...)
	} else {
		dst = append(dst, `,"role":"ROLE_AGENT"`...)
	}
	dst = append(dst, `,"parts":`...)
	dst = appendParts(dst, m.Parts)
	dst = appendMetadata(dst, m.Metadata)
	dst = appendStrings(dst, `,"extensions":[`, m.Extensions)
	dst = appendStrings(dst, `,"referenceTaskIds":[`, m.ReferenceTasks)
	return append(dst, '}')
}

func appendStatusUpdate(dst []byte, u *a2a.StatusUpdate) []byte {
	dst = append(dst, `{"taskId":`...)
	dst = appendString(dst, u.TaskID)
	dst = append(dst, `,"contextId":`...)
	dst = appendString(dst, u.ContextID)
	dst = append(dst, `,"status":`...)
	dst = appendStatus(dst, &u.Status)
	dst = appendMetadata(dst, u.Metadata)
	return append(dst, '}')
}

func appendArtifactUpdate(dst []byte, u *a2a.ArtifactUpdate) []byte {
	dst = append(dst, `{"taskId":`...)
	dst = appendString(dst, u.TaskID)
	dst = append(dst, `,"contextId":`...)
	dst = appendString(dst, u.ContextID)
	dst = append(dst, `,"artifact":`...)
	dst = appendArtifact(dst, &u.Artifact)
	if u.Append {
		dst = append(dst, `,"append":true`...)
	}
	if u.LastChunk {
		dst = append(dst, `,"lastChunk":true`...)
	}
	dst = appendMetadata(dst, u.Metadata)
	return append(dst, '}')
}

// states are the names of the enum TaskState.
var states = [...]string{
	a2a.StateUnknown:       "TASK_STATE_UNSPECIFIED",
	a2a.StateSubmitted:     "TASK_STATE_SUBMITTED",
	a2a.StateWorking:       "TASK_STATE_WORKING",
	a2a.StateInputRequired: "TASK_STATE_INPUT_REQUIRED",
	a2a.StateAuthRequired:  "TASK_STATE_AUTH_REQUIRED",
	a2a.StateCompleted:     "TASK_STATE_COMPLETED",
	a2a.StateFailed:        "TASK_STATE_FAILED",
	a2a.StateCanceled:      "TASK_STATE_CANCELED",
	a2a.StateRejected:      "TASK_STATE_REJECTED",
}

func appendStatus(dst []byte, s *a2a.Status) []byte {
	state := states[a2a.StateUnknown]
	if int(s.State) < len(states) {
		state = states[s.State]
	}
	dst = append(dst, `{"state":"`...)
	dst = append(dst, state...)
	dst = append(dst, '"')
	if s.Message != nil {
		dst = append(dst, `,"message":`...)
		dst = AppendMessage(dst, s.Message)
	}
	dst = appendTime(dst, `,"timestamp":"`, s.Time)
	return append(dst, '}')
}

func appendArtifact(dst []byte, a *a2a.Artifact) []byte {
	dst = append(dst, `{"artifactId":`...)
	dst = appendString(dst, a.ID)
	dst = appendOptional(dst, `,"name":`, a.Name)
	dst = appendOptional(dst, `,"description":`, a.Description)
	dst = append(dst, `,"parts":`...)
	dst = appendParts(dst, a.Parts)
	dst = appendMetadata(dst, a.Metadata)
	dst = appendStrings(dst, `,"extensions":[`, a.Extensions)
	return append(dst, '}')
}

func appendParts(dst []byte, parts []a2a.Part) []byte {
	dst = append(dst, '[')
	for i := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendPart(dst, &parts[i])
	}
	return append(dst, ']')
}

func appendPart(dst []byte, p *a2a.Part) []byte {
	switch p.Content {
	case a2a.ContentRaw:
		dst = append(dst, `{"raw":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, p.Raw)
		dst = append(dst, '"')
	case a2a.ContentURL:
		dst = append(dst, `{"url":`...)
		dst = appendString(dst, p.URL)
	case a2a.ContentData:
		dst = append(dst, `{"data":`...)
		if len(p.Data) == 0 {
			dst = append(dst, "null"...)
		}
		dst = append(dst, p.Data...)
	default:
		dst = append(dst, `{"text":`...)
		dst = appendString(dst, p.Text)
	}
	dst = appendOptional(dst, `,"filename":`, p.Filename)
	dst = appendOptional(dst, `,"mediaType":`, p.MediaType)
	dst = appendMetadata(dst, p.Metadata)
	return append(dst, '}')
}

func appendOptional(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return appendString(append(dst, name...), value)
}

func appendMetadata(dst []byte, metadata a2a.Object) []byte {
	if len(metadata) == 0 {
		return dst
	}
	dst = append(dst, `,"metadata":`...)
	return append(dst, metadata...)
}

func appendStrings(dst []byte, name string, values []string) []byte {
	if len(values) == 0 {
		return dst
	}
	dst = append(dst, name...)
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, v)
	}
	return append(dst, ']')
}

func appendTime(dst []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return dst
	}
	dst = append(dst, name...)
	dst = t.UTC().AppendFormat(dst, spelling.TimeLayout)
	return append(dst, '"')
}

// appendString writes invalid UTF-8 as U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
