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
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
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
	dst = jsonwrite.Member(dst, `{"id":`, t.ID)
	dst = jsonwrite.Optional(dst, `,"contextId":`, t.ContextID)
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
	dst = jsonwrite.Metadata(dst, t.Metadata)
	return append(dst, '}')
}

// AppendTaskPage appends a ListTasksResponse. All of its members are required,
// also those that are empty.
func AppendTaskPage(dst []byte, page *a2a.TaskPage) []byte {
	dst = append(dst, `{"tasks":[`...)
	for i, t := range page.Tasks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendTask(dst, t)
	}
	dst = jsonwrite.Member(dst, `],"nextPageToken":`, page.NextPageToken)
	dst = jsonwrite.Int(dst, `,"pageSize":`, page.PageSize)
	dst = jsonwrite.Int(dst, `,"totalSize":`, page.TotalSize)
	return append(dst, '}')
}

// AppendMessage appends a Message.
func AppendMessage(dst []byte, m *a2a.Message) []byte {
	dst = jsonwrite.Member(dst, `{"messageId":`, m.ID)
	dst = jsonwrite.Optional(dst, `,"contextId":`, m.ContextID)
	dst = jsonwrite.Optional(dst, `,"taskId":`, m.TaskID)
	if m.Role == a2a.RoleUser {
		dst = append(dst, `,"role":"ROLE_USER"`...)
	} else {
		dst = append(dst, `,"role":"ROLE_AGENT"`...)
	}
	dst = append(dst, `,"parts":`...)
	dst = appendParts(dst, m.Parts)
	dst = jsonwrite.Metadata(dst, m.Metadata)
	dst = jsonwrite.Strings(dst, `,"extensions":`, m.Extensions)
	dst = jsonwrite.Strings(dst, `,"referenceTaskIds":`, m.ReferenceTasks)
	return append(dst, '}')
}

func appendStatusUpdate(dst []byte, u *a2a.StatusUpdate) []byte {
	dst = jsonwrite.Member(dst, `{"taskId":`, u.TaskID)
	dst = jsonwrite.Member(dst, `,"contextId":`, u.ContextID)
	dst = append(dst, `,"status":`...)
	dst = appendStatus(dst, &u.Status)
	dst = jsonwrite.Metadata(dst, u.Metadata)
	return append(dst, '}')
}

func appendArtifactUpdate(dst []byte, u *a2a.ArtifactUpdate) []byte {
	dst = jsonwrite.Member(dst, `{"taskId":`, u.TaskID)
	dst = jsonwrite.Member(dst, `,"contextId":`, u.ContextID)
	dst = append(dst, `,"artifact":`...)
	dst = appendArtifact(dst, &u.Artifact)
	if u.Append {
		dst = append(dst, `,"append":true`...)
	}
	if u.LastChunk {
		dst = append(dst, `,"lastChunk":true`...)
	}
	dst = jsonwrite.Metadata(dst, u.Metadata)
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
	dst = jsonwrite.Time(dst, `,"timestamp":`, s.Time)
	return append(dst, '}')
}

func appendArtifact(dst []byte, a *a2a.Artifact) []byte {
	dst = jsonwrite.Member(dst, `{"artifactId":`, a.ID)
	dst = jsonwrite.Optional(dst, `,"name":`, a.Name)
	dst = jsonwrite.Optional(dst, `,"description":`, a.Description)
	dst = append(dst, `,"parts":`...)
	dst = appendParts(dst, a.Parts)
	dst = jsonwrite.Metadata(dst, a.Metadata)
	dst = jsonwrite.Strings(dst, `,"extensions":`, a.Extensions)
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
		dst = append(dst, `{"raw":`...)
		dst = jsonwrite.Bytes(dst, p.Raw)
	case a2a.ContentURL:
		dst = jsonwrite.Member(dst, `{"url":`, p.URL)
	case a2a.ContentData:
		dst = append(dst, `{"data":`...)
		if len(p.Data) == 0 {
			dst = append(dst, "null"...)
		}
		dst = append(dst, p.Data...)
	default:
		dst = jsonwrite.Member(dst, `{"text":`, p.Text)
	}
	dst = jsonwrite.Optional(dst, `,"filename":`, p.Filename)
	dst = jsonwrite.Optional(dst, `,"mediaType":`, p.MediaType)
	dst = jsonwrite.Metadata(dst, p.Metadata)
	return append(dst, '}')
}
