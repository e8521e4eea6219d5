// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"mime"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// answer reads one response.
type response struct {
	*stream.Body
	limits      *stream.Limits
	internal    func(kind string)
	turn        *backend.Turn
	disposition string
	emit        backend.Emit
	watchdog    *stream.Watchdog
	// batch holds the events of one read.
	batch []a2a.Event
	// pieces and texts are room for those to come, as many as the last read had.
	free      []partUpdate
	texts     strings.Builder
	lastBatch int
	// artifact is that of the turn, which exists once it has begun.
	artifact    string
	hasArtifact bool
	// paused is true while the agent waits for its client.
	paused bool
	// heard is true once a line of the stream was an event or [DONE].
	hasEvent bool
}

// read does what the media type asks for.
func (a *response) read() error {
	mediaType, params, err := a.MediaType()
	if err != nil {
		return err
	}
	switch mediaType {
	case "text/plain":
		return a.text()
	case "application/json":
		return a.json()
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/jsonlines", "application/x-jsonlines":
		return a.ndjson()
	case "text/event-stream":
		return a.sse()
	default:
		return a.file(mime.FormatMediaType(mediaType, params))
	}
}

// send emits what was gathered.
func (a *response) flush() error {
	if len(a.batch) == 0 {
		return nil
	}
	for i := range a.batch {
		if s := a.batch[i].Status; s != nil {
			a.paused = s.Status.State.Interrupted()
		}
	}
	err := a.emit(a.batch)
	a.lastBatch = len(a.batch)
	clear(a.batch)
	a.batch = a.batch[:0]
	a.watchdog.Pause(a.paused)
	return err
}

// piece is an update with its part. Those of one read lie side by side.
type partUpdate struct {
	update a2a.ArtifactUpdate
	parts  [1]a2a.Part
}

// maxTogether bounds what one piece that is kept may hold of the memory of
// others.
const maxShared = 32

func (a *response) newPart() *partUpdate {
	if len(a.free) == 0 {
		a.free = make([]partUpdate, min(max(a.lastBatch, 1), maxShared))
	}
	p := &a.free[0]
	a.free = a.free[1:]
	return p
}

// keep copies a short text beside those of the same read.
func (a *response) copyText(text []byte) string {
	const short = 256
	if len(text) > short || a.lastBatch < 2 {
		return string(text)
	}
	if a.texts.Cap()-a.texts.Len() < len(text) {
		a.texts = strings.Builder{}
		a.texts.Grow(min(a.lastBatch, maxShared) * max(len(text), 16))
	}
	at := a.texts.Len()
	a.texts.Write(text)
	return a.texts.String()[at:]
}

// add adds a part to the artifact of the turn. Text joins text: an answer that
// arrives in a thousand chunks reads as one.
func (a *response) addPart(part a2a.Part, last bool) {
	p := a.newPart()
	p.parts[0] = part
	a.addUpdate(p, last)
}

// chunk is add for text, which is what most parts are.
func (a *response) addText(text []byte) {
	p := a.newPart()
	p.parts[0].Content, p.parts[0].Text = a2a.ContentText, a.copyText(text)
	a.addUpdate(p, false)
}

func (a *response) addUpdate(p *partUpdate, last bool) {
	if !a.hasArtifact {
		a.artifact = backend.ArtifactID(a.turn.Number)
	}
	// Most of the room stays as it was made.
	u := &p.update
	u.TaskID, u.ContextID = a.turn.TaskID, a.turn.ContextID
	u.Artifact.ID, u.Artifact.Parts = a.artifact, p.parts[:]
	u.Append, u.JoinText, u.LastChunk = a.hasArtifact, true, last
	a.hasArtifact = true
	a.batch = append(a.batch, a2a.Event{Artifact: u})
}

// json reads one value: an event, or data.
func (a *response) json() error {
	body, err := a.ReadAll()
	if err != nil || isBlank(body) {
		return err
	}
	kind, err := a.decodeEvent(body, true)
	if err != nil {
		return backend.Unrecognized("The agent's answer "+stream.DecodeReason(err, "an event"), body, err)
	}
	if kind == notEvent {
		value, err := dataPart(body)
		if err != nil {
			return backend.Unrecognized("The agent's answer "+stream.DecodeReason(err, "an event"), body, err)
		}
		a.addPart(value, true)
	}
	return a.flush()
}

// file reads anything else.
func (a *response) file(mediaType string) error {
	body, err := a.ReadAll()
	if err != nil || len(body) == 0 {
		return err
	}
	_, params, _ := mime.ParseMediaType(a.disposition)
	a.addPart(a2a.Part{
		Content: a2a.ContentRaw, Raw: body, MediaType: mediaType, Filename: params["filename"],
	}, true)
	return a.flush()
}
