// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protojson

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// AppendEvent appends a StreamResponse. For a task or a message, this is also a
// SendMessageResponse.
func (v *Version) AppendEvent(dst []byte, e *a2a.Event) []byte {
	switch {
	case e.Task != nil:
		dst = append(dst, `{"task":`...)
		dst = v.AppendTask(dst, e.Task)
	case e.Message != nil:
		dst = append(dst, `{"message":`...)
		dst = v.AppendMessage(dst, e.Message)
	case e.Status != nil:
		dst = append(dst, `{"statusUpdate":`...)
		dst = v.appendStatusUpdate(dst, e.Status)
	case e.Artifact != nil:
		dst = append(dst, `{"artifactUpdate":`...)
		dst = v.appendArtifactUpdate(dst, e.Artifact)
	default:
		dst = append(dst, '{')
	}
	return append(dst, '}')
}

// AppendTask appends a Task.
func (v *Version) AppendTask(dst []byte, t *a2a.Task) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, t.ID)
	dst = jsonwrite.Optional(dst, `,"contextId":`, t.ContextID)
	dst = append(dst, `,"status":`...)
	dst = v.appendStatus(dst, &t.Status)
	if len(t.Artifacts) > 0 {
		dst = jsonwrite.ArrayOf(append(dst, `,"artifacts":`...), t.Artifacts, v.appendArtifact)
	}
	if len(t.History) > 0 {
		dst = jsonwrite.Array(append(dst, `,"history":`...), t.History, v.AppendMessage)
	}
	dst = jsonwrite.Metadata(dst, t.Metadata)
	return append(dst, '}')
}

// AppendTaskPage appends a ListTasksResponse. It writes all members, because all are
// required, even if they are empty. 0.3 does not define the response; clients of 0.3 get
// the response of 1.0.
func (v *Version) AppendTaskPage(dst []byte, page *a2a.TaskPage) []byte {
	dst = jsonwrite.Array(append(dst, `{"tasks":`...), page.Tasks, v.AppendTask)
	dst = jsonwrite.Member(dst, `,"nextPageToken":`, page.NextPageToken)
	dst = jsonwrite.Int(dst, `,"pageSize":`, page.PageSize)
	dst = jsonwrite.Int(dst, `,"totalSize":`, page.TotalSize)
	return append(dst, '}')
}

// AppendMessage appends a Message.
func (v *Version) AppendMessage(dst []byte, m *a2a.Message) []byte {
	dst = jsonwrite.Member(dst, `{"messageId":`, m.ID)
	dst = jsonwrite.Optional(dst, `,"contextId":`, m.ContextID)
	dst = jsonwrite.Optional(dst, `,"taskId":`, m.TaskID)
	if m.Role == a2a.RoleUser {
		dst = append(dst, `,"role":"ROLE_USER"`...)
	} else {
		dst = append(dst, `,"role":"ROLE_AGENT"`...)
	}
	dst = v.appendParts(dst, v.messageParts, m.Parts)
	dst = jsonwrite.Metadata(dst, m.Metadata)
	dst = jsonwrite.Strings(dst, `,"extensions":`, m.Extensions)
	if v.references {
		dst = jsonwrite.Strings(dst, `,"referenceTaskIds":`, m.ReferenceTasks)
	}
	return append(dst, '}')
}

func (v *Version) appendStatusUpdate(dst []byte, u *a2a.StatusUpdate) []byte {
	dst = jsonwrite.Member(dst, `{"taskId":`, u.TaskID)
	dst = jsonwrite.Member(dst, `,"contextId":`, u.ContextID)
	dst = append(dst, `,"status":`...)
	dst = v.appendStatus(dst, &u.Status)
	if v.final && u.Final() {
		dst = append(dst, `,"final":true`...)
	}
	dst = jsonwrite.Metadata(dst, u.Metadata)
	return append(dst, '}')
}

func (v *Version) appendArtifactUpdate(dst []byte, u *a2a.ArtifactUpdate) []byte {
	dst = jsonwrite.Member(dst, `{"taskId":`, u.TaskID)
	dst = jsonwrite.Member(dst, `,"contextId":`, u.ContextID)
	dst = append(dst, `,"artifact":`...)
	dst = v.appendArtifact(dst, &u.Artifact)
	if u.Append {
		dst = append(dst, `,"append":true`...)
	}
	if u.LastChunk {
		dst = append(dst, `,"lastChunk":true`...)
	}
	dst = jsonwrite.Metadata(dst, u.Metadata)
	return append(dst, '}')
}

func (v *Version) appendStatus(dst []byte, s *a2a.Status) []byte {
	state := v.states[a2a.StateUnknown]
	if int(s.State) < len(v.states) {
		state = v.states[s.State]
	}
	dst = append(dst, `{"state":"`...)
	dst = append(dst, state...)
	dst = append(dst, '"')
	if s.Message != nil {
		dst = append(dst, `,"message":`...)
		dst = v.AppendMessage(dst, s.Message)
	}
	dst = jsonwrite.Time(dst, `,"timestamp":`, s.Time)
	return append(dst, '}')
}

func (v *Version) appendArtifact(dst []byte, a *a2a.Artifact) []byte {
	dst = jsonwrite.Member(dst, `{"artifactId":`, a.ID)
	dst = jsonwrite.Optional(dst, `,"name":`, a.Name)
	dst = jsonwrite.Optional(dst, `,"description":`, a.Description)
	dst = v.appendParts(dst, v.artifactParts, a.Parts)
	dst = jsonwrite.Metadata(dst, a.Metadata)
	dst = jsonwrite.Strings(dst, `,"extensions":`, a.Extensions)
	return append(dst, '}')
}

func (v *Version) appendParts(dst []byte, before string, parts []a2a.Part) []byte {
	if len(parts) == 0 && !v.emptyParts {
		return dst
	}
	return jsonwrite.ArrayOf(append(dst, before...), parts, v.appendPart)
}
