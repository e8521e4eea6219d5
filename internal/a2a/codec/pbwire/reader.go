// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pbwire reads and writes the binary form of protobuf for the codecs
// of gRPC, straight between bytes and the domain.
//
// There are no messages in between: a few bytes of a request can stand for a
// message of a hundred, and ten megabytes of them would be a gigabyte before
// anybody could count. Here a codec counts while it reads.
//
// The reader is as strict as jsonread: valid UTF-8 only, no singular field
// twice, no name twice in a Struct, no more nesting than jsonread.MaxDepth.
// Unknown fields are left out. It knows the shapes of protobuf, and nothing of
// any message but Struct, Value and Timestamp.
package pbwire

import (
	"cmp"
	"iter"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Field is one field of a message. Errors call it by its JSON name.
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

// Varint returns a field that holds a number, an enum or a bool.
func Varint(name string) Field { return Field{kind: varint, name: name} }

// Bytes returns a field that holds text, bytes or a message.
func Bytes(name string) Field { return Field{kind: bytes, name: name} }

// Repeated returns a field that holds any number of what Bytes holds.
func Repeated(name string) Field { return Field{kind: repeated, name: name} }

// As returns the field with an id that Fields yields in the place of its number,
// so that one function reads messages that number their fields differently.
func (f Field) As(id int) Field {
	f.id = id
	return f
}

// Message lists the fields of a message by number. There are at most 31.
type Message []Field

// Reader reads messages. It stops at its first error: from then on every
// method returns zero values, so that codecs read straight through and ask Err
// once.
type Reader struct {
	err  *a2a.Error
	path []step
	// number and bytes are the varint or the content of the field that was
	// yielded last.
	number uint64
	bytes  []byte
}

// step is one level of the path to the field that is read.
type step struct {
	name  string
	index int
}

// New returns a reader of one message, which must not change while it is read.
func New(text []byte) *Reader { return &Reader{bytes: text} }

// Err returns the first error. Its reason is ReasonParse when the bytes are no
// protobuf, and ReasonInvalidParams when a field is not what was asked for.
func (r *Reader) Err() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

// Fields reads the message that the last field holds, at first the whole one,
// and yields the id of each known field, or its number if it has no id. The body
// reads the field or leaves it.
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
			if !r.keep(m[number].kind, wire, value) || !yield(cmp.Or(m[number].id, number)) {
				return
			}
		}
	}
}

// cut takes one field from the front of a message. The number is 0 when there
// is none.
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

// keep has the field at the end of the path ready to be read.
func (r *Reader) keep(k kind, wire protowire.Type, value []byte) bool {
	last := &r.path[len(r.path)-1]
	if k != repeated {
		twice := last.index > 0
		if last.index = -1; twice {
			r.Fail("stands there twice")
			return false
		}
	}
	if wire != wireOf(k) {
		r.Fail("has another type")
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

// Fail blames the field that was read last.
func (r *Reader) Fail(message string) { r.FailAt("", message) }

// FailAt blames a field of the message that was read last, whether or not it
// is there.
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

// Index is the place of a repeated field, from 0. A field beyond the limit is
// blamed for it, and Index returns false.
func (r *Reader) Index(limit int) bool {
	if r.path[len(r.path)-1].index >= limit {
		r.Fail("is one too many, the limit is " + strconv.Itoa(limit))
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
	return string(r.bytes)
}

// Append reads one of at most limit strings.
func (r *Reader) Append(all []string, limit int) []string {
	if !r.Index(limit) {
		return nil
	}
	return append(all, r.String())
}

// Raw reads bytes. Those that are empty are not nil.
func (r *Reader) Raw() []byte { return append([]byte{}, r.bytes...) }

// View reads bytes and returns them as part of the reader's.
func (r *Reader) View() []byte { return r.bytes }

// Bool reads a bool.
func (r *Reader) Bool() bool { return r.number != 0 }

// Int reads an int32 or the number of an enum. What has more bits is refused,
// where others would cut it off.
func (r *Reader) Int() int {
	if n := int32(r.number); uint64(int64(n)) == r.number { //nolint:gosec // the sign is in the bits
		return int(n)
	}
	r.Fail("must be an integer of 32 bits")
	return 0
}

var timestamp = Message{1: Varint("seconds"), 2: Varint("nanos")}

// Time reads a Timestamp. The result is in UTC and whole milliseconds, and in
// the years that RFC 3339 can write.
func (r *Reader) Time() time.Time {
	var seconds, nanos int64
	for f := range r.Fields(timestamp) {
		switch f {
		case 1:
			seconds = int64(r.number) //nolint:gosec // the sign is in the bits
		case 2:
			nanos = int64(r.Int())
		}
	}
	const first, last = -62135596800, 253402300799
	if seconds < first || seconds > last || nanos < 0 || nanos > 999_999_999 {
		r.Fail("must be a time of the years 1 to 9999")
		return time.Time{}
	}
	return time.Unix(seconds, nanos).UTC().Truncate(time.Millisecond)
}
