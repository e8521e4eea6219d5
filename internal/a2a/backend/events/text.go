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

// text reads an answer that is the text of one artifact, chunk by chunk.
func (a *answer) text() error {
	buffer := stream.Borrow()
	defer buffer.GiveBack()
	held := 0
	for {
		room := buffer.Bytes
		n, err := a.Read(room[held:])
		chunk := room[:held+n]
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return err
		}
		last := end || a.AtEnd()
		ready := len(chunk)
		if !last {
			ready -= incomplete(chunk)
		}
		if ready > 0 || end && a.begun {
			a.add(a2a.TextPart(valid(chunk[:ready])), last)
			if err := a.send(); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
		held = copy(room, chunk[ready:])
		buffer.Suit(len(chunk), held)
	}
}

// incomplete returns how many bytes at the end are the beginning of a
// character.
func incomplete(text []byte) int {
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

// valid writes each byte that is no UTF-8 as U+FFFD.
func valid(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	var out strings.Builder
	for _, r := range string(text) {
		out.WriteRune(r)
	}
	return out.String()
}
