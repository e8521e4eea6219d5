// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// response reads one response.
type response struct {
	*stream.Body
	limits      *stream.Limits
	internal    func(kind string)
	turn        *backend.Turn
	disposition string
	emit        backend.Emit
	watchdog    *stream.Watchdog
	// batch has the events of one read.
	batch []a2a.Event
	// free and texts are memory preallocated for the rest of the batch.
	free  []partUpdate
	texts strings.Builder
	// linesPerEvent is the number of lines that most agents write for one event of a stream of
	// this media type. It is 0 for responses that are not such a stream.
	linesPerEvent int
	// artifact is the id of the artifact of the turn. hasArtifact is true once the artifact
	// exists.
	artifact    string
	hasArtifact bool
	// paused is true while the agent waits for its client.
	paused bool
	// hasEvent is true once a line of the stream was an event or [DONE]. messages and others count
	// the events of kind message and those of other kinds.
	hasEvent         bool
	messages, others int
	// refused is the error of Admit, nil for none. It ends the response.
	refused error
}

// flush emits the batch.
func (r *response) flush() error {
	for i := range r.batch {
		if s := r.batch[i].Status; s != nil {
			r.paused = s.Status.State.Interrupted()
		}
	}
	err := r.emit.Flush(&r.batch)
	r.watchdog.Pause(r.paused)
	return err
}

// partUpdate is an update of an artifact with its part. The updates of one read are
// allocated together.
type partUpdate struct {
	update a2a.ArtifactUpdate
	parts  [1]a2a.Part
}

// maxShared bounds the number of updates that are allocated together, because one update in
// use prevents the garbage collector from freeing the others.
const maxShared = 32

// sharing returns how many updates to allocate together: the number of events that have
// already arrived after the current one, but at least 1 and at most maxShared. The current
// event is not counted in addition, because the last of the later events is the status at
// the end of most turns and needs no update.
func (r *response) sharing() int {
	if r.linesPerEvent == 0 {
		return 1
	}
	return min(max(r.PendingLines()/r.linesPerEvent, 1), maxShared)
}

func (r *response) newPart() *partUpdate {
	if len(r.free) == 0 {
		r.free = make([]partUpdate, r.sharing())
	}
	p := &r.free[0]
	r.free = r.free[1:]
	return p
}

// copyText copies a short text into memory that the texts of one read share.
func (r *response) copyText(text []byte) string {
	const short = 256
	if len(text) > short {
		return string(text)
	}
	if r.texts.Cap()-r.texts.Len() < len(text) {
		n := r.sharing()
		if n == 1 {
			return string(text)
		}
		r.texts = strings.Builder{}
		r.texts.Grow(n * max(len(text), 16))
	}
	at := r.texts.Len()
	r.texts.Write(text)
	return r.texts.String()[at:]
}

// addPart adds a part to the artifact of the turn. The store joins consecutive texts, so
// that an answer in a thousand chunks is one text.
func (r *response) addPart(part a2a.Part, last bool) {
	p := r.newPart()
	p.parts[0] = part
	r.addUpdate(p, last)
}

// addText adds a text to the artifact of the turn, like addPart, but without copying a
// Part.
func (r *response) addText(text []byte) {
	p := r.newPart()
	p.parts[0].Content = a2a.ContentText
	p.parts[0].Text = r.copyText(text)
	r.addUpdate(p, false)
}

func (r *response) addUpdate(p *partUpdate, last bool) {
	if !r.hasArtifact {
		r.artifact = backend.ArtifactID(r.turn.Number)
	}
	// A new update is zero, and setting its fields is cheaper than copying a whole
	// ArtifactUpdate.
	u := &p.update
	u.TaskID = r.turn.TaskID
	u.ContextID = r.turn.ContextID
	u.Artifact.ID = r.artifact
	u.Artifact.Parts = p.parts[:]
	u.Append = r.hasArtifact
	u.JoinText = true
	u.LastChunk = last
	r.hasArtifact = true
	r.batch = append(r.batch, a2a.Event{Artifact: u})
}
