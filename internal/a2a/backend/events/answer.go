// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// Bounds on what is read only to use a connection again.
const (
	maxDiscard      = 64 << 10
	farewellPeriod  = 250 * time.Millisecond
	octetStream     = "application/octet-stream"
	reasonBrokenOff = "The agent's answer broke off"
)

// answer reads one response.
type answer struct {
	options  *Options
	turn     *backend.Turn
	resp     *http.Response
	emit     backend.Emit
	watchdog *watchdog
	// bytes counts what was read of the body.
	bytes int64
	// batch holds the events of one read.
	batch []a2a.Event
	// artifact is that of the turn, which exists once it has begun.
	artifact string
	begun    bool
	// paused is true while the agent waits for its client.
	paused bool
}

// read does what the media type asks for. A coding was not asked for, and its
// bytes would pass for text.
func (a *answer) read() error {
	if coding := a.resp.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return backend.Failed("The agent's answer is compressed, which the sidecar did not accept", nil)
	}
	mediaType, params, err := mime.ParseMediaType(a.resp.Header.Get("Content-Type"))
	if err != nil {
		mediaType = octetStream
	}
	switch mediaType {
	case "text/plain":
		return a.text()
	case "application/json":
		return a.json()
	case "application/x-ndjson":
		return a.ndjson()
	case "text/event-stream":
		return a.sse()
	default:
		return a.file(mime.FormatMediaType(mediaType, params))
	}
}

// Read reads the body, with its bounds. It implements io.Reader; whatever is
// not nil and not io.EOF is a failure.
func (a *answer) Read(p []byte) (int, error) {
	n, err := a.resp.Body.Read(p)
	if a.bytes += int64(n); a.bytes > a.options.MaxAnswer {
		return 0, backend.Failed(fmt.Sprintf("The agent's answer exceeds %d bytes", a.options.MaxAnswer), nil)
	}
	if n > 0 && !a.paused {
		a.watchdog.heard()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, backend.Failed(reasonBrokenOff, err)
	}
	return n, err //nolint:wrapcheck // io.EOF must be itself
}

// whole reads a body that is one thing.
func (a *answer) whole() ([]byte, error) {
	limit := a.options.MaxEvent
	body, err := io.ReadAll(io.LimitReader(a, int64(limit)+1))
	if err != nil {
		return nil, err //nolint:wrapcheck // it is a failure with its reason
	}
	if len(body) > limit {
		return nil, backend.Failed(fmt.Sprintf("The agent's answer exceeds %d bytes; only text and events may be longer", limit), nil)
	}
	return body, nil
}

// framed reports whether the framing of the body will tell its end from a
// broken connection.
func (a *answer) framed() bool {
	return a.resp.ContentLength >= 0 || len(a.resp.TransferEncoding) > 0 || a.resp.ProtoMajor > 1
}

// send emits what was gathered.
func (a *answer) send() error {
	if len(a.batch) == 0 {
		return nil
	}
	waited := a.paused
	for i := range a.batch {
		if s := a.batch[i].Status; s != nil {
			a.paused = s.Status.State.Interrupted()
		}
	}
	err := a.emit(a.batch)
	clear(a.batch)
	a.batch = a.batch[:0]
	switch {
	case a.paused:
		a.watchdog.rest()
	case waited:
		a.watchdog.heard()
	}
	return err
}

// piece adds parts to the artifact of the turn. Text joins text: an answer that
// arrives in a thousand chunks reads as one.
func (a *answer) piece(part a2a.Part, last bool) {
	if !a.begun {
		a.artifact = backend.ArtifactID(a.turn.Number)
	}
	p := &struct {
		update a2a.ArtifactUpdate
		parts  [1]a2a.Part
	}{parts: [1]a2a.Part{part}}
	p.update = a2a.ArtifactUpdate{
		TaskID: a.turn.TaskID, ContextID: a.turn.ContextID,
		Artifact: a2a.Artifact{ID: a.artifact, Parts: p.parts[:]},
		Append:   a.begun, JoinText: true, LastChunk: last,
	}
	a.begun = true
	a.batch = append(a.batch, a2a.Event{Artifact: &p.update})
}

// json reads one value: an event, or data.
func (a *answer) json() error {
	body, err := a.whole()
	if err != nil || blank(body) {
		return err
	}
	kind, err := a.event(body, true)
	if err != nil {
		return backend.Failed("The agent's answer "+fault(err), err)
	}
	if kind == notEvent {
		value, err := dataPart(body)
		if err != nil {
			return backend.Failed("The agent's answer "+fault(err), err)
		}
		a.piece(value, true)
	}
	return a.send()
}

// file reads anything else.
func (a *answer) file(mediaType string) error {
	body, err := a.whole()
	if err != nil || len(body) == 0 {
		return err
	}
	_, params, _ := mime.ParseMediaType(a.resp.Header.Get("Content-Disposition"))
	a.piece(a2a.Part{
		Content: a2a.ContentRaw, Raw: body, MediaType: mediaType, Filename: params["filename"],
	}, true)
	return a.send()
}

// farewell reads to the near end of an answer of which no more is wanted, so
// that the connection can be used again.
func (a *answer) farewell() {
	closing := time.AfterFunc(farewellPeriod, func() { a.watchdog.cancel(nil) })
	defer closing.Stop()
	discard(a.resp.Body)
}

func discard(body io.Reader) {
	_, _ = io.CopyN(io.Discard, body, maxDiscard)
}
