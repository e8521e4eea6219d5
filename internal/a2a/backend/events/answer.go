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
type answer struct {
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
	pieces []piece
	texts  strings.Builder
	said   int
	// artifact is that of the turn, which exists once it has begun.
	artifact string
	begun    bool
	// paused is true while the agent waits for its client.
	paused bool
	// heard is true once a line of the stream was an event or [DONE].
	heard bool
}

// read does what the media type asks for.
func (a *answer) read() error {
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
func (a *answer) send() error {
	if len(a.batch) == 0 {
		return nil
	}
	for i := range a.batch {
		if s := a.batch[i].Status; s != nil {
			a.paused = s.Status.State.Interrupted()
		}
	}
	err := a.emit(a.batch)
	a.said = len(a.batch)
	clear(a.batch)
	a.batch = a.batch[:0]
	a.watchdog.Pause(a.paused)
	return err
}

// piece is an update with its part. Those of one read lie side by side.
type piece struct {
	update a2a.ArtifactUpdate
	parts  [1]a2a.Part
}

// maxTogether bounds what one piece that is kept may hold of the memory of
// others.
const maxTogether = 32

func (a *answer) room() *piece {
	if len(a.pieces) == 0 {
		a.pieces = make([]piece, min(max(a.said, 1), maxTogether))
	}
	p := &a.pieces[0]
	a.pieces = a.pieces[1:]
	return p
}

// keep copies a short text beside those of the same read.
func (a *answer) keep(text []byte) string {
	const short = 256
	if len(text) > short || a.said < 2 {
		return string(text)
	}
	if a.texts.Cap()-a.texts.Len() < len(text) {
		a.texts = strings.Builder{}
		a.texts.Grow(min(a.said, maxTogether) * max(len(text), 16))
	}
	at := a.texts.Len()
	a.texts.Write(text)
	return a.texts.String()[at:]
}

// add adds a part to the artifact of the turn. Text joins text: an answer that
// arrives in a thousand chunks reads as one.
func (a *answer) add(part a2a.Part, last bool) {
	p := a.room()
	p.parts[0] = part
	a.put(p, last)
}

// chunk is add for text, which is what most parts are.
func (a *answer) chunk(text []byte) {
	p := a.room()
	p.parts[0].Content, p.parts[0].Text = a2a.ContentText, a.keep(text)
	a.put(p, false)
}

func (a *answer) put(p *piece, last bool) {
	if !a.begun {
		a.artifact = backend.ArtifactID(a.turn.Number)
	}
	// Most of the room stays as it was made.
	u := &p.update
	u.TaskID, u.ContextID = a.turn.TaskID, a.turn.ContextID
	u.Artifact.ID, u.Artifact.Parts = a.artifact, p.parts[:]
	u.Append, u.JoinText, u.LastChunk = a.begun, true, last
	a.begun = true
	a.batch = append(a.batch, a2a.Event{Artifact: u})
}

// json reads one value: an event, or data.
func (a *answer) json() error {
	body, err := a.Whole()
	if err != nil || blank(body) {
		return err
	}
	kind, err := a.event(body, true)
	if err != nil {
		return backend.Unrecognized("The agent's answer "+stream.Fault(err, "an event"), body, err)
	}
	if kind == notEvent {
		value, err := dataPart(body)
		if err != nil {
			return backend.Unrecognized("The agent's answer "+stream.Fault(err, "an event"), body, err)
		}
		a.add(value, true)
	}
	return a.send()
}

// file reads anything else.
func (a *answer) file(mediaType string) error {
	body, err := a.Whole()
	if err != nil || len(body) == 0 {
		return err
	}
	_, params, _ := mime.ParseMediaType(a.disposition)
	a.add(a2a.Part{
		Content: a2a.ContentRaw, Raw: body, MediaType: mediaType, Filename: params["filename"],
	}, true)
	return a.send()
}
