// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v03 encodes the JSON of A2A 0.2 and 0.3, whose objects contain their type in a
// member named kind, and the requests and push configurations that 0.1 shares. Package
// jsondecode decodes this JSON.
//
// The package is pure: it has no transport, envelope, clock or engine, and generates no
// ids.
package v03

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsondecode"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/typedpart"
)

// DecodeEvent reads an event of an agent, as jsondecode.V03.
func DecodeEvent(text []byte) (a2a.Event, error) { return jsondecode.V03.DecodeEvent(text) }

// DecodeTask reads a task of an agent or a server, as jsondecode.V03.
func DecodeTask(text []byte) (*a2a.Task, error) { return jsondecode.V03.DecodeTask(text) }

// DecodePart reads a part of an agent, as jsondecode.V03.
func DecodePart(text []byte) (a2a.Part, error) { return jsondecode.V03.DecodePart(text) }

// form is the encoding of tasks and events. Its zero value is the encoding that
// 0.2 and 0.3 specify.
type form struct {
	// union adds the members that clients of 0.1 read. Clients of 0.1, 0.2 and 0.3
	// ignore unknown members.
	union bool
}

// AppendEvent appends a task, message, status-update or artifact-update. For an event
// without any of these, it appends null.
func AppendEvent(dst []byte, e *a2a.Event) []byte { return form{}.event(dst, e) }

// AppendTask appends a task.
func AppendTask(dst []byte, t *a2a.Task) []byte { return form{}.task(dst, t) }

// AppendMessage appends a message.
func AppendMessage(dst []byte, m *a2a.Message) []byte { return form{}.message(dst, m) }

// AppendTaskPage appends the response of ListTasks, a method of 1.0 that the SDK for Go also
// calls in 0.3. The tasks have the form of 0.3. Each scalar has two members, one in
// lowerCamelCase and one in snake_case: the SDK for Go reads the one in snake_case (see listV03
// in jsondecode).
func AppendTaskPage(dst []byte, page *a2a.TaskPage) []byte {
	dst = jsonwrite.Array(append(dst, `{"tasks":`...), page.Tasks, AppendTask)
	dst = jsonwrite.Member(dst, `,"nextPageToken":`, page.NextPageToken)
	dst = jsonwrite.Member(dst, `,"next_page_token":`, page.NextPageToken)
	dst = jsonwrite.Int(dst, `,"pageSize":`, page.PageSize)
	dst = jsonwrite.Int(dst, `,"page_size":`, page.PageSize)
	dst = jsonwrite.Int(dst, `,"totalSize":`, page.TotalSize)
	dst = jsonwrite.Int(dst, `,"total_size":`, page.TotalSize)
	return append(dst, '}')
}

// AppendUnionEvent appends an event that clients of 0.1, 0.2 and 0.3 can read. It is for
// clients that do not declare their version. A client of 0.1 reads a task as a status
// event.
func AppendUnionEvent(dst []byte, e *a2a.Event) []byte { return form{union: true}.event(dst, e) }

// AppendUnionTask appends a task that clients of 0.1, 0.2 and 0.3 can read.
func AppendUnionTask(dst []byte, t *a2a.Task) []byte { return form{union: true}.task(dst, t) }

func (f form) parts(dst []byte, parts []a2a.Part) []byte {
	if f.union {
		return typedpart.Both.AppendAll(dst, parts)
	}
	return typedpart.Kind.AppendAll(dst, parts)
}

func (f form) event(dst []byte, e *a2a.Event) []byte {
	switch {
	case e.Task != nil:
		return f.task(dst, e.Task)
	case e.Message != nil:
		return f.message(dst, e.Message)
	case e.Status != nil:
		return f.statusUpdate(dst, e.Status)
	case e.Artifact != nil:
		return f.artifactUpdate(dst, e.Artifact)
	default:
		return append(dst, "null"...)
	}
}

func (f form) task(dst []byte, t *a2a.Task) []byte {
	dst = jsonwrite.Member(dst, `{"kind":"task","id":`, t.ID)
	if f.union {
		dst = jsonwrite.Member(dst, `,"sessionId":`, t.ContextID)
	}
	dst = jsonwrite.Member(dst, `,"contextId":`, t.ContextID)
	dst = append(dst, `,"status":`...)
	dst = f.status(dst, &t.Status)
	if len(t.Artifacts) > 0 {
		dst = append(dst, `,"artifacts":[`...)
		for i := range t.Artifacts {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = f.artifact(dst, &t.Artifacts[i], i)
		}
		dst = append(dst, ']')
	}
	if len(t.History) > 0 {
		dst = jsonwrite.Array(append(dst, `,"history":`...), t.History, f.message)
	}
	dst = jsonwrite.Metadata(dst, t.Metadata)
	return append(dst, '}')
}

func (f form) message(dst []byte, m *a2a.Message) []byte {
	dst = jsonwrite.Member(dst, `{"kind":"message","messageId":`, m.ID)
	if m.Role == a2a.RoleUser {
		dst = append(dst, `,"role":"user"`...)
	} else {
		dst = append(dst, `,"role":"agent"`...)
	}
	dst = jsonwrite.Optional(dst, `,"taskId":`, m.TaskID)
	dst = jsonwrite.Optional(dst, `,"contextId":`, m.ContextID)
	dst = append(dst, `,"parts":`...)
	dst = f.parts(dst, m.Parts)
	dst = appendMessageMetadata(dst, m.Metadata)
	dst = jsonwrite.Strings(dst, `,"extensions":`, m.Extensions)
	dst = jsonwrite.Strings(dst, `,"referenceTaskIds":`, m.ReferenceTasks)
	return append(dst, '}')
}

func (f form) statusUpdate(dst []byte, u *a2a.StatusUpdate) []byte {
	dst = append(dst, `{"kind":"status-update"`...)
	if f.union {
		dst = jsonwrite.Member(dst, `,"id":`, u.TaskID)
	}
	dst = jsonwrite.Member(dst, `,"taskId":`, u.TaskID)
	dst = jsonwrite.Member(dst, `,"contextId":`, u.ContextID)
	dst = append(dst, `,"status":`...)
	dst = f.status(dst, &u.Status)
	dst = jsonwrite.Bool(dst, `,"final":`, u.Final())
	dst = jsonwrite.Metadata(dst, u.Metadata)
	return append(dst, '}')
}

func (f form) artifactUpdate(dst []byte, u *a2a.ArtifactUpdate) []byte {
	dst = append(dst, `{"kind":"artifact-update"`...)
	if f.union {
		dst = jsonwrite.Member(dst, `,"id":`, u.TaskID)
	}
	dst = jsonwrite.Member(dst, `,"taskId":`, u.TaskID)
	dst = jsonwrite.Member(dst, `,"contextId":`, u.ContextID)
	dst = append(dst, `,"artifact":`...)
	dst = f.artifact(dst, &u.Artifact, u.Index)
	if f.union {
		dst = dst[:len(dst)-1]
		dst = jsonwrite.Bool(dst, `,"append":`, u.Append)
		dst = jsonwrite.Bool(dst, `,"lastChunk":`, u.LastChunk)
		dst = append(dst, '}')
	}
	dst = jsonwrite.Bool(dst, `,"append":`, u.Append)
	dst = jsonwrite.Bool(dst, `,"lastChunk":`, u.LastChunk)
	dst = jsonwrite.Metadata(dst, u.Metadata)
	return append(dst, '}')
}

func (f form) status(dst []byte, s *a2a.Status) []byte {
	dst = append(dst, `{"state":"`...)
	dst = append(dst, s.State.String()...)
	dst = append(dst, '"')
	if s.Message != nil {
		dst = append(dst, `,"message":`...)
		dst = f.message(dst, s.Message)
	}
	dst = jsonwrite.Time(dst, `,"timestamp":`, s.Time)
	return append(dst, '}')
}

func (f form) artifact(dst []byte, a *a2a.Artifact, index int) []byte {
	dst = jsonwrite.Member(dst, `{"artifactId":`, a.ID)
	if f.union {
		dst = jsonwrite.Int(dst, `,"index":`, index)
	}
	dst = jsonwrite.Optional(dst, `,"name":`, a.Name)
	dst = jsonwrite.Optional(dst, `,"description":`, a.Description)
	dst = append(dst, `,"parts":`...)
	dst = f.parts(dst, a.Parts)
	dst = jsonwrite.Metadata(dst, a.Metadata)
	dst = jsonwrite.Strings(dst, `,"extensions":`, a.Extensions)
	return append(dst, '}')
}

// inputRequest is a member of messages of one project that implements 0.3. In the domain, the
// metadata of the message contains it: see jsondecode.
const inputRequest = "inputRequest"

func appendMessageMetadata(dst []byte, metadata a2a.Object) []byte {
	if len(metadata) == 0 || !jsonread.MayHave(metadata, inputRequest) {
		return jsonwrite.Metadata(dst, metadata)
	}
	value, rest := jsonread.Cut(metadata, inputRequest)
	if len(value) > 0 && value[0] == '{' {
		dst = append(dst, `,"inputRequest":`...)
		return jsonwrite.Metadata(append(dst, value...), rest)
	}
	return jsonwrite.Metadata(dst, metadata)
}
