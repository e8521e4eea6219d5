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
	// maxJoined bounds the pieces of an artifact that are sent as one.
	maxJoined = 256 << 10
	// maxTask bounds the artifacts in a task that is posted whole. Beyond it the
	// receiver has to ask for them.
	maxTask = 8 << 20
)

// notification is one request to a receiver.
type notification struct {
	// last is the number of the last event that it tells of.
	last     uint64
	terminal bool
	// encode appends the body.
	encode func(dst []byte) []byte
}

func version10(d a2a.Dialect) bool { return d == a2a.DialectV10 || d == a2a.DialectV10GRPC }

// ofSnapshot tells where a task is, when the log no longer says how it got there.
func ofSnapshot(d a2a.Dialect, snapshot *a2a.Record) *notification {
	return &notification{
		last:     snapshot.Seq,
		terminal: snapshot.Task.Status.State.Terminal(),
		encode: func(dst []byte) []byte {
			t := bare(snapshot.Task)
			if version10(d) {
				return protojson.V10.AppendEvent(dst, &a2a.Event{Task: t})
			}
			return appendTask(dst, d, t)
		},
	}
}

// ofStatus tells of a new status. Before 1.0 that is the task as it was then.
func ofStatus(d a2a.Dialect, r *a2a.Record, task *a2a.Task) *notification {
	return &notification{
		last:     r.Seq,
		terminal: r.Status.Status.State.Terminal(),
		encode: func(dst []byte) []byte {
			if version10(d) {
				return append(dst, r.Encoded(a2a.DialectV10, protojson.V10.AppendEvent)...)
			}
			t := *bare(task)
			t.Status = r.Status.Status
			return appendTask(dst, d, &t)
		},
	}
}

// appendTask appends a task as versions before 1.0 post it. Whatever the
// binding, those of 0.2 and 0.3 posted the JSON of JSON-RPC.
func appendTask(dst []byte, d a2a.Dialect, t *a2a.Task) []byte {
	if d == a2a.DialectV01 {
		return v01.AppendTask(dst, t)
	}
	return v03.AppendTask(dst, t)
}

// bare returns a task without its history and, when they are too much to post,
// without its artifacts.
func bare(t *a2a.Task) *a2a.Task {
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

// ofArtifact tells of the artifact update that records begin with, and of the
// ones behind it that go on with the same artifact, up to the event numbered
// until; 0 is no limit. It reports whether more may follow.
func ofArtifact(records []*a2a.Record, until uint64) (n *notification, open bool) {
	first := records[0]
	size, count := first.Artifact.Artifact.Size(), 1
	last := first
	for _, r := range records[1:] {
		if until != 0 && r.Seq > until || r.Status != nil || last.Artifact.LastChunk {
			break
		}
		if r.Artifact == nil {
			// A message of the client is nobody's notification.
			count++
			continue
		}
		size += r.Artifact.Artifact.Size()
		if size > maxJoined || !continues(first.Artifact, r.Artifact) {
			break
		}
		last = r
		count++
	}
	n = &notification{last: last.Seq, encode: func(dst []byte) []byte {
		if last == first {
			return append(dst, first.Encoded(a2a.DialectV10, protojson.V10.AppendEvent)...)
		}
		return protojson.V10.AppendEvent(dst, &a2a.Event{Artifact: joined(records[:count])})
	}}
	return n, count == len(records) && !last.Artifact.LastChunk && size < maxJoined
}

// continues reports whether an update adds nothing but parts to an artifact
// that another update began.
func continues(first, u *a2a.ArtifactUpdate) bool {
	a, b := &u.Artifact, &first.Artifact
	return u.Append && a.ID == b.ID && u.Metadata == nil && a.Metadata == nil &&
		(a.Name == "" || a.Name == b.Name) && (a.Description == "" || a.Description == b.Description) &&
		(len(a.Extensions) == 0 || slices.Equal(a.Extensions, b.Extensions))
}

// joined is one update that says the same as many.
func joined(records []*a2a.Record) *a2a.ArtifactUpdate {
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

func addPart(parts []a2a.Part, p a2a.Part, join bool) []a2a.Part {
	if join && len(parts) > 0 && plainText(&p) && plainText(&parts[len(parts)-1]) {
		parts[len(parts)-1].Text += p.Text
		return parts
	}
	return append(parts, p)
}

func plainText(p *a2a.Part) bool {
	return p.Content == a2a.ContentText && p.Filename == "" && p.MediaType == "" && p.Metadata == nil
}
