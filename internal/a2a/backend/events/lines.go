// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

var errUnknownKind = errors.New("it is neither of a known kind nor a part")

// ndjson reads one event from each line.
func (r *response) ndjson() error {
	return r.checkEnd(r.Lines(r.handleEvent, r.flush))
}

// sse reads one event from the data of each server-sent event.
func (r *response) sse() error {
	return r.checkEnd(r.SSE(r.handleEvent, r.flush))
}

// checkEnd checks the end of a stream without a terminal event. The stream is complete if
// the framing of the body marks its end and if the stream had an event or [DONE]. After an
// exception in a generator, web frameworks end a chunked body as if it were complete, so a
// stream without an event is a failure of the agent, unless Content-Length announced an
// empty body.
func (r *response) checkEnd(err error) error {
	switch {
	case err != nil:
		return err
	case !r.hasEvent && !r.AtEnd():
		return backend.Interrupted("The agent's event stream ended without an event; an agent that has nothing to say ends with a status-update of state completed", nil)
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
	if err == nil {
		err = errUnknownKind
	}
	return backend.Unrecognized(fmt.Sprintf("The agent's event in line %d %s", number, stream.DecodeReason(err, "an event")), text, err)
}

func isBlank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }
