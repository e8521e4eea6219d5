// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pbv03 is the binary form of A2A 0.2 and 0.3: the messages of the
// protobuf package a2a.v1, with the fields that later SDKs of 0.3 added. It
// turns bytes into the domain and back, for servers and for clients.
//
// The package is pure: it knows no transport, no clock and no engine, and
// makes up no ids. It holds no generated code; its tests do, and compare.
// Fields stand in the order of their numbers. Metadata and data go through
// google.protobuf.Struct, which costs numbers some of their digits: see
// pbwire.AppendObject.
package pbv03

import (
	"encoding/base64"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonobject"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/spelling"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
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

// AppendPush appends the content of a TaskPushNotificationConfig.
func AppendPush(dst []byte, c *a2a.PushConfig) []byte {
	dst = pbwire.AppendString(dst, 1, configName(c.TaskID, c.ID))
	return appendPushConfig(dst, 2, c)
}

func appendPushConfig(dst []byte, number protowire.Number, c *a2a.PushConfig) []byte {
	dst, at := pbwire.Begin(dst, number)
	dst = pbwire.AppendString(dst, 1, c.ID)
	dst = pbwire.AppendString(dst, 2, c.URL)
	dst = pbwire.AppendString(dst, 3, c.Token)
	if c.Scheme != "" || c.Credentials != "" {
		inner, within := pbwire.Begin(dst, 4)
		inner = pbwire.AppendString(inner, 1, c.Scheme)
		inner = pbwire.AppendString(inner, 2, c.Credentials)
		dst = pbwire.End(inner, within)
	}
	return pbwire.End(dst, at)
}

// AppendPushPage appends the content of a ListTaskPushNotificationConfigResponse.
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
	// The tasks that it refers to have no home in this form.
	dst = pbwire.AppendStrings(dst, 7, m.Extensions)
	return pbwire.End(dst, at)
}

func appendStatusUpdate(dst []byte, number protowire.Number, u *a2a.StatusUpdate) []byte {
	dst, at := pbwire.Begin(dst, number)
	dst = pbwire.AppendString(dst, 1, u.TaskID)
	dst = pbwire.AppendString(dst, 2, u.ContextID)
	dst = appendStatus(dst, 3, &u.Status)
	dst = pbwire.AppendBool(dst, 4, v03.Final(u))
	dst = pbwire.AppendObject(dst, 5, u.Metadata)
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
	dst = pbwire.AppendString(dst, 3, a.Name)
	dst = pbwire.AppendString(dst, 4, a.Description)
	dst = appendParts(dst, 5, a.Parts)
	dst = pbwire.AppendObject(dst, 6, a.Metadata)
	dst = pbwire.AppendStrings(dst, 7, a.Extensions)
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
	metadata := p.Metadata
	switch p.Content {
	case a2a.ContentRaw, a2a.ContentURL:
		dst = appendFile(dst, 2, p)
	case a2a.ContentData:
		dst, metadata = appendData(dst, 3, p)
	default:
		// A media type of a text has no home in this version.
		dst = pbwire.AppendText(dst, 1, p.Text)
	}
	return pbwire.AppendObject(dst, 4, metadata)
}

// appendData writes a value that is no object as {"value":...}, and returns the
// metadata with a mark that says so.
func appendData(dst []byte, number protowire.Number, p *a2a.Part) (_ []byte, metadata a2a.Object) {
	dst, at := pbwire.Begin(dst, number)
	if len(p.Data) > 0 && p.Data[0] == '{' {
		return pbwire.End(pbwire.AppendObject(dst, 1, a2a.Object(p.Data)), at), p.Metadata
	}
	dst, within := pbwire.Begin(dst, 1)
	dst = pbwire.End(pbwire.AppendMember(dst, "value", p.Data), within)
	_, metadata = jsonobject.Cut(p.Metadata, compatName)
	return pbwire.End(dst, at), jsonobject.With(metadata, compatName, a2a.Value("true"))
}

// appendFile writes the base64 of the bytes where the bytes belong: the SDKs
// of this version do, and read nothing else.
func appendFile(dst []byte, number protowire.Number, p *a2a.Part) []byte {
	dst, at := pbwire.Begin(dst, number)
	if p.Content == a2a.ContentURL {
		dst = pbwire.AppendText(dst, 1, p.URL)
	} else {
		inner, within := pbwire.Begin(dst, 2)
		dst = pbwire.End(base64.StdEncoding.AppendEncode(inner, p.Raw), within)
	}
	dst = pbwire.AppendString(dst, 3, p.MediaType)
	dst = pbwire.AppendString(dst, 4, p.Filename)
	return pbwire.End(dst, at)
}
