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

// MaxEvent bounds an event of a stream, in bytes.
const MaxEvent = 16 << 20

var errEventTooLarge = errors.New("event of the stream is larger than 16 MiB")

// Event is an event of a stream.
type Event struct {
	// ID is the last event id that the stream sent, "" for none.
	ID string
	// Type is the type of the event, "" for none.
	Type string
	Data []byte
}

// Read calls each for the events of a stream, and returns nil at the end of the stream. It drops an event without an empty
// line after it. The data is valid until each returns. Read returns an error of each, of the stream, or for an event of more
// than MaxEvent bytes.
func Read(from io.Reader, each func(Event) error) error {
	reader := bufio.NewReaderSize(from, 32<<10)
	var event Event
	var line []byte
	hasData := false
	for {
		var err error
		if line, err = readLine(reader, line[:0]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if len(line) == 0 {
			if hasData {
				if err := each(event); err != nil {
					return err
				}
			}
			event.Type, event.Data, hasData = "", event.Data[:0], false
			continue
		}
		isData, err := event.take(line, hasData)
		if err != nil {
			return err
		}
		hasData = hasData || isData
	}
}

// take applies a line to the event, and reports whether it is a data line. hasData is true if the event already has one.
func (e *Event) take(line []byte, hasData bool) (isData bool, err error) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "id":
		e.ID = string(value)
	case "event":
		e.Type = string(value)
	case "data":
		if hasData {
			e.Data = append(e.Data, '\n')
		}
		if len(e.Data)+len(value) > MaxEvent {
			return false, errEventTooLarge
		}
		e.Data = append(e.Data, value...)
		return true, nil
	}
	return false, nil
}

// readLine appends a line without its end to dst. The end is LF or CR LF. A CR alone does not end a line, although SSE
// allows it.
func readLine(r *bufio.Reader, dst []byte) ([]byte, error) {
	for {
		piece, err := r.ReadSlice('\n')
		dst = append(dst, piece...)
		if len(dst) > MaxEvent+64 {
			return nil, errEventTooLarge
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(dst, []byte("\n")), []byte("\r")), nil
	}
}
