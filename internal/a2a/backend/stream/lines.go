// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// LineFunc handles a line or an event. line is the number, from 1, of the line or of the
// first line of the event. text is valid until the function returns.
type LineFunc func(line int, text []byte) error

// Lines reads the body line by line. It calls take with each line, without its line end. It
// calls flush after each read, when take has handled all complete lines that have arrived.
// At the end of the body, it also calls take with a last line that has no line end. It
// returns an error of take or flush at once.
func (b *Body) Lines(take LineFunc, flush func() error) error {
	return b.lines(take, flush, func(text []byte) []byte { return text })
}

// lines does the same as Lines. It passes each piece of the body to convert, which may
// change the piece in place, and reads the lines of the results.
func (b *Body) lines(take LineFunc, flush func() error, convert func(text []byte) []byte) error {
	buffer := NewBuffer()
	defer buffer.Release()
	held := 0
	number := 0
	for {
		if held == len(buffer.Bytes) {
			if err := b.grow(buffer, held, number+1); err != nil {
				return err
			}
		}
		room := buffer.Bytes
		n, err := b.Read(room[held:])
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return err
		}
		filled := held + n
		text := room[:held+len(convert(room[held:filled]))]
		rest, lineErr := b.split(text, held, &number, take)
		if lineErr == nil && end && len(rest) > 0 {
			lineErr = take(number+1, bytes.TrimSuffix(rest, []byte("\r")))
		}
		if lineErr != nil {
			return lineErr
		}
		if err := flush(); err != nil || end {
			return err
		}
		held = copy(room, rest)
		buffer.Resize(filled, held)
		if err := b.reserve(len(buffer.Bytes)); err != nil {
			return err
		}
	}
}

// grow makes room in a full buffer, for the largest event and its line end. line is the number of the line that
// the buffer holds.
func (b *Body) grow(buffer *Buffer, held, line int) error {
	if held > b.limits.MaxEvent {
		return b.TooLong(line)
	}
	size := min(2*len(buffer.Bytes), max(b.limits.MaxEvent+largeSize, held+1))
	if err := b.reserve(size); err != nil {
		return err
	}
	buffer.Grow(size)
	return nil
}

// split calls take with each complete line of text, and returns the bytes after the last
// line end. seen is the number of bytes at the beginning of text that an earlier call has
// searched without finding a line end. number counts the lines.
func (b *Body) split(text []byte, seen int, number *int, take LineFunc) (rest []byte, err error) {
	b.pendingLines = bytes.Count(text[seen:], []byte{'\n'})
	for {
		at := bytes.IndexByte(text[seen:], '\n')
		if at < 0 {
			return text, nil
		}
		*number++
		b.pendingLines--
		if err := take(*number, bytes.TrimSuffix(text[:seen+at], []byte("\r"))); err != nil {
			return nil, err
		}
		text = text[seen+at+1:]
		seen = 0
	}
}

// PendingLines returns the number of lines that have arrived completely and follow the line
// that Lines or SSE handles. It is 0 between reads.
func (b *Body) PendingLines() int { return b.pendingLines }

// TooLong returns the failure of an event that exceeds MaxEvent.
func (b *Body) TooLong(line int) error {
	return backend.Failed(fmt.Sprintf("The agent's event in line %d exceeds %d bytes", line, b.limits.MaxEvent), nil)
}

// lineEnds converts the line ends of event streams.
type lineEnds struct {
	// afterCR is true if the last piece ended with a CR. An LF that follows belongs to the
	// same line end.
	afterCR bool
}

// toLF replaces each CR LF and each other CR by LF, in place. text is the piece of a stream
// that follows the piece of the last call. A CR at the end of text is replaced at once,
// because the next piece may arrive much later.
func (l *lineEnds) toLF(text []byte) []byte {
	converted := text[:0]
	rest := text
	for {
		if l.afterCR && len(rest) > 0 {
			rest = bytes.TrimPrefix(rest, []byte("\n"))
			l.afterCR = false
		}
		at := bytes.IndexByte(rest, '\r')
		if at < 0 {
			return append(converted, rest...)
		}
		converted = append(append(converted, rest[:at]...), '\n')
		rest = rest[at+1:]
		l.afterCR = true
	}
}

// SSE reads the body as server-sent events (WHATWG HTML section 9.2). It calls take with
// the data of each event, and flush after each read. An event at the end of the body needs
// no empty line after it. SSE ignores comments, lines of white space, events without data
// and the fields event and retry. It stores the field id in LastEventID. Unlike the specification, it fails for any other
// line, because a part of the answer would be lost.
func (b *Body) SSE(take LineFunc, flush func() error) error {
	var data []byte
	at := 0
	dispatch := func() error {
		if at == 0 {
			return nil
		}
		err := take(at, data)
		data = data[:0]
		at = 0
		if cap(data) > largeSize {
			data = nil // do not keep a large buffer while the stream is idle
		}
		b.joined = 0 // the memory is released after the read
		return err
	}
	err := b.lines(func(number int, text []byte) error {
		if number == 1 {
			text = bytes.TrimPrefix(text, []byte("\uFEFF"))
		}
		if len(text) == 0 {
			return dispatch()
		}
		name, value := field(text)
		switch string(name) {
		case "data":
		case "id":
			return b.setEventID(number, value)
		case "", "event", "retry":
			return nil
		default:
			if err := flush(); err != nil {
				return err
			}
			return backend.Unrecognized(fmt.Sprintf("Line %d of the agent's answer is not a field of an event stream (data, event, id, retry)", number), text, nil, b.Secrets...)
		}
		value = bytes.TrimPrefix(value, []byte(" "))
		if at == 0 {
			at = number
		} else {
			data = append(data, '\n')
		}
		if len(data)+len(value) > b.limits.MaxEvent {
			return b.TooLong(at)
		}
		grown, err := b.join(data, value)
		data = grown
		return err
	}, flush, (&lineEnds{}).toLF)
	if err == nil {
		err = dispatch()
	}
	if err == nil {
		err = flush()
	}
	return err
}

// join appends a line to the data of an event. It reserves memory for the data before they grow, because a server may send many short
// lines and then be silent.
func (b *Body) join(data, line []byte) ([]byte, error) {
	need := len(data) + len(line) + 1
	if need > cap(data) && need > largeSize {
		size := need // an event of one line gets what it needs
		if len(data) > 0 {
			size = max(need, min(2*need, b.limits.MaxEvent+1))
		}
		b.joined = size
		if err := b.charge(); err != nil {
			return data, err
		}
		data = append(make([]byte, 0, size), data...)
	}
	return append(data, line...), nil
}

// setEventID sets LastEventID to the value of a field id.
func (b *Body) setEventID(line int, value []byte) error {
	value = bytes.TrimPrefix(value, []byte(" "))
	if len(value) > maxEventID {
		return backend.Failed(fmt.Sprintf("The id in line %d of the agent's answer exceeds %d bytes", line, maxEventID), nil)
	}
	b.LastEventID = append(b.LastEventID[:0], value...)
	return nil
}

// field returns the name of a field and its value. The name is empty for a comment and for
// a line of white space.
func field(text []byte) (name, value []byte) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	name, value, _ = bytes.Cut(text, []byte(":"))
	return name, value
}

// maxEventID bounds the id of an event, in bytes: a stream keeps it, and a header carries it to the server.
const maxEventID = 1 << 10

// The sizes of buffers, in bytes. Most streams are idle most of the time and hold their
// buffer meanwhile, so a buffer is small as long as the reads are small.
const (
	smallSize = 1 << 10
	largeSize = 8 << 10
)

var smallBuffers, largeBuffers = newPool(smallSize), newPool(largeSize)

func newPool(size int) *sync.Pool {
	return &sync.Pool{New: func() any { b := make([]byte, size); return &b }}
}

// Buffer is a pooled buffer for the pieces of a response.
type Buffer struct {
	// Bytes is the whole buffer.
	Bytes  []byte
	pooled *[]byte
	owner  *sync.Pool
}

// NewBuffer returns a small buffer. The caller calls Release when it does not need the
// buffer any more.
func NewBuffer() *Buffer {
	b := &Buffer{}
	b.get(smallBuffers)
	return b
}

// Release returns the buffer to its pool.
func (b *Buffer) Release() {
	b.owner.Put(b.pooled)
	*b = Buffer{}
}

// Resize adapts the size of the buffer to the last read, before the next read. filled is the
// number of bytes that were in use. held is the number of bytes at the beginning of the
// buffer that Resize keeps.
func (b *Buffer) Resize(filled, held int) {
	switch size := len(b.Bytes); {
	case filled == size && size < largeSize:
		b.move(largeBuffers, held)
	case filled <= smallSize/2 && size > smallSize:
		b.move(smallBuffers, held)
	case filled <= largeSize/2 && size > largeSize:
		b.move(largeBuffers, held)
	}
}

// Grow enlarges the buffer to size bytes.
func (b *Buffer) Grow(size int) {
	larger := make([]byte, size)
	copy(larger, b.Bytes)
	b.Bytes = larger
}

func (b *Buffer) move(to *sync.Pool, held int) {
	from := b.Bytes
	lent := b.pooled
	owner := b.owner
	b.get(to)
	copy(b.Bytes, from[:held])
	owner.Put(lent)
}

func (b *Buffer) get(from *sync.Pool) {
	lent, _ := from.Get().(*[]byte)
	b.Bytes = *lent
	b.pooled = lent
	b.owner = from
}
