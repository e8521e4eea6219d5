// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/scalar"
)

// AppendEvent appends the content of a StreamResponse. For a task or a message, this is
// also the content of a SendMessageResponse.
func (v *Version) AppendEvent(dst []byte, e *a2a.Event) []byte {
	switch {
	case e.Task != nil:
		dst, at := pbwire.Begin(dst, 1)
		return pbwire.End(v.AppendTask(dst, e.Task), at)
	case e.Message != nil:
		return v.appendMessage(dst, 2, e.Message)
	case e.Status != nil:
		return v.appendStatusUpdate(dst, 3, e.Status)
	case e.Artifact != nil:
		return v.appendArtifactUpdate(dst, 4, e.Artifact)
	default:
		return dst
	}
}

// AppendTask appends the content of a Task.
func (v *Version) AppendTask(dst []byte, t *a2a.Task) []byte {
	dst = pbwire.AppendString(dst, 1, t.ID)
	dst = pbwire.AppendString(dst, 2, t.ContextID)
	dst = v.appendStatus(dst, 3, &t.Status)
	for i := range t.Artifacts {
		dst = v.appendArtifact(dst, 4, &t.Artifacts[i])
	}
	for _, m := range t.History {
		dst = v.appendMessage(dst, 5, m)
	}
	return pbwire.AppendObject(dst, 6, t.Metadata)
}

// AppendTaskPage appends the content of a ListTasksResponse.
func (v *Version) AppendTaskPage(dst []byte, p *a2a.TaskPage) []byte {
	for _, t := range p.Tasks {
		inner, at := pbwire.Begin(dst, 1)
		dst = pbwire.End(v.AppendTask(inner, t), at)
	}
	dst = pbwire.AppendString(dst, 2, p.NextPageToken)
	dst = pbwire.AppendInt(dst, 3, p.PageSize)
	return pbwire.AppendInt(dst, 4, p.TotalSize)
}

func (v *Version) appendMessage(dst []byte, number pbwire.Number, m *a2a.Message) []byte {
	dst, at := pbwire.Begin(dst, number)
	dst = pbwire.AppendString(dst, 1, m.ID)
	dst = pbwire.AppendString(dst, 2, m.ContextID)
	dst = pbwire.AppendString(dst, 3, m.TaskID)
	dst = pbwire.AppendInt(dst, 4, int(m.Role))
	dst = v.appendParts(dst, 5, m.Parts)
	dst = pbwire.AppendObject(dst, 6, m.Metadata)
	dst = pbwire.AppendStrings(dst, 7, m.Extensions)
	if v.references {
		dst = pbwire.AppendStrings(dst, 8, m.ReferenceTasks)
	}
	return pbwire.End(dst, at)
}

func (v *Version) appendStatusUpdate(dst []byte, number pbwire.Number, u *a2a.StatusUpdate) []byte {
	dst, at := pbwire.Begin(dst, number)
	dst = pbwire.AppendString(dst, 1, u.TaskID)
	dst = pbwire.AppendString(dst, 2, u.ContextID)
	dst = v.appendStatus(dst, 3, &u.Status)
	if v.statusUpdate.final != 0 {
		dst = pbwire.AppendBool(dst, v.statusUpdate.final, u.Final())
	}
	dst = pbwire.AppendObject(dst, v.statusUpdate.metadata, u.Metadata)
	return pbwire.End(dst, at)
}

func (v *Version) appendArtifactUpdate(dst []byte, number pbwire.Number, u *a2a.ArtifactUpdate) []byte {
	dst, at := pbwire.Begin(dst, number)
	dst = pbwire.AppendString(dst, 1, u.TaskID)
	dst = pbwire.AppendString(dst, 2, u.ContextID)
	dst = v.appendArtifact(dst, 3, &u.Artifact)
	dst = pbwire.AppendBool(dst, 4, u.Append)
	dst = pbwire.AppendBool(dst, 5, u.LastChunk)
	dst = pbwire.AppendObject(dst, 6, u.Metadata)
	return pbwire.End(dst, at)
}

func (v *Version) appendStatus(dst []byte, number pbwire.Number, s *a2a.Status) []byte {
	dst, at := pbwire.Begin(dst, number)
	dst = pbwire.AppendInt(dst, 1, scalar.StateNumber(s.State))
	if s.Message != nil {
		dst = v.appendMessage(dst, 2, s.Message)
	}
	dst = pbwire.AppendTime(dst, 3, s.Time)
	return pbwire.End(dst, at)
}

func (v *Version) appendArtifact(dst []byte, number pbwire.Number, a *a2a.Artifact) []byte {
	dst, at := pbwire.Begin(dst, number)
	dst = pbwire.AppendString(dst, 1, a.ID)
	dst = pbwire.AppendString(dst, v.artifact.name, a.Name)
	dst = pbwire.AppendString(dst, v.artifact.description, a.Description)
	dst = v.appendParts(dst, v.artifact.parts, a.Parts)
	dst = pbwire.AppendObject(dst, v.artifact.metadata, a.Metadata)
	dst = pbwire.AppendStrings(dst, v.artifact.extensions, a.Extensions)
	return pbwire.End(dst, at)
}

func (v *Version) appendParts(dst []byte, number pbwire.Number, parts []a2a.Part) []byte {
	for i := range parts {
		inner, at := pbwire.Begin(dst, number)
		dst = pbwire.End(v.appendPart(inner, &parts[i]), at)
	}
	return dst
}
