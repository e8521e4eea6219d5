// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v03proto is the ProtoJSON of the package a2a.v1, which REST speaks in
// 0.2 and 0.3. It turns bytes into the domain and back.
//
// The package is pure: it knows no transport, no clock and no engine, and makes
// up no ids. It writes no member that the proto does not name, since clients
// refuse those; unknown members that it reads are left out.
//
// The proto has no home for the tasks that a message refers to, nor for the
// media type of a text: they are not written.
package v03proto

import (
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
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

// AppendTaskPage appends the answer to a request for tasks, which is that of
// 1.0: this version only names the operation.
func AppendTaskPage(dst []byte, page *a2a.TaskPage) []byte {
	dst = append(dst, `{"tasks":[`...)
	for i, t := range page.Tasks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendTask(dst, t)
	}
	dst = jsonwrite.Member(dst, `],"nextPageToken":`, page.NextPageToken)
	dst = strconv.AppendInt(append(dst, `,"pageSize":`...), int64(page.PageSize), 10)
	dst = strconv.AppendInt(append(dst, `,"totalSize":`...), int64(page.TotalSize), 10)
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
	dst = appendParts(dst, `,"content":[`, m.Parts)
	dst = jsonwrite.Metadata(dst, m.Metadata)
	dst = jsonwrite.Strings(dst, `,"extensions":`, m.Extensions)
	return append(dst, '}')
}

func appendStatusUpdate(dst []byte, u *a2a.StatusUpdate) []byte {
	dst = jsonwrite.Member(dst, `{"taskId":`, u.TaskID)
	dst = jsonwrite.Member(dst, `,"contextId":`, u.ContextID)
	dst = append(dst, `,"status":`...)
	dst = appendStatus(dst, &u.Status)
	if v03.Final(u) {
		dst = append(dst, `,"final":true`...)
	}
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

// states are the names of the enum TaskState. It spells cancelled with two l.
var states = [...]string{
	a2a.StateUnknown:       "TASK_STATE_UNSPECIFIED",
	a2a.StateSubmitted:     "TASK_STATE_SUBMITTED",
	a2a.StateWorking:       "TASK_STATE_WORKING",
	a2a.StateInputRequired: "TASK_STATE_INPUT_REQUIRED",
	a2a.StateAuthRequired:  "TASK_STATE_AUTH_REQUIRED",
	a2a.StateCompleted:     "TASK_STATE_COMPLETED",
	a2a.StateFailed:        "TASK_STATE_FAILED",
	a2a.StateCanceled:      "TASK_STATE_CANCELLED",
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
	dst = appendParts(dst, `,"parts":[`, a.Parts)
	dst = jsonwrite.Metadata(dst, a.Metadata)
	dst = jsonwrite.Strings(dst, `,"extensions":`, a.Extensions)
	return append(dst, '}')
}
