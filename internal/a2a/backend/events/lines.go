// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// bufferSize is what a stream holds while it is idle. Longer lines grow it.
const bufferSize = 8 << 10

var buffers = sync.Pool{New: func() any { b := make([]byte, bufferSize); return &b }}

func borrow() *[]byte { return buffers.Get().(*[]byte) }

func giveBack(b *[]byte) { buffers.Put(b) }

// lines reads a body line by line. It calls line with each, without its end,
// and flush when all that has arrived is read. A line without an end counts
// when the body is whole.
func (a *answer) lines(line lineFunc, flush func() error) error {
	buffer := borrow()
	defer giveBack(buffer)
	room, held, number := *buffer, 0, 0
	for {
		if held == len(room) {
			if held > a.options.MaxEvent {
				return a.tooLong(number + 1)
			}
			room = append(room, make([]byte, len(room))...)
		}
		n, err := a.Read(room[held:])
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return err
		}
		rest, lineErr := split(room[:held+n], held, &number, line)
		if lineErr == nil && end && len(rest) > 0 {
			lineErr = line(number+1, bytes.TrimSuffix(rest, []byte("\r")))
		}
		if lineErr != nil {
			return lineErr
		}
		if err := flush(); err != nil || end {
			return err
		}
		held = copy(room, rest)
	}
}

type lineFunc func(number int, text []byte) error

// split calls line with each line of text that has an end, and returns what
// follows the last. It has been seen that the first bytes hold none.
func split(text []byte, seen int, number *int, line lineFunc) (rest []byte, err error) {
	for {
		at := bytes.IndexByte(text[seen:], '\n')
		if at < 0 {
			return text, nil
		}
		*number++
		if err := line(*number, bytes.TrimSuffix(text[:seen+at], []byte("\r"))); err != nil {
			return nil, err
		}
		text, seen = text[seen+at+1:], 0
	}
}

func (a *answer) tooLong(line int) error {
	return backend.Failed(fmt.Sprintf("The agent's event in line %d exceeds %d bytes", line, a.options.MaxEvent), nil)
}

// ndjson reads an event a line.
func (a *answer) ndjson() error {
	return a.stream(a.lines(a.line, a.send))
}

// sse reads an event a data field (WHATWG HTML section 9.2). A block that the
// body ends in counts as well.
func (a *answer) sse() error {
	var data []byte
	at := 0
	dispatch := func() error {
		if at == 0 {
			return nil
		}
		err := a.line(at, data)
		data, at = data[:0], 0
		return err
	}
	err := a.lines(func(number int, text []byte) error {
		if len(text) == 0 {
			return dispatch()
		}
		value, ok := bytes.CutPrefix(text, []byte("data"))
		if !ok || len(value) > 0 && value[0] != ':' {
			return nil
		}
		value = bytes.TrimPrefix(bytes.TrimPrefix(value, []byte(":")), []byte(" "))
		if at == 0 {
			at = number
		} else {
			data = append(data, '\n')
		}
		if data = append(data, value...); len(data) > a.options.MaxEvent {
			return a.tooLong(at)
		}
		return nil
	}, a.send)
	if err == nil {
		err = dispatch()
	}
	if err == nil {
		err = a.send()
	}
	return a.stream(err)
}

// stream judges the end of a stream that had no terminal event: it is good
// when the framing of the body vouches that nothing is missing.
func (a *answer) stream(err error) error {
	if err == nil && a.bytes > 0 && !a.framed() {
		return backend.Failed("The agent's answer ended without a final event, and has no framing that says that it is whole", nil)
	}
	return err
}

// line reads one event. What a stream may be sprinkled with is skipped.
func (a *answer) line(number int, text []byte) error {
	text = bytes.TrimSpace(text)
	if blank(text) || string(text) == "[DONE]" {
		return nil
	}
	if len(text) > a.options.MaxEvent {
		return a.tooLong(number)
	}
	if _, err := a.event(text, false); err != nil {
		// What came before the bad line was said.
		if sendErr := a.send(); sendErr != nil {
			return sendErr
		}
		return backend.Failed(fmt.Sprintf("The agent's event in line %d %s", number, fault(err)), err)
	}
	return nil
}

func blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }
