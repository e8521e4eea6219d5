// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pbv10 is the binary form of A2A 1.0: the messages of the protobuf
// package lf.a2a.v1. It turns bytes into the domain and back, for servers and
// for clients.
//
// The package is pure: it knows no transport, no clock and no engine, and
// makes up no ids. It holds no generated code; its tests do, and compare.
// Fields stand in the order of their numbers. Metadata and data go through
// google.protobuf.Struct, which costs numbers some of their digits: see
// pbwire.AppendObject.
package pbv10

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/spelling"
)

// AppendEvent appends a StreamResponse; a SendMessageResponse is the same as
// far as it goes.
func AppendEvent(dst []byte, e *a2a.Event) []byte {
	switch {
	case e.Task != nil:
		dst, at := pbwire.Begin(dst, 1)
		return pbwire.End(AppendTask(dst, e.Task), at)
	case e.Message != nil:
		return appendMessage(dst, 2, e.Message)
	case e.Status != nil:
		return appendStatusUpdate(dst, 3, e.Status)
	case e.Artifact != nil:
		return appendArtifactUpdate(dst, 4, e.Artifact)
	default:
		return dst
	}
}

// AppendTask appends the content of a Task.
func AppendTask(dst []byte, t *a2a.Task) []byte {
	dst = pbwire.AppendString(dst, 1, t.ID)
	dst = pbwire.AppendString(dst, 2, t.ContextID)
	dst = appendStatus(dst, 3, &t.Status)
	for i := range t.Artifacts {
		dst = appendArtifact(dst, 4, &t.Artifacts[i])
	}
	for _, m := range t.History {
		dst = appendMessage(dst, 5, m)
	}
	return pbwire.AppendObject(dst, 6, t.Metadata)
}

// AppendPage appends the content of a ListTasksResponse.
func AppendPage(dst []byte, p *a2a.TaskPage) []byte {
	for _, t := range p.Tasks {
		inner, at := pbwire.Begin(dst, 1)
		dst = pbwire.End(AppendTask(inner, t), at)
	}
	dst = pbwire.AppendString(dst, 2, p.NextPageToken)
	dst = pbwire.AppendInt(dst, 3, p.PageSize)
	return pbwire.AppendInt(dst, 4, p.TotalSize)
}

// AppendPush appends the content of a TaskPushNotificationConfig.
func AppendPush(dst []byte, c *a2a.PushConfig) []byte {
	dst = pbwire.AppendString(dst, 2, c.ID)
	dst = pbwire.AppendString(dst, 3, c.TaskID)
	dst = pbwire.AppendString(dst, 4, c.URL)
	dst = pbwire.AppendString(dst, 5, c.Token)
	if c.Scheme == "" && c.Credentials == "" {
		return dst
	}
	dst, at := pbwire.Begin(dst, 6)
	dst = pbwire.AppendString(dst, 1, c.Scheme)
	dst = pbwire.AppendString(dst, 2, c.Credentials)
	return pbwire.End(dst, at)
}

// AppendPushPage appends the content of a ListTaskPushNotificationConfigsResponse.
func AppendPushPage(dst []byte, p *a2a.PushPage) []byte {
	for _, c := range p.Configs {
		inner, at := pbwire.Begin(dst, 1)
		dst = pbwire.End(AppendPush(inner, c), at)
	}
	return pbwire.AppendString(dst, 2, p.NextPageToken)
}

func appendMessage(dst []byte, number protowire.Number, m *a2a.Message) []byte {
	dst, at := pbwire.Begin(dst, number)
	dst = pbwire.AppendString(dst, 1, m.ID)
	dst = pbwire.AppendString(dst, 2, m.ContextID)
	dst = pbwire.AppendString(dst, 3, m.TaskID)
	dst = pbwire.AppendInt(dst, 4, int(m.Role))
	dst = appendParts(dst, 5, m.Parts)
	dst = pbwire.AppendObject(dst, 6, m.Metadata)
	dst = pbwire.AppendStrings(dst, 7, m.Extensions)
	dst = pbwire.AppendStrings(dst, 8, m.ReferenceTasks)
	return pbwire.End(dst, at)
}

func appendStatusUpdate(dst []byte, number protowire.Number, u *a2a.StatusUpdate) []byte {
	dst, at := pbwire.Begin(dst, number)
	dst = pbwire.AppendString(dst, 1, u.TaskID)
	dst = pbwire.AppendString(dst, 2, u.ContextID)
	dst = appendStatus(dst, 3, &u.Status)
	dst = pbwire.AppendObject(dst, 4, u.Metadata)
	return pbwire.End(dst, at)
}

func appendArtifactUpdate(dst []byte, number protowire.Number, u *a2a.ArtifactUpdate) []byte {
	dst, at := pbwire.Begin(dst, number)
	dst = pbwire.AppendString(dst, 1, u.TaskID)
	dst = pbwire.AppendString(dst, 2, u.ContextID)
	dst = appendArtifact(dst, 3, &u.Artifact)
	dst = pbwire.AppendBool(dst, 4, u.Append)
	dst = pbwire.AppendBool(dst, 5, u.LastChunk)
	dst = pbwire.AppendObject(dst, 6, u.Metadata)
	return pbwire.End(dst, at)
}

func appendStatus(dst []byte, number protowire.Number, s *a2a.Status) []byte {
	dst, at := pbwire.Begin(dst, number)
	dst = pbwire.AppendInt(dst, 1, spelling.NumberOf(s.State))
	if s.Message != nil {
		dst = appendMessage(dst, 2, s.Message)
	}
	dst = pbwire.AppendTime(dst, 3, s.Time)
	return pbwire.End(dst, at)
}

func appendArtifact(dst []byte, number protowire.Number, a *a2a.Artifact) []byte {
	dst, at := pbwire.Begin(dst, number)
	dst = pbwire.AppendString(dst, 1, a.ID)
	dst = pbwire.AppendString(dst, 2, a.Name)
	dst = pbwire.AppendString(dst, 3, a.Description)
	dst = appendParts(dst, 4, a.Parts)
	dst = pbwire.AppendObject(dst, 5, a.Metadata)
	dst = pbwire.AppendStrings(dst, 6, a.Extensions)
	return pbwire.End(dst, at)
}

func appendParts(dst []byte, number protowire.Number, parts []a2a.Part) []byte {
	for i := range parts {
		inner, at := pbwire.Begin(dst, number)
		dst = pbwire.End(appendPart(inner, &parts[i]), at)
	}
	return dst
}

func appendPart(dst []byte, p *a2a.Part) []byte {
	switch p.Content {
	case a2a.ContentRaw:
		dst = pbwire.AppendBytes(dst, 2, p.Raw)
	case a2a.ContentURL:
		dst = pbwire.AppendText(dst, 3, p.URL)
	case a2a.ContentData:
		dst = pbwire.AppendValue(dst, 4, p.Data)
	default:
		dst = pbwire.AppendText(dst, 1, p.Text)
	}
	dst = pbwire.AppendObject(dst, 5, p.Metadata)
	dst = pbwire.AppendString(dst, 6, p.Filename)
	return pbwire.AppendString(dst, 7, p.MediaType)
}
