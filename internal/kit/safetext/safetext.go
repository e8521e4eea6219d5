// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package safetext makes texts from agents and clusters safe to display: a text cannot control a
// terminal, hide itself, reorder other text or imitate other output.
package safetext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns text with each control character, each character that reorders or hides
// others, and each byte that is not UTF-8 replaced by an escape such as \x1b or \u202e. Line
// feeds and tabs remain.
func Clean(text string) string { return clean(text, true) }

// Line does the same as Clean, and also replaces line feeds by \n and tabs by \t, so that the
// result is one line.
func Line(text string) string { return clean(text, false) }

func clean(text string, lines bool) string {
	if strings.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError || !safe(r) }) < 0 {
		return text
	}
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[0])
		case safe(r) || lines && (r == '\n' || r == '\t'):
			out.WriteString(text[:size])
		default:
			out.WriteString(escaped(r))
		}
		text = text[size:]
	}
	return out.String()
}

func escaped(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	default:
		return fmt.Sprintf(`\U%08x`, r)
	}
}

// safe reports whether a character is safe to display. Characters that control the terminal, or
// that hide or reorder other characters, are not safe. Private-use characters (Unicode category Co)
// and code points that are no characters are not safe either. Of the format characters (Cf), only the zero-width joiner and non-joiner
// are safe: they are part of words in many languages, and of emoji.
func safe(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = '\u200c', '\u200d'
	switch {
	case r == zeroWidthNonJoiner || r == zeroWidthJoiner:
		return true
	case r == '\ufffe' || r == '\uffff': // no characters, and not allowed in YAML
		return false
	case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r), unicode.Is(unicode.Co, r):
		return false
	default:
		return true
	}
}

// JSON returns a JSON text with the same value as text. In its strings, \u escapes replace the
// characters that Clean replaces.
func JSON(text []byte) []byte {
	if strings.IndexFunc(string(text), func(r rune) bool { return r != '\n' && !safe(r) }) < 0 {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for _, r := range string(text) {
		switch {
		case safe(r) || r == '\n' || r == '\t' || r == '\r':
			out = utf8.AppendRune(out, r)
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			high := (r-0x10000)>>10 + 0xd800
			low := (r-0x10000)&0x3ff + 0xdc00
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		}
	}
	return out
}

// Clip returns text unchanged if it has at most limit bytes. Otherwise it cuts text at a character
// boundary, to at most limit bytes, and appends an ellipsis of 3 bytes.
func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
