// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions

import (
	"bytes"
	"strings"
)

const (
	redacted = "[redacted]"
	// minSecret is the minimum length, in bytes, of an API key that is replaced in
	// responses. Shorter keys are placeholders for servers without keys, such as "ollama",
	// and may be words of an answer.
	minSecret = 16
	// minFragment is the minimum length, in bytes, of a truncated key at the end of a
	// response. A shorter one is not replaced.
	minFragment = 6
)

// redact replaces a secret of at least minSecret bytes in a complete text.
func redact(text, secret string) string {
	if len(secret) < minSecret {
		return text
	}
	return strings.ReplaceAll(text, secret, redacted)
}

// redactor replaces a secret in a text that arrives in pieces. It buffers the end of a
// piece that may be the beginning of the secret.
type redactor struct {
	secret string
	held   []byte
}

// write adds a piece and returns the text that can be emitted, which is valid until the
// next call.
func (r *redactor) write(piece []byte) []byte {
	if len(r.secret) < minSecret {
		return piece
	}
	text := piece
	if len(r.held) > 0 {
		text = append(r.held, piece...)
		r.held = nil
	}
	text = bytes.ReplaceAll(text, []byte(r.secret), []byte(redacted))
	for n := min(len(text), len(r.secret)-1); n > 0; n-- {
		if strings.HasPrefix(r.secret, string(text[len(text)-n:])) {
			r.held = bytes.Clone(text[len(text)-n:])
			return text[:len(text)-n]
		}
	}
	return text
}

// flush returns the buffered text at the end of the response. The buffered text is a
// beginning of the secret: if it has at least minFragment bytes, flush returns [redacted].
func (r *redactor) flush() []byte {
	held := r.held
	r.held = nil
	if len(held) >= minFragment {
		return []byte(redacted)
	}
	return held
}
