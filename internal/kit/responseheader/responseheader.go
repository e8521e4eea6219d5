// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package responseheader bounds the headers of the responses that clients of HTTP/1.1 read. net/http bounds only their bytes, and makes a hundred
// bytes of a field of five.
package responseheader

import (
	"bytes"
	"errors"
	"strings"
)

// MaxBytes and MaxFields bound the header of a response, together with its informational responses (1xx).
const (
	MaxBytes  = 16 << 10
	MaxFields = 128
)

var (
	// ErrTooLong is the error of a response whose header exceeds a limit.
	ErrTooLong    = errors.New("the header of the response has more than 16 KiB or 128 fields")
	errStatusLine = errors.New("the response has a malformed status line")
)

// protocol begins every status line.
const protocol = "HTTP/"

// Meter counts the bytes and the fields of the header of a response, which arrives in pieces. It is not safe for concurrent use.
type Meter struct {
	// isReading is true until the end of the header.
	isReading bool
	bytes     int
	fields    int
	// status is the beginning of the status line, such as "HTTP/1.1 200". inStatus is true before the end of this line.
	status   [12]byte
	inStatus bool
	// length is the length of the current line so far, and last is its last byte.
	length int
	last   byte
}

// Begin expects a response.
func (m *Meter) Begin() { *m = Meter{isReading: true, inStatus: true} }

// Add counts a piece of the response. After the end of the header, it counts nothing.
func (m *Meter) Add(piece []byte) error {
	for m.isReading && len(piece) > 0 {
		line, rest, isWhole := bytes.Cut(piece, []byte{'\n'})
		m.bytes += len(piece) - len(rest)
		if err := m.addLine(line); err != nil {
			return err
		}
		if isWhole {
			m.endLine()
		}
		if m.isReading && (m.bytes > MaxBytes || m.fields > MaxFields) {
			return ErrTooLong
		}
		piece = rest
	}
	return nil
}

// addLine adds a part of the current line.
func (m *Meter) addLine(part []byte) error {
	if len(part) == 0 {
		return nil
	}
	if m.inStatus && m.length < len(m.status) {
		known := m.length + copy(m.status[m.length:], part)
		// With more than one space, the code has no fixed place.
		if !strings.HasPrefix(protocol, string(m.status[:min(known, len(protocol))])) || known > 9 && m.status[9] == ' ' {
			return errStatusLine
		}
	}
	m.length += len(part)
	m.last = part[len(part)-1]
	return nil
}

func (m *Meter) endLine() {
	isBlank := m.length == 0 || m.length == 1 && m.last == '\r'
	switch {
	case isBlank:
		m.isReading = !m.inStatus && m.isInformational()
		m.inStatus = true
	case m.inStatus:
		m.inStatus = false
	default:
		m.fields++
	}
	m.length = 0
}

// isInformational reports whether another response follows the one with this status, which is below 200.
func (m *Meter) isInformational() bool {
	return m.status[9] < '2' && string(m.status[9:]) != "101"
}
