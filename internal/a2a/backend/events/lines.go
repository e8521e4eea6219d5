// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"bytes"
	"fmt"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// ndjson reads an event a line.
func (a *answer) ndjson() error {
	return a.stream(a.Lines(a.line, a.send))
}

// sse reads an event a data field.
func (a *answer) sse() error {
	return a.stream(a.SSE(a.line, a.send))
}

// stream judges the end of a stream that had no terminal event: it is good
// when the framing of the body vouches that nothing is missing.
func (a *answer) stream(err error) error {
	if err == nil && !a.Empty() && !a.Framed() {
		return backend.Interrupted("The agent's answer ended without a final event, and has no framing that says that it is whole", nil)
	}
	return err
}

// line reads one event. What a stream may be sprinkled with is skipped.
func (a *answer) line(number int, text []byte) error {
	text = bytes.TrimSpace(text)
	if blank(text) || string(text) == "[DONE]" {
		return nil
	}
	if len(text) > a.limits.MaxEvent {
		return a.TooLong(number)
	}
	if _, err := a.event(text, false); err != nil {
		// What came before the bad line was said.
		if sendErr := a.send(); sendErr != nil {
			return sendErr
		}
		return backend.Failed(fmt.Sprintf("The agent's event in line %d %s", number, stream.Fault(err, "an event")), err)
	}
	return nil
}

func blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }
