// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsonread is the strict pull reader of all JSON codecs.
//
// It refuses invalid UTF-8, duplicate names, trailing data and nesting deeper than
// MaxDepth, and compares names exactly. It depends on no protocol: the codec of a dialect
// implements the leniency of that dialect.
//
// After the first error of a Reader, each of its methods returns zero values, so that a
// codec needs to check the error only once, at the end.
package jsonread

import (
	"bytes"
	"encoding/base64"
	"errors"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Reader reads one JSON text.
type Reader struct {
	// dec is a pooled decoder. It is nil after Close.
	dec *decoder
	err *a2a.Error
	// unreadable is true if err is the error of a value that some client could not read.
	unreadable bool
	// key is the buffer for the current name, if the name has escapes.
	key []byte
	// variantOf is the argument of Spell.
	variantOf func(name []byte) string
}

// New returns a reader of text. The caller must not change text while the reader
// is in use.
func New(text []byte) *Reader {
	r := &Reader{}
	r.Start(text)
	return r
}

// Start makes a zero Reader read text, like New. The caller must not change text while the
// reader is in use.
func (r *Reader) Start(text []byte) {
	r.dec = lend(text)
	switch deepest, duplicate := r.dec.scan(text); {
	case deepest > MaxDepth:
		r.err = &a2a.Error{
			Reason:  a2a.ReasonParse,
			Message: "JSON is nested deeper than " + strconv.Itoa(MaxDepth) + " levels",
		}
	case duplicate >= 0:
		r.err = invalidAt(int64(duplicate))
	}
}

func invalidAt(at int64) *a2a.Error {
	return &a2a.Error{Reason: a2a.ReasonParse, Message: "Invalid JSON payload at byte " + strconv.FormatInt(at, 10)}
}

// Spell makes Members refuse each name for which variantOf returns another name, the
// correct spelling. variantOf must return "" for correct and for unknown names.
func (r *Reader) Spell(variantOf func(name []byte) string) { r.variantOf = variantOf }

// Err returns the first error. Its reason is ReasonParse if the text is not JSON,
// and ReasonInvalidParams if a value is invalid.
func (r *Reader) Err() error {
	if r.err == nil || r.err == errEnded {
		return nil
	}
	if r.unreadable {
		return unreadableError{r.err}
	}
	return r.err
}

// unreadableError marks the error of a value that some client could not read.
type unreadableError struct{ problem *a2a.Error }

func (e unreadableError) Error() string { return e.problem.Error() }

func (e unreadableError) Unwrap() error { return e.problem }

// IsUnreadable reports whether an error of a Reader means that some client could not read a value
// (Reader.FailUnreadable). The value is unreadable in the form of every version.
func IsUnreadable(err error) bool {
	_, ok := errors.AsType[unreadableError](err)
	return ok
}

// End checks that only whitespace follows the value that was read, closes the
// reader and returns Err.
func (r *Reader) End() error {
	r.checkEnd()
	r.Close()
	return r.Err()
}

// Close ends the reading without checking the rest of the text. It preserves the error.
// Later calls return zero values.
func (r *Reader) Close() {
	if r.dec == nil {
		return
	}
	r.dec.giveBack()
	r.dec = nil
	if r.err == nil {
		r.err = errEnded
	}
}

func (r *Reader) checkEnd() {
	if r.err == nil && (r.dec.PeekKind() != 0 || len(bytes.TrimLeft(r.dec.UnreadBuffer(), " \t\r\n")) > 0) {
		r.err = &a2a.Error{Reason: a2a.ReasonParse, Message: "data after the end of the JSON value"}
	}
}

// Fail reports an error of the value that was read last.
func (r *Reader) Fail(message string) { r.FailAt("", message) }

// FailUnreadable reports that some client could not read the value that was read last.
func (r *Reader) FailUnreadable(message string) {
	r.unreadable = r.unreadable || r.err == nil
	r.Fail(message)
}

// FailAt reports an error of a member of the object that was read last. The object may lack
// the member.
func (r *Reader) FailAt(name, message string) {
	if r.err != nil {
		return
	}
	field := path(r.dec.StackPointer())
	if field != "" && name != "" {
		field += "."
	}
	r.err = a2a.InvalidParams(field+name, message)
}

// Kind returns the kind of the next value without reading it.
func (r *Reader) Kind() jsontext.Kind {
	if r.err != nil {
		return 0
	}
	return r.dec.PeekKind()
}

// Members reads an object and yields the name of each member that is not null. If the loop
// body does not read the value, Members skips it. A name is valid until the next iteration.
func (r *Reader) Members() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) { r.members(yield, false) }
}

// AllMembers is like Members, but also yields the members that are null.
func (r *Reader) AllMembers() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) { r.members(yield, true) }
}

func (r *Reader) members(yield func([]byte) bool, nulls bool) {
	if !r.begin('{', "must be an object") {
		return
	}
	for r.err == nil && r.dec.PeekKind() != '}' {
		name := r.name()
		if r.err != nil {
			return
		}
		if r.variantOf != nil {
			if meant := r.variantOf(name); meant != "" {
				r.Skip()
				r.Fail("must be spelled " + meant)
				return
			}
		}
		if !nulls && r.dec.PeekKind() == 'n' {
			r.Skip()
			continue
		}
		at := r.dec.InputOffset()
		if !yield(name) {
			return
		}
		if r.err == nil && r.dec.InputOffset() == at {
			r.Skip()
		}
	}
	r.token()
}

// Elements reads an array and yields the index of each element. If the loop body does not
// read the element, Elements skips it.
func (r *Reader) Elements() iter.Seq[int] {
	return func(yield func(int) bool) {
		if !r.begin('[', "must be an array") {
			return
		}
		for i := 0; r.err == nil && r.dec.PeekKind() != ']'; i++ {
			at := r.dec.InputOffset()
			if !yield(i) {
				return
			}
			if r.err == nil && r.dec.InputOffset() == at {
				r.Skip()
			}
		}
		r.token()
	}
}

// String reads a string.
func (r *Reader) String() string {
	raw := r.expect('"', "must be a string")
	if raw == nil {
		return ""
	}
	return string(r.unquoted(raw, "must be a valid string"))
}

// unquoted returns the text of a JSON string, without a copy if the string has no escapes.
func (r *Reader) unquoted(raw []byte, message string) []byte {
	if plain := raw[1 : len(raw)-1]; bytes.IndexByte(plain, '\\') < 0 {
		return plain
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		r.Fail(message)
	}
	return text
}

// MaxListed is the length of the longest string in a list of strings, in bytes: URIs, ids and media types are shorter.
const MaxListed = 2048

// Strings reads an array of at most limit strings, of at most MaxListed bytes each.
func (r *Reader) Strings(limit int) []string {
	var all []string
	for i := range r.Elements() {
		if i >= limit {
			r.TooMany(limit)
			return nil
		}
		text := r.String()
		if len(text) > MaxListed {
			r.Fail("has a string of more than " + strconv.Itoa(MaxListed) + " bytes")
			return nil
		}
		all = append(all, text)
	}
	return all
}

// TooMany reads the next element and fails, because the array has more than limit elements.
func (r *Reader) TooMany(limit int) {
	r.mismatch("exceeds the limit of " + strconv.Itoa(limit) + " elements")
}

// Bytes reads a base64 string, in the standard or the URL alphabet, with or without
// padding.
func (r *Reader) Bytes() []byte {
	raw := r.expect('"', "must be a base64 string")
	if raw == nil {
		return nil
	}
	text := bytes.TrimRight(r.unquoted(raw, "must be a base64 string"), "=")
	encoding := base64.RawStdEncoding
	if bytes.ContainsAny(text, "-_") {
		encoding = base64.RawURLEncoding
	}
	out := make([]byte, encoding.DecodedLen(len(text)))
	n, err := encoding.Decode(out, text)
	if err != nil {
		r.Fail("must be a base64 string")
		return nil
	}
	return out[:n]
}

// Bool reads true or false.
func (r *Reader) Bool() bool {
	if k := r.Kind(); k != 't' && k != 'f' {
		r.mismatch("must be true or false")
		return false
	}
	return string(r.value()) == "true"
}

// Int reads an integer of 32 bits. It refuses a fraction and an exponent.
func (r *Reader) Int() int {
	raw := r.expect('0', "must be an integer")
	if raw == nil {
		return 0
	}
	return r.parseInt(raw)
}

// IntOrText reads an integer of 32 bits, or a string with one, as ProtoJSON allows.
func (r *Reader) IntOrText() int {
	if r.Kind() != '"' {
		return r.Int()
	}
	return r.parseInt([]byte(r.String()))
}

func (r *Reader) parseInt(text []byte) int {
	n, err := strconv.ParseInt(string(text), 10, 32)
	if err == nil {
		return int(n)
	}
	// ProtoJSON allows 1.0 and 1e0.
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || f != math.Trunc(f) || f < math.MinInt32 || f > math.MaxInt32 {
		r.Fail("must be an integer of 32 bits")
		return 0
	}
	return int(f)
}

// Object reads an object and returns a copy of its text without insignificant
// whitespace. It refuses an object that some client could not read (Unreadable).
func (r *Reader) Object() a2a.Object {
	return a2a.Object(r.readable(compact(r.expect('{', "must be an object"))))
}

// Value reads any value and returns a copy of its text without insignificant
// whitespace. It refuses a value that some client could not read (Unreadable).
func (r *Reader) Value() a2a.Value { return a2a.Value(r.readable(compact(r.value()))) }

// readable returns a value, or fails and returns nil if some client could not read it.
func (r *Reader) readable(value []byte) []byte {
	if problem := Unreadable(value); problem != "" {
		r.FailUnreadable(problem)
		return nil
	}
	return value
}

// Raw reads any value and returns its text without a copy.
func (r *Reader) Raw() []byte { return r.value() }

// Skip reads any value and discards it.
func (r *Reader) Skip() {
	if r.err == nil {
		r.syntax(r.dec.SkipValue())
	}
}

func (r *Reader) begin(kind jsontext.Kind, message string) bool {
	if r.Kind() != kind {
		r.mismatch(message)
		return false
	}
	r.token()
	return r.err == nil
}

// expect reads a value and returns its text without a copy. If the value is not of the given
// kind, it fails with message and returns nil.
func (r *Reader) expect(kind jsontext.Kind, message string) []byte {
	if r.Kind() != kind {
		r.mismatch(message)
		return nil
	}
	return r.value()
}

// mismatch reads the next value and fails with message or, if the value is not JSON, with
// the error of the JSON. It reads the value first, so that the JSON pointer of the decoder,
// and with it the error, refers to the value.
func (r *Reader) mismatch(message string) {
	r.Skip()
	r.Fail(message)
}

func (r *Reader) name() []byte {
	raw := r.value()
	if r.err != nil {
		return nil
	}
	plain := raw[1 : len(raw)-1]
	if bytes.IndexByte(plain, '\\') < 0 {
		return plain
	}
	key, err := jsontext.AppendUnquote(r.key[:0], raw)
	if err != nil {
		r.Fail("has a name that is not a valid string")
	}
	r.key = key
	return key
}

func (r *Reader) value() []byte {
	if r.err != nil {
		return nil
	}
	raw, err := r.dec.ReadValue()
	r.syntax(err)
	return raw
}

func (r *Reader) token() {
	if r.err != nil {
		return
	}
	_, err := r.dec.ReadToken()
	r.syntax(err)
}

// syntax stores an error without the text of err, which quotes the input.
func (r *Reader) syntax(err error) {
	if err == nil || r.err != nil {
		return
	}
	at := r.dec.InputOffset()
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = syntactic.ByteOffset
	}
	r.err = invalidAt(at)
}

// compact returns a copy of a value without insignificant whitespace. The decoder has
// validated the value.
func compact(raw []byte) []byte {
	if raw == nil {
		return nil
	}
	out := jsontext.Value(bytes.Clone(raw))
	if out.Compact() != nil {
		return nil
	}
	return out
}

// path converts a JSON pointer to a field path: /message/parts/0/text becomes
// message.parts[0].text.
func path(p jsontext.Pointer) string {
	var out strings.Builder
	for token := range p.Tokens() {
		if _, err := strconv.ParseUint(token, 10, 32); err == nil {
			out.WriteString("[" + token + "]")
			continue
		}
		if out.Len() > 0 {
			out.WriteByte('.')
		}
		out.WriteString(token)
	}
	return out.String()
}
