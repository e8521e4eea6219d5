// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

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
	var out strings.Builder
	for _, r := range string(text) {
		out.WriteRune(r)
	}
	return out.String()
}
