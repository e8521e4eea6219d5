// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v03 is the JSON of A2A 0.2 and 0.3, whose objects say what they are
// in a member named kind. It turns bytes into the domain and back.
//
// The package is pure: it knows no transport, no envelope, no clock and no
// engine, and makes up no ids. Unknown members are left out.
package v03

import (
	"bytes"
	"encoding/base64"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/spelling"
)

// AppendEvent appends a task, a message, a status-update or an
// artifact-update.
func AppendEvent(dst []byte, e *a2a.Event) []byte {
	switch {
	case e.Task != nil:
		return AppendTask(dst, e.Task)
	case e.Message != nil:
		return AppendMessage(dst, e.Message)
	case e.Status != nil:
		return appendStatusUpdate(dst, e.Status)
	case e.Artifact != nil:
		return appendArtifactUpdate(dst, e.Artifact)
	default:
		return append(dst, "null"...)
	}
}

// AppendTask appends a task.
func AppendTask(dst []byte, t *a2a.Task) []byte {
	dst = append(dst, `{"kind":"task","id":`...)
	dst = appendString(dst, t.ID)
	dst = append(dst, `,"contextId":`...)
	dst = appendString(dst, t.ContextID)
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
		dst = append(dst, `,"history":`...)
		dst = AppendMessages(dst, t.History)
	}
	dst = appendMetadata(dst, t.Metadata)
	return append(dst, '}')
}

// AppendMessages appends an array of messages.
func AppendMessages(dst []byte, messages []*a2a.Message) []byte {
	dst = append(dst, '[')
	for i, m := range messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendMessage(dst, m)
	}
	return append(dst, ']')
}

// AppendMessage appends a message.
func AppendMessage(dst []byte, m *a2a.Message) []byte {
	dst = append(dst, `{"kind":"message","messageId":`...)
	dst = appendString(dst, m.ID)
	if m.Role == a2a.RoleUser {
		dst = append(dst, `,"role":"user"`...)
	} else {
		dst = append(dst, `,"role":"agent"`...)
	}
	if m.TaskID != "" {
		dst = append(dst, `,"taskId":`...)
		dst = appendString(dst, m.TaskID)
	}
	if m.ContextID != "" {
		dst = append(dst, `,"contextId":`...)
		dst = appendString(dst, m.ContextID)
	}
	dst = append(dst, `,"parts":`...)
	dst = appendParts(dst, m.Parts)
	dst = appendMetadata(dst, m.Metadata)
	dst = appendStrings(dst, `,"extensions":[`, m.Extensions)
	dst = appendStrings(dst, `,"referenceTaskIds":[`, m.ReferenceTasks)
	return append(dst, '}')
}

// Final reports what a status-update says about the end of its stream: true
// closes it.
func Final(u *a2a.StatusUpdate) bool {
	return u.Status.State.Terminal() || u.Status.State == a2a.StateInputRequired && !u.Paused
}

func appendStatusUpdate(dst []byte, u *a2a.StatusUpdate) []byte {
	dst = append(dst, `{"kind":"status-update","taskId":`...)
	dst = appendString(dst, u.TaskID)
	dst = append(dst, `,"contextId":`...)
	dst = appendString(dst, u.ContextID)
	dst = append(dst, `,"status":`...)
	dst = appendStatus(dst, &u.Status)
	dst = appendBool(dst, `,"final":`, Final(u))
	dst = appendMetadata(dst, u.Metadata)
	return append(dst, '}')
}

func appendArtifactUpdate(dst []byte, u *a2a.ArtifactUpdate) []byte {
	dst = append(dst, `{"kind":"artifact-update","taskId":`...)
	dst = appendString(dst, u.TaskID)
	dst = append(dst, `,"contextId":`...)
	dst = appendString(dst, u.ContextID)
	dst = append(dst, `,"artifact":`...)
	dst = appendArtifact(dst, &u.Artifact)
	dst = appendBool(dst, `,"append":`, u.Append)
	dst = appendBool(dst, `,"lastChunk":`, u.LastChunk)
	dst = appendMetadata(dst, u.Metadata)
	return append(dst, '}')
}

func appendStatus(dst []byte, s *a2a.Status) []byte {
	dst = append(dst, `{"state":"`...)
	dst = append(dst, s.State.String()...)
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
	if a.Name != "" {
		dst = append(dst, `,"name":`...)
		dst = appendString(dst, a.Name)
	}
	if a.Description != "" {
		dst = append(dst, `,"description":`...)
		dst = appendString(dst, a.Description)
	}
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
	case a2a.ContentRaw, a2a.ContentURL:
		dst = appendFile(dst, p)
	case a2a.ContentData:
		if len(p.Data) == 0 || p.Data[0] != '{' {
			return appendWrappedData(dst, p)
		}
		dst = append(dst, `{"kind":"data","data":`...)
		dst = append(dst, p.Data...)
	default:
		// A media type of a text has no home in this version.
		dst = append(dst, `{"kind":"text","text":`...)
		dst = appendString(dst, p.Text)
	}
	dst = appendMetadata(dst, p.Metadata)
	return append(dst, '}')
}

func appendFile(dst []byte, p *a2a.Part) []byte {
	dst = append(dst, `{"kind":"file","file":{`...)
	if p.Filename != "" {
		dst = append(dst, `"name":`...)
		dst = appendString(dst, p.Filename)
		dst = append(dst, ',')
	}
	if p.MediaType != "" {
		dst = append(dst, `"mimeType":`...)
		dst = appendString(dst, p.MediaType)
		dst = append(dst, ',')
	}
	if p.Content == a2a.ContentURL {
		dst = append(dst, `"uri":`...)
		dst = appendString(dst, p.URL)
		return append(dst, '}')
	}
	dst = append(dst, `"bytes":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, p.Raw)
	return append(dst, `"}`...)
}

// appendWrappedData writes a value that is no object as {"value":...}, marked
// in the metadata.
func appendWrappedData(dst []byte, p *a2a.Part) []byte {
	dst = append(dst, `{"kind":"data","data":{"value":`...)
	if len(p.Data) == 0 {
		dst = append(dst, "null"...)
	}
	dst = append(dst, p.Data...)
	dst = append(dst, `},"metadata":{"`+compatName+`":true`...)
	metadata := p.Metadata
	if bytes.Contains(metadata, []byte(compatName)) {
		_, metadata = cutCompat(metadata)
	}
	// What follows the brace of an object that is not empty.
	if len(metadata) > len("{}") {
		dst = append(dst, ',')
		dst = append(dst, metadata[1:]...)
		return append(dst, '}')
	}
	return append(dst, `}}`...)
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

func appendBool(dst []byte, name string, b bool) []byte {
	dst = append(dst, name...)
	if b {
		return append(dst, "true"...)
	}
	return append(dst, "false"...)
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
