// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pbwire reads and writes the protobuf wire format directly between bytes
// and the domain.
//
// It creates no objects of generated message types. Such an object can take a hundred bytes
// for two bytes of a request, so a request of ten megabytes could use hundreds of megabytes
// before a limit applies. A codec of this package checks its limits while it reads.
//
// The reader is as strict as jsonread: it refuses invalid UTF-8, a singular field that is
// set twice, duplicate names in a Struct, and nesting deeper than jsonread.MaxValueDepth. It
// ignores unknown fields. The only messages that it implements are Struct, Value and
// Timestamp.
package pbwire

import (
	"encoding/base64"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// Field describes one field of a message. Errors use its JSON name.
type Field struct {
	kind kind
	id   int
	name string
}

type kind uint8

const (
	unknown kind = iota
	varint
	bytes
	repeated
)

// Varint returns an integer, enum or bool field with a JSON name.
func Varint(name string) Field { return Field{kind: varint, name: name} }

// Bytes returns a string, bytes or message field with a JSON name.
func Bytes(name string) Field { return Field{kind: bytes, name: name} }

// Repeated returns a repeated string, bytes or message field with a JSON name.
func Repeated(name string) Field { return Field{kind: repeated, name: name} }

// As returns the field with an id. Fields yields the id in place of the field's number, so
// that one function can read messages that number their fields differently.
func (f Field) As(id int) Field {
	f.id = id
	return f
}

// Message maps the numbers of the fields of a message to the fields. The highest number is
// 31.
type Message []Field

// idOf is not inlined, because Fields would then be too large to inline, and the callers of
// Fields would allocate.
//
//go:noinline
func (m Message) idOf(number int) int {
	if id := m[number].id; id != 0 {
		return id
	}
	return number
}

// Reader reads messages. After its first error, Fields yields no more fields, so that a codec
// needs to check Err only once, at the end.
type Reader struct {
	err  *a2a.Error
	path []step
	// number and bytes are the value of the field that Fields yielded last: number of a
	// varint, bytes of any other field.
	number uint64
	bytes  []byte
	// names are the names of the objects that appendStruct reads. maxJSON is the limit of
	// the JSON of the field that is read.
	names   jsonread.NameList
	maxJSON int
	// left is what remains of the bound of Bound.
	left int
}

// step is one level of the path to the current field. index is -1 for a singular field.
type step struct {
	name  string
	index int
}

// New returns a reader of one message. The caller must not change text while the
// reader is in use.
func New(text []byte) *Reader { return &Reader{bytes: text, left: math.MaxInt} }

// Bound bounds what the reader reads: all strings, bytes and values together have at most a number of bytes in JSON. An error has
// ReasonTooLarge.
func (r *Reader) Bound(bytes int) { r.left = bytes }

// spend reports whether n more bytes of JSON are within the bound. If not, spend fails.
func (r *Reader) spend(n int) bool {
	if n > r.left && r.err == nil {
		r.err = &a2a.Error{Reason: a2a.ReasonTooLarge, Message: "Message is too large in JSON, in which a control character has 6 bytes"}
	}
	r.left -= n
	return r.err == nil
}

// Err returns the first error. Its reason is ReasonParse if the bytes are not
// protobuf, and ReasonInvalidParams if a field is invalid.
func (r *Reader) Err() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

// Fields reads the message in the current field, at first the top-level message. For each
// field that m has, it yields the id that As has set, or the field's number if there is none.
// It skips all other fields. The loop body may leave a field unread.
func (r *Reader) Fields(m Message) iter.Seq[int] {
	return func(yield func(int) bool) {
		text := r.bytes
		depth := len(r.path)
		r.path = append(r.path, step{})
		defer func() { r.path = r.path[:depth] }()
		var seen [32]int
		for len(text) > 0 && r.err == nil {
			var number int
			var wire protowire.Type
			var value []byte
			number, wire, value, text = r.cut(text)
			if number >= len(m) || m[number].kind == unknown || r.err != nil {
				continue
			}
			r.path[depth] = step{m[number].name, seen[number]}
			seen[number]++
			if !r.keep(m[number].kind, wire, value) || !yield(m.idOf(number)) {
				return
			}
		}
	}
}

// cut splits a message into its first field and the rest. number is 0 after an error.
func (r *Reader) cut(text []byte) (number int, wire protowire.Type, value, rest []byte) {
	n, wire, tag := protowire.ConsumeTag(text)
	if tag < 0 || n > protowire.MaxValidNumber {
		r.malformed()
		return 0, 0, nil, nil
	}
	length := protowire.ConsumeFieldValue(n, wire, text[tag:])
	if length < 0 {
		r.malformed()
		return 0, 0, nil, nil
	}
	return int(n), wire, text[tag : tag+length], text[tag+length:]
}

// keep stores the value of the current field in number or bytes. It returns false after an
// error.
func (r *Reader) keep(k kind, wire protowire.Type, value []byte) bool {
	last := &r.path[len(r.path)-1]
	if k != repeated {
		twice := last.index > 0
		last.index = -1
		if twice {
			r.Fail("must not be set twice")
			return false
		}
	}
	if wire != wireOf(k) {
		r.Fail("has the wrong wire type")
		return false
	}
	if wire == protowire.VarintType {
		r.number, _ = protowire.ConsumeVarint(value)
	} else {
		r.bytes, _ = protowire.ConsumeBytes(value)
	}
	return true
}

func wireOf(k kind) protowire.Type {
	if k == varint {
		return protowire.VarintType
	}
	return protowire.BytesType
}

func (r *Reader) malformed() {
	if r.err == nil {
		r.err = &a2a.Error{Reason: a2a.ReasonParse, Message: "Invalid protobuf payload"}
	}
}

// Fail reports an error of the current field.
func (r *Reader) Fail(message string) { r.FailAt("", message) }

// FailAt reports an error of a field of the message that was read last. The message may
// lack the field.
func (r *Reader) FailAt(name, message string) {
	if r.err != nil {
		return
	}
	var at strings.Builder
	for _, s := range append(r.path, step{name, -1}) {
		if s.name == "" {
			continue
		}
		if at.Len() > 0 {
			at.WriteByte('.')
		}
		at.WriteString(s.name)
		if s.index >= 0 {
			at.WriteString("[" + strconv.Itoa(s.index) + "]")
		}
	}
	r.err = a2a.InvalidParams(at.String(), message)
}

// Within reports whether the current element of a repeated field is one of its first limit
// elements. If not, Within fails.
func (r *Reader) Within(limit int) bool {
	if r.path[len(r.path)-1].index >= limit {
		r.Fail("exceeds the limit of " + strconv.Itoa(limit) + " elements")
		return false
	}
	return true
}

// String reads a string.
func (r *Reader) String() string {
	if r.err != nil {
		return ""
	}
	if !utf8.Valid(r.bytes) {
		r.Fail("is not valid UTF-8")
		return ""
	}
	if !r.spend(quotedLength(r.bytes)) {
		return ""
	}
	return string(r.bytes)
}

// Append reads an element of a repeated string and appends it to all. It fails if the field
// has more than limit elements, or the element more than jsonread.MaxListed bytes.
func (r *Reader) Append(all []string, limit int) []string {
	if !r.Within(limit) {
		return nil
	}
	if len(r.bytes) > jsonread.MaxListed {
		r.Fail("has a string of more than " + strconv.Itoa(jsonread.MaxListed) + " bytes")
		return nil
	}
	return append(all, r.String())
}

// Raw returns a copy of a bytes field. It is not nil.
func (r *Reader) Raw() []byte {
	if !r.spend(base64.StdEncoding.EncodedLen(len(r.bytes))) {
		return []byte{}
	}
	return append([]byte{}, r.bytes...)
}

// View returns a bytes field without a copy. The caller must not change it.
func (r *Reader) View() []byte { return r.bytes }

// Bool reads a bool.
func (r *Reader) Bool() bool { return r.number != 0 }

// Int reads an int32 or an enum. It refuses a value of more than 32 bits, which other
// readers would truncate.
func (r *Reader) Int() int {
	if n := int32(r.number); uint64(int64(n)) == r.number { // two's complement keeps the sign
		return int(n)
	}
	r.Fail("must be an integer of 32 bits")
	return 0
}

var timestamp = Message{1: Varint("seconds"), 2: Varint("nanos")}

// Time reads a Timestamp. The result is in UTC and in whole milliseconds. It fails for
// years outside of 1 to 9999, which RFC 3339 cannot represent.
func (r *Reader) Time() time.Time {
	var seconds, nanos int64
	for f := range r.Fields(timestamp) {
		switch f {
		case 1:
			seconds = int64(r.number) // two's complement keeps the sign
		case 2:
			nanos = int64(r.Int())
		}
	}
	const first, last = -62135596800, 253402300799
	if seconds < first || seconds > last || nanos < 0 || nanos > 999_999_999 {
		r.Fail("must be a time in the years 1 to 9999")
		return time.Time{}
	}
	return time.Unix(seconds, nanos).UTC().Truncate(time.Millisecond)
}
