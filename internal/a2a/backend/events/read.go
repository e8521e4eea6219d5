// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"unicode/utf8"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// read reads the response by its media type.
func (r *response) read() error {
	mediaType, params, err := r.MediaType()
	if err != nil {
		return err
	}
	switch mediaType {
	case "text/plain":
		return r.text()
	case "application/json":
		return r.json()
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/jsonlines", "application/x-jsonlines":
		return r.ndjson()
	case "text/event-stream":
		return r.sse()
	default:
		return r.file(mime.FormatMediaType(mediaType, params))
	}
}

// json reads one JSON value, which is an event or data. The value null is no content, because
// some clients cannot read a part with it.
func (r *response) json() error {
	body, err := r.ReadAll()
	if err != nil || isBlank(body) || string(bytes.TrimSpace(body)) == "null" {
		return err
	}
	kind, err := r.decodeEvent(body, true)
	if r.refused != nil {
		return r.refused
	}
	if err != nil {
		return backend.Unrecognized("The agent's answer "+stream.DecodeReason(err, "an event"), body, err)
	}
	if kind == notEvent {
		value, err := dataPart(body)
		if err != nil {
			return backend.Unrecognized("The agent's answer "+stream.DecodeReason(err, "an event"), body, err)
		}
		r.addPart(value, true)
	}
	return r.flush()
}

// file reads a response as one file. mediaType is a type for which read has no other method.
func (r *response) file(mediaType string) error {
	body, err := r.ReadAll()
	if err != nil || len(body) == 0 {
		return err
	}
	_, params, _ := mime.ParseMediaType(r.disposition)
	r.addPart(a2a.Part{
		Content: a2a.ContentRaw, Raw: body, MediaType: mediaType, Filename: params["filename"],
	}, true)
	return r.flush()
}

var errUnknownKind = errors.New("it is neither of a known kind nor a part")

// ndjson reads one event from each line.
func (r *response) ndjson() error {
	r.linesPerEvent = 1
	return r.checkEnd(r.Lines(r.handleEvent, r.flush))
}

// sse reads one event from the data of each server-sent event.
func (r *response) sse() error {
	r.linesPerEvent = 2 // the data and an empty line
	return r.checkEnd(r.SSE(r.handleEvent, r.flush))
}

// checkEnd checks the end of a stream without a terminal event. The stream is complete if
// the framing of the body marks its end and if the stream had an event or [DONE]. A single message
// is a whole answer without framing, too. After an
// exception in a generator, web frameworks end a chunked body as if it were complete. A
// stream without an event is therefore a failure of the agent, unless the body is as long as
// its Content-Length, such as an empty body with Content-Length: 0.
func (r *response) checkEnd(err error) error {
	switch {
	case err != nil:
		return err
	case !r.hasEvent && !r.AtEnd():
		return backend.Interrupted("The agent's event stream ended without an event; an agent that has nothing to say ends with a status-update of state completed", nil)
	case r.messages == 1 && r.others == 0 && !r.hasArtifact:
		return nil
	case r.hasEvent && !r.HasFraming():
		return backend.Interrupted("The agent's answer ended without a final event, and its framing does not show that it is whole", nil)
	default:
		return nil
	}
}

// handleEvent handles one event. It skips blank lines and [DONE]. If the text is anything
// else that is not an event, handleEvent emits the earlier events and fails the turn.
func (r *response) handleEvent(number int, text []byte) error {
	text = bytes.TrimSpace(text)
	if isBlank(text) {
		return nil
	}
	r.hasEvent = true
	if string(text) == "[DONE]" {
		return nil
	}
	if len(text) > r.limits.MaxEvent {
		return r.TooLong(number)
	}
	shape, err := r.decodeEvent(text, false)
	if err == nil && shape != notEvent {
		return nil
	}
	if sendErr := r.flush(); sendErr != nil {
		return sendErr
	}
	if r.refused != nil {
		return r.refused
	}
	if err == nil {
		err = errUnknownKind
	}
	return backend.Unrecognized(fmt.Sprintf("The agent's event in line %d %s", number, stream.DecodeReason(err, "an event")), text, err)
}

func isBlank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// text reads a response of plain text and emits each piece as a chunk of one artifact.
func (r *response) text() error {
	buffer := stream.NewBuffer()
	defer buffer.Release()
	held := 0
	for {
		room := buffer.Bytes
		n, err := r.Read(room[held:])
		chunk := room[:held+n]
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return err
		}
		last := end || r.AtEnd()
		ready := len(chunk)
		if !last {
			ready -= incompleteSuffix(chunk)
		}
		if ready > 0 || end && r.hasArtifact {
			r.addPart(a2a.TextPart(toValidUTF8(chunk[:ready])), last)
			if err := r.flush(); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
		held = copy(room, chunk[ready:])
		buffer.Resize(len(chunk), held)
	}
}

// incompleteSuffix returns the length of an incomplete UTF-8 character at the end of the
// text, in bytes; 0 if there is none.
func incompleteSuffix(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		tail := text[len(text)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// toValidUTF8 replaces each byte of invalid UTF-8 by U+FFFD.
func toValidUTF8(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	return string([]rune(string(text)))
}
