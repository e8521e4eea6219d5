// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v01 encodes the JSON of A2A 0.1, whose parts have their type in a member named
// type. Package jsondecode decodes this JSON.
//
// It omits values that 0.1 cannot express, or writes the closest value of 0.1: messages and
// artifacts have no ids, rejected becomes failed, and auth-required becomes input-required.
// A stream has only statuses and artifacts.
//
// The package is pure: it has no transport, envelope, clock or engine, and generates no
// ids.
package v01

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsondecode"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/typedpart"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
)

// DecodeEvent reads an event of a server's stream, as jsondecode.V01.
func DecodeEvent(text []byte) (a2a.Event, error) { return jsondecode.V01.DecodeEvent(text) }

// DecodeTask reads a task that a server returned, as jsondecode.V01.
func DecodeTask(text []byte) (*a2a.Task, error) { return jsondecode.V01.DecodeTask(text) }

// AppendEvent appends a TaskStatusUpdateEvent or a TaskArtifactUpdateEvent. It appends the
// status of a task, without the artifacts. A message becomes the status of a task that the
// message completes. An empty event becomes null.
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

// AppendAnswer appends the response to a message, which is always a Task.
func AppendAnswer(dst []byte, e *a2a.Event) []byte {
	if e.Message != nil {
		return AppendTask(dst, completed(e.Message))
	}
	return AppendTask(dst, e.Task)
}

// completed returns a completed task that represents a message without a task.
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
		dst = jsonwrite.Array(append(dst, `,"history":`...), t.History, appendMessage)
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
	dst = jsonwrite.Bool(dst, `,"final":`, u.Final())
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

// appendArtifact appends an artifact without its closing brace.
func appendArtifact(dst []byte, a *a2a.Artifact, index int) []byte {
	dst = jsonwrite.Int(dst, `{"index":`, index)
	dst = jsonwrite.Optional(dst, `,"name":`, a.Name)
	dst = jsonwrite.Optional(dst, `,"description":`, a.Description)
	dst = append(dst, `,"parts":`...)
	return typedpart.Type.AppendAll(dst, a.Parts)
}

func appendStatus(dst []byte, s *a2a.Status) []byte {
	dst = append(dst, `{"state":"`...)
	dst = append(dst, closest(s.State).String()...)
	dst = append(dst, '"')
	if s.Message != nil {
		dst = append(dst, `,"message":`...)
		dst = appendMessage(dst, s.Message)
	}
	dst = jsonwrite.Time(dst, `,"timestamp":`, s.Time)
	return append(dst, '}')
}

// closest returns the state of 0.1 that is closest to a state.
func closest(s a2a.State) a2a.State {
	switch s {
	case a2a.StateRejected:
		return a2a.StateFailed
	case a2a.StateAuthRequired:
		return a2a.StateInputRequired
	default:
		return s
	}
}

// AppendSend appends TaskSendParams, for a server of this version. The message must
// have a task id.
func AppendSend(dst []byte, r *a2a.SendRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.Message.TaskID)
	dst = jsonwrite.Optional(dst, `,"sessionId":`, r.Message.ContextID)
	dst = append(dst, `,"message":`...)
	dst = appendMessage(dst, r.Message)
	dst = v03.AppendHistoryLength(dst, r.HistoryLength)
	if r.Push != nil {
		dst = append(dst, `,"pushNotification":`...)
		dst = v03.AppendPushConfig(dst, r.Push, "")
	}
	dst = jsonwrite.Metadata(dst, r.Metadata)
	return append(dst, '}')
}

// AppendGet appends TaskQueryParams.
func AppendGet(dst []byte, r *a2a.GetRequest) []byte { return v03.AppendGet(dst, r) }

// AppendCancel appends TaskIdParams.
func AppendCancel(dst []byte, r *a2a.CancelRequest) []byte { return v03.AppendCancel(dst, r) }

// AppendSubscribe appends TaskQueryParams.
func AppendSubscribe(dst []byte, r *a2a.SubscribeRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.TaskID)
	dst = v03.AppendHistoryLength(dst, r.HistoryLength)
	return append(dst, '}')
}

// AppendPush appends a TaskPushNotificationConfig.
func AppendPush(dst []byte, c *a2a.PushConfig) []byte {
	return v03.AppendTaskPush(dst, `{"id":`, c, "")
}
