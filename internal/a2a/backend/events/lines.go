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

// ndjson reads an event a line.
func (a *response) ndjson() error {
	return a.checkEnd(a.Lines(a.handleEvent, a.flush))
}

// sse reads an event a data field.
func (a *response) sse() error {
	return a.checkEnd(a.SSE(a.handleEvent, a.flush))
}

// stream judges the end of a stream that had no terminal event. The stream is
// complete when the framing of the body says so and when it held an event or
// [DONE]. Web frameworks end a chunked body properly after their generator raised
// an exception, so a stream without an event is a failure of the agent, unless
// Content-Length announced it.
func (a *response) checkEnd(err error) error {
	switch {
	case err != nil:
		return err
	case !a.hasEvent && !a.AtEnd():
		return backend.Interrupted("The agent's event stream ended without an event; an agent that has nothing to say ends with a status-update of state completed", nil)
	case a.hasEvent && !a.HasFraming():
		return backend.Interrupted("The agent's answer ended without a final event, and has no framing that says that it is whole", nil)
	default:
		return nil
	}
}

// line reads one event. It skips blank lines and [DONE], and fails the turn for
// everything else that is not an event, after it sent what came before.
func (a *response) handleEvent(number int, text []byte) error {
	text = bytes.TrimSpace(text)
	if isBlank(text) {
		return nil
	}
	a.hasEvent = true
	if string(text) == "[DONE]" {
		return nil
	}
	if len(text) > a.limits.MaxEvent {
		return a.TooLong(number)
	}
	shape, err := a.decodeEvent(text, false)
	if err == nil && shape != notEvent {
		return nil
	}
	if sendErr := a.flush(); sendErr != nil {
		return sendErr
	}
	if err == nil {
		err = errUnknownKind
	}
	return backend.Unrecognized(fmt.Sprintf("The agent's event in line %d %s", number, stream.DecodeReason(err, "an event")), text, err)
}

func isBlank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }
