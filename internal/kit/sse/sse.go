// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sse reads streams of server-sent events.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxEvent is the maximum size of one event, in bytes.
const MaxEvent = 16 << 20

// maxField bounds what a line has beside its data, in bytes.
const maxField = 64

// byteOrderMark is optional at the beginning of a stream. Read ignores it.
const byteOrderMark = "\uFEFF"

var errEventTooLarge = errors.New("event of the stream is larger than 16 MiB")

// Event is a server-sent event.
type Event struct {
	// ID is the id of this event or, if it has none, of the latest earlier event with an id; "" for
	// none.
	ID string
	// Type is the type of the event, "" for none.
	Type string
	Data []byte
}

// Read calls handle for each event of a stream, and returns nil at the end of the stream. An empty line ends an event;
// Read drops an event at the end of the stream without this line. handle must not keep the data of the event after it
// returns. Read returns the error of handle or of the stream, or an error for an event of more than MaxEvent bytes.
func Read(from io.Reader, handle func(Event) error) error {
	return read(from, bound{MaxEvent, errEventTooLarge}, handle)
}

// ReadHeads is Read for a caller that needs only the first most bytes of the data of each event. It drops further bytes as they
// arrive, so an event of any size needs no more memory.
func ReadHeads(from io.Reader, most int, handle func(Event) error) error {
	return read(from, bound{most, nil}, handle)
}

// bound is how many bytes of the data of an event are kept. beyond is the error for an event with more, nil if they are dropped.
type bound struct {
	most   int
	beyond error
}

func read(from io.Reader, limit bound, handle func(Event) error) error {
	reader := &lineReader{Reader: bufio.NewReaderSize(from, 32<<10), limit: bound{limit.most + maxField, limit.beyond}}
	var event Event
	var line []byte
	hasData := false
	for first := true; ; first = false {
		var err error
		if line, err = reader.readLine(line[:0]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if first {
			line = bytes.TrimPrefix(line, []byte(byteOrderMark))
		}
		if len(line) == 0 {
			if hasData {
				if err := handle(event); err != nil {
					return err
				}
			}
			event.Type = ""
			event.Data = event.Data[:0]
			hasData = false
			continue
		}
		isData, err := event.take(line, hasData, limit)
		if err != nil {
			return err
		}
		hasData = hasData || isData
	}
}

// take sets the field of the event that a line contains, and reports whether the line is a data line. hasData is true
// if the event already has data.
func (e *Event) take(line []byte, hasData bool, limit bound) (isData bool, err error) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "id":
		e.ID = string(value)
	case "event":
		e.Type = string(value)
	case "data":
		if hasData {
			e.Data, err = limit.appendTo(e.Data, []byte("\n"))
		}
		if err == nil {
			e.Data, err = limit.appendTo(e.Data, value)
		}
		return true, err
	}
	return false, nil
}

// appendTo appends text to kept, up to the bound.
func (b bound) appendTo(kept, text []byte) ([]byte, error) {
	room := b.most - len(kept)
	if len(text) > room && b.beyond != nil {
		return nil, b.beyond
	}
	return append(kept, text[:min(len(text), room)]...), nil
}

// lineReader reads lines that end with LF, CR or CR LF.
type lineReader struct {
	*bufio.Reader
	// limit bounds a line.
	limit bound
	// afterCR is true if the last line ended with a CR. An LF that follows belongs to the same line end.
	afterCR bool
}

// readLine appends the next line, without its end, to dst. After a CR, it returns the line without
// waiting for a possible LF.
func (r *lineReader) readLine(dst []byte) ([]byte, error) {
	for {
		if _, err := r.Peek(1); err != nil {
			return nil, err
		}
		text, _ := r.Peek(r.Buffered())
		belongsToCR := r.afterCR && text[0] == '\n'
		r.afterCR = false
		if belongsToCR {
			_, _ = r.Discard(1)
			continue
		}
		end := bytes.IndexAny(text, "\r\n")
		if end >= 0 {
			r.afterCR = text[end] == '\r'
			text = text[:end]
		}
		var err error
		if dst, err = r.limit.appendTo(dst, text); err != nil {
			return nil, err
		}
		if end >= 0 {
			_, _ = r.Discard(end + 1)
			return dst, nil
		}
		_, _ = r.Discard(len(text))
	}
}
