// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v01"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
)

const (
	// maxJoined bounds the updates of an artifact that one notification joins, in bytes.
	maxJoined = 256 << 10
	// maxTask bounds the artifacts of a task in a notification, in bytes. A larger task is
	// sent without artifacts, and the receiver has to read them.
	maxTask = 8 << 20
)

// notification is one request to a receiver.
type notification struct {
	// last is the number of the last event that the notification covers.
	last uint64
	// joined is true if the notification covers several events. Which events these are depends on when
	// they came.
	joined bool
	// terminal is true if the task has ended with that event.
	terminal bool
	// size is an estimate of the length of the body, in bytes.
	size int
	// encode returns the body, which other notifications may share.
	encode func() []byte
}

// isV10 reports whether notifications in a dialect have the form of 1.0. It has no default
// case, so that the linter (exhaustive) reports a new dialect.
func isV10(d a2a.Dialect) bool {
	switch d {
	case a2a.DialectV10, a2a.DialectV10GRPC:
		return true
	case a2a.DialectV01, a2a.DialectV03, a2a.DialectV03Proto, a2a.DialectV03GRPC, a2a.DialectKindREST, a2a.DialectUnion:
	}
	return false
}

// snapshotNotification returns a notification of the current task. It takes the place of the
// notifications of events that the log has dropped before they were delivered.
func snapshotNotification(d a2a.Dialect, snapshot *a2a.Record) *notification {
	t := withoutHistory(snapshot.Task)
	return &notification{
		last:     snapshot.Seq,
		terminal: snapshot.Task.Status.State.Terminal(),
		size:     t.Size(),
		encode: func() []byte {
			if isV10(d) {
				return protojson.V10.AppendEvent(nil, &a2a.Event{Task: t})
			}
			return encodeTask(d, t)
		},
	}
}

// statusNotification returns the notification of a status. Before 1.0, its body is the
// task as it was at that event; in 1.0, it is the status update.
func statusNotification(d a2a.Dialect, r *a2a.Record, task *a2a.Task) *notification {
	n := &notification{last: r.Seq, terminal: r.Status.Status.State.Terminal()}
	if isV10(d) {
		n.size = r.Size()
		n.encode = func() []byte { return r.Encoded(a2a.DialectV10, protojson.V10.AppendEvent) }
		return n
	}
	t := withoutHistory(task)
	t.Status = r.Status.Status
	n.size = t.Size()
	n.encode = func() []byte { return encodeTask(d, t) }
	return n
}

// encodeTask encodes a task in the form of versions before 1.0. 0.2 and 0.3 use the JSON
// of JSON-RPC for every binding.
func encodeTask(d a2a.Dialect, t *a2a.Task) []byte {
	if d == a2a.DialectV01 {
		return v01.AppendTask(nil, t)
	}
	return v03.AppendTask(nil, t)
}

// withoutHistory returns a task without its history, and without its artifacts if they
// exceed maxTask.
func withoutHistory(t *a2a.Task) *a2a.Task {
	trimmed := *t
	trimmed.History = nil
	size := 0
	for i := range t.Artifacts {
		size += t.Artifacts[i].Size()
	}
	if size > maxTask {
		trimmed.Artifacts = nil
	}
	return &trimmed
}

// artifactNotification returns the notification of the first record, which is an artifact
// update. It joins the following updates that extend the same artifact: up to the event
// numbered until or, if until is 0, up to maxJoined bytes. open is true if later updates may
// extend the notification.
func artifactNotification(records []*a2a.Record, until uint64) (n *notification, open bool) {
	first := records[0]
	size := first.Size()
	count := 1
	last := first
	for _, r := range records[1:] {
		if until != 0 && r.Seq > until || r.Status != nil || last.Artifact.LastChunk {
			break
		}
		if r.Artifact == nil {
			count++ // there is no notification of a message of the client
			continue
		}
		if until == 0 && size+r.Size() > maxJoined || !extends(first.Artifact, r.Artifact) {
			break
		}
		size += r.Size()
		last = r
		count++
	}
	n = &notification{last: last.Seq, joined: last != first, size: size, encode: func() []byte {
		if last == first {
			return first.Encoded(a2a.DialectV10, protojson.V10.AppendEvent)
		}
		return protojson.V10.AppendEvent(nil, &a2a.Event{Artifact: join(records[:count])})
	}}
	return n, count == len(records) && !last.Artifact.LastChunk && size < maxJoined
}

// extends reports whether an update only adds parts to an artifact that another update
// began.
func extends(first, u *a2a.ArtifactUpdate) bool {
	a := &u.Artifact
	b := &first.Artifact
	return u.Append && a.ID == b.ID && u.Metadata == nil && a.Metadata == nil &&
		(a.Name == "" || a.Name == b.Name) && (a.Description == "" || a.Description == b.Description) &&
		(len(a.Extensions) == 0 || slices.Equal(a.Extensions, b.Extensions))
}

// join returns one update that has the effect of several.
func join(records []*a2a.Record) *a2a.ArtifactUpdate {
	u := *records[0].Artifact
	u.Artifact.Parts = append([]a2a.Part(nil), u.Artifact.Parts...)
	for _, r := range records[1:] {
		if r.Artifact == nil {
			continue
		}
		u.LastChunk = r.Artifact.LastChunk
		for i := range r.Artifact.Artifact.Parts {
			u.Artifact.Parts = addPart(u.Artifact.Parts, r.Artifact.Artifact.Parts[i], r.Artifact.JoinText && i == 0)
		}
	}
	return &u
}

func addPart(parts []a2a.Part, p a2a.Part, joinText bool) []a2a.Part {
	if joinText && len(parts) > 0 && p.PlainText() && parts[len(parts)-1].PlainText() {
		parts[len(parts)-1].Text += p.Text
		return parts
	}
	return append(parts, p)
}
