// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v01 is the JSON of A2A 0.1, whose parts say what they are in a member
// named type. It turns bytes into the domain and back.
//
// What 0.1 has no words for is left out, or said in those it has: messages and
// artifacts have no ids, a rejected task has failed, and one that waits for
// authentication waits for input. A stream holds statuses and artifacts only.
//
// The package is pure: it knows no transport, no envelope, no clock and no
// engine, and makes up no ids but those of artifacts, from their places.
package v01

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/typedpart"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
)

// AppendEvent appends a TaskStatusUpdateEvent or a TaskArtifactUpdateEvent. A
// task is written as its status, without the artifacts, and a message as the
// status of a task that it completes.
func AppendEvent(dst []byte, e *a2a.Event) []byte {
	switch {
	case e.Task != nil:
		return appendStatusUpdate(dst, &a2a.StatusUpdate{TaskID: e.Task.ID, Status: e.Task.Status})
	case e.Message != nil:
		t := completed(e.Message)
		return appendStatusUpdate(dst, &a2a.StatusUpdate{TaskID: t.ID, Status: t.Status})
	case e.Status != nil:
		return appendStatusUpdate(dst, e.Status)
	case e.Artifact != nil:
		return appendArtifactUpdate(dst, e.Artifact)
	default:
		return append(dst, "null"...)
	}
}

// AppendAnswer appends the answer to a message, which is always a Task.
func AppendAnswer(dst []byte, e *a2a.Event) []byte {
	if e.Message != nil {
		return AppendTask(dst, completed(e.Message))
	}
	return AppendTask(dst, e.Task)
}

// completed is the task that a message without one stands for.
func completed(m *a2a.Message) *a2a.Task {
	return &a2a.Task{ID: m.TaskID, ContextID: m.ContextID, Status: a2a.Status{State: a2a.StateCompleted, Message: m}}
}

// AppendTask appends a Task.
func AppendTask(dst []byte, t *a2a.Task) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, t.ID)
	dst = jsonwrite.Optional(dst, `,"sessionId":`, t.ContextID)
	dst = append(dst, `,"status":`...)
	dst = appendStatus(dst, &t.Status)
	if len(t.Artifacts) > 0 {
		dst = append(dst, `,"artifacts":[`...)
		for i := range t.Artifacts {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendArtifact(dst, &t.Artifacts[i], i)
			dst = jsonwrite.Metadata(dst, t.Artifacts[i].Metadata)
			dst = append(dst, '}')
		}
		dst = append(dst, ']')
	}
	if len(t.History) > 0 {
		dst = append(dst, `,"history":[`...)
		for i, m := range t.History {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendMessage(dst, m)
		}
		dst = append(dst, ']')
	}
	dst = jsonwrite.Metadata(dst, t.Metadata)
	return append(dst, '}')
}

func appendMessage(dst []byte, m *a2a.Message) []byte {
	if m.Role == a2a.RoleUser {
		dst = append(dst, `{"role":"user","parts":`...)
	} else {
		dst = append(dst, `{"role":"agent","parts":`...)
	}
	dst = typedpart.Type.AppendAll(dst, m.Parts)
	dst = jsonwrite.Metadata(dst, m.Metadata)
	return append(dst, '}')
}

func appendStatusUpdate(dst []byte, u *a2a.StatusUpdate) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, u.TaskID)
	dst = append(dst, `,"status":`...)
	dst = appendStatus(dst, &u.Status)
	dst = jsonwrite.Bool(dst, `,"final":`, v03.Final(u))
	dst = jsonwrite.Metadata(dst, u.Metadata)
	return append(dst, '}')
}

func appendArtifactUpdate(dst []byte, u *a2a.ArtifactUpdate) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, u.TaskID)
	dst = append(dst, `,"artifact":`...)
	dst = appendArtifact(dst, &u.Artifact, u.Index)
	dst = jsonwrite.Bool(dst, `,"append":`, u.Append)
	dst = jsonwrite.Bool(dst, `,"lastChunk":`, u.LastChunk)
	dst = jsonwrite.Metadata(dst, u.Artifact.Metadata)
	dst = append(dst, '}')
	dst = jsonwrite.Metadata(dst, u.Metadata)
	return append(dst, '}')
}

// appendArtifact leaves the artifact open for more members.
func appendArtifact(dst []byte, a *a2a.Artifact, index int) []byte {
	dst = jsonwrite.Int(dst, `{"index":`, index)
	dst = jsonwrite.Optional(dst, `,"name":`, a.Name)
	dst = jsonwrite.Optional(dst, `,"description":`, a.Description)
	dst = append(dst, `,"parts":`...)
	return typedpart.Type.AppendAll(dst, a.Parts)
}

func appendStatus(dst []byte, s *a2a.Status) []byte {
	dst = append(dst, `{"state":"`...)
	dst = append(dst, known(s.State).String()...)
	dst = append(dst, '"')
	if s.Message != nil {
		dst = append(dst, `,"message":`...)
		dst = appendMessage(dst, s.Message)
	}
	dst = jsonwrite.Time(dst, `,"timestamp":`, s.Time)
	return append(dst, '}')
}

// known is the state of 0.1 that comes closest.
func known(s a2a.State) a2a.State {
	switch s {
	case a2a.StateRejected:
		return a2a.StateFailed
	case a2a.StateAuthRequired:
		return a2a.StateInputRequired
	default:
		return s
	}
}
