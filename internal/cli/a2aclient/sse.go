// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2aclient

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxEvent bounds an event of a stream, in bytes.
const maxEvent = 16 << 20

var errEventTooLarge = errors.New("event of the stream is larger than 16 MiB")

// serverSentEvent is an event of a stream. id is the last one that the stream had.
type serverSentEvent struct {
	id   string
	data []byte
}

// readEvents calls each for the events of a stream, until its end. An event that is not complete
// is dropped. The data is valid until each returns.
func readEvents(from io.Reader, each func(serverSentEvent) error) error {
	reader := bufio.NewReaderSize(from, 32<<10)
	var event serverSentEvent
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
			event.data, hasData = event.data[:0], false
			continue
		}
		isData, err := event.take(line, hasData)
		if err != nil {
			return err
		}
		hasData = hasData || isData
	}
}

// take takes a line of the event. It reports whether the line has data.
func (e *serverSentEvent) take(line []byte, hasData bool) (isData bool, err error) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "id":
		e.id = string(value)
	case "data":
		if hasData {
			e.data = append(e.data, '\n')
		}
		if len(e.data)+len(value) > maxEvent {
			return false, errEventTooLarge
		}
		e.data = append(e.data, value...)
		return true, nil
	}
	return false, nil
}

// readLine appends a line without its end to dst. The end is LF, CR LF or CR.
func readLine(r *bufio.Reader, dst []byte) ([]byte, error) {
	for {
		piece, err := r.ReadSlice('\n')
		dst = append(dst, piece...)
		if len(dst) > maxEvent+64 {
			return nil, errEventTooLarge
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return nil, err //nolint:wrapcheck // io.EOF, or the cause of the caller
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(dst, []byte("\n")), []byte("\r")), nil
	}
}
