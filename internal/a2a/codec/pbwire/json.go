// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pbwire

import (
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// Field numbers of google.protobuf.Struct, Value and ListValue.
const (
	structFields = 1
	entryKey     = 1
	entryValue   = 2

	valueNull   = 1
	valueNumber = 2
	valueString = 3
	valueBool   = 4
	valueStruct = 5
	valueList   = 6

	listValues = 1
)

// wires maps the field numbers of a message to wire types; -1 means that there is no such
// field.
type wires [7]protowire.Type

var (
	entryWires = wires{-1, protowire.BytesType, protowire.BytesType, -1, -1, -1, -1}
	valueWires = wires{
		-1, protowire.VarintType, protowire.Fixed64Type, protowire.BytesType, protowire.VarintType,
		protowire.BytesType, protowire.BytesType,
	}
	// onlyWires describes Struct and ListValue, whose only field has the number 1.
	onlyWires = wires{-1, protowire.BytesType, -1, -1, -1, -1, -1}
)

// Object reads a Struct and returns it as a JSON object.
func (r *Reader) Object() a2a.Object {
	if r.err != nil {
		return nil
	}
	r.setMaxJSON()
	object := r.appendStruct(nil, r.bytes, 1)
	r.spend(len(object))
	return a2a.Object(object)
}

// Value reads a Value and returns it as JSON.
func (r *Reader) Value() a2a.Value {
	if r.err != nil {
		return nil
	}
	r.setMaxJSON()
	value := r.appendValue(nil, r.bytes, 0)
	r.spend(len(value))
	return a2a.Value(value)
}

// maxGrowth is the largest ratio of the length of a field in JSON to its length in
// protobuf. A field may exceed this ratio by 1 KiB. In JSON, a text with ordinary escapes
// becomes at most twice as long, and a text of control characters six times.
const maxGrowth = 3

func (r *Reader) setMaxJSON() { r.maxJSON = maxGrowth*len(r.bytes) + 1<<10 }

// fits reports whether JSON of n bytes is within the limit. If not, fits fails.
func (r *Reader) fits(n int) bool {
	if n > r.maxJSON {
		r.Fail("is more than three times as long in JSON as in protobuf")
	}
	if n > r.left {
		return r.spend(n)
	}
	return r.err == nil
}

func (r *Reader) appendStruct(dst, text []byte, depth int) []byte {
	if !r.shallow(depth) {
		return dst
	}
	// r.names is a stack. The names of the enclosing objects come first, and the names of this
	// object begin at the index first.
	first := len(r.names)
	checkAt := minChecked
	defer func() { r.names = r.names[:first] }()
	dst = append(dst, '{')
	for _, entry := range r.values(text, &onlyWires) {
		name, value := r.entry(entry)
		if len(r.names) > first {
			dst = append(dst, ',')
		}
		at := len(dst)
		dst = r.appendText(dst, name)
		if r.err != nil {
			return dst
		}
		r.names = r.names.Add(dst, at)
		if len(r.names)-first == checkAt {
			r.checkNames(dst, first)
			checkAt *= 2
		}
		dst = append(dst, ':')
		dst = r.appendValue(dst, value, depth)
	}
	r.checkNames(dst, first)
	return append(dst, '}')
}

// minChecked is the number of names after which appendStruct looks for duplicates for the
// first time. It does not wait for the end of the object, so that it refuses an object with
// millions of equal names early.
const minChecked = 64

// checkNames fails if two of the names from the index first on are equal.
func (r *Reader) checkNames(dst []byte, first int) {
	if r.err == nil && r.names[first:].Duplicate(dst) >= 0 {
		r.Fail("must not have a duplicate name")
	}
}

// entry reads a member of a Struct. An absent name is empty, and an absent value
// is null.
func (r *Reader) entry(text []byte) (name, value []byte) {
	names := 0
	values := 0
	for number, content := range r.values(text, &entryWires) {
		if number == entryKey {
			name = content
			names = names + 1
		} else {
			value = content
			values = values + 1
		}
	}
	if names > 1 || values > 1 {
		r.Fail("must not have a member with two keys or two values")
	}
	return name, value
}

// appendValue reads the oneof of a Value and appends it as JSON. A oneof without a member
// is null.
func (r *Reader) appendValue(dst, text []byte, depth int) []byte {
	if !r.fits(len(dst)) {
		return dst
	}
	member := 0
	content := []byte(nil)
	for number, each := range r.values(text, &valueWires) {
		if member != 0 {
			r.Fail("must not have a value with two kinds")
			return dst
		}
		member = number
		content = each
	}
	switch member {
	case valueNumber:
		return r.appendNumber(dst, content)
	case valueString:
		return r.appendText(dst, content)
	case valueBool:
		n, _ := protowire.ConsumeVarint(content)
		return strconv.AppendBool(dst, n != 0)
	case valueStruct:
		return r.appendStruct(dst, content, depth+1)
	case valueList:
		return r.appendList(dst, content, depth+1)
	default:
		return append(dst, "null"...)
	}
}

func (r *Reader) appendList(dst, text []byte, depth int) []byte {
	if !r.shallow(depth) {
		return dst
	}
	dst = append(dst, '[')
	more := false
	for _, value := range r.values(text, &onlyWires) {
		if more {
			dst = append(dst, ',')
		}
		more = true
		dst = r.appendValue(dst, value, depth)
	}
	return append(dst, ']')
}

// values yields the number and the content of each known field of a message in a Struct or
// a Value.
func (r *Reader) values(text []byte, known *wires) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for len(text) > 0 && r.err == nil {
			var number int
			var wire protowire.Type
			var content []byte
			number, wire, content, text = r.cut(text)
			if number >= len(known) || known[number] < 0 || r.err != nil {
				continue
			}
			if wire != known[number] {
				r.Fail("has a value with the wrong wire type")
				return
			}
			if wire == protowire.BytesType {
				content, _ = protowire.ConsumeBytes(content)
			}
			if !yield(number, content) {
				return
			}
		}
	}
}

func (r *Reader) shallow(depth int) bool {
	if depth > jsonread.MaxValueDepth {
		r.Fail("is nested deeper than " + strconv.Itoa(jsonread.MaxValueDepth) + " levels")
	}
	return r.err == nil
}

func (r *Reader) appendNumber(dst, content []byte) []byte {
	bits, _ := protowire.ConsumeFixed64(content)
	f := math.Float64frombits(bits)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		r.Fail("has a number that JSON cannot represent")
		return dst
	}
	return append(dst, jsontext.Float(f).String()...)
}

func (r *Reader) appendText(dst, text []byte) []byte {
	if !r.fits(len(dst) + quotedLength(text)) {
		return dst
	}
	dst, err := jsontext.AppendQuote(dst, text)
	if err != nil {
		r.Fail("is not valid UTF-8")
	}
	return dst
}

// quotedLength returns the length of a text as a JSON string, with six bytes for each control
// character.
func quotedLength(text []byte) int {
	n := len(text)
	for _, c := range text {
		switch {
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t':
			n++
		case c < ' ':
			n += 5
		}
	}
	return n
}

// AppendObject appends a Struct field, unless the object is empty.
//
// A Struct contains numbers as doubles. Integers beyond 2^53 are rounded, numbers beyond
// the largest double become the largest double, and the notation of a number (1.50, 1e2) is
// lost.
func AppendObject(dst []byte, number protowire.Number, o a2a.Object) []byte {
	if len(o) == 0 {
		return dst
	}
	w := valueWriter{dst: dst}
	begun := w.begin(number)
	w.members(jsonread.New(o))
	w.end(begun)
	return w.finish()
}

// AppendMember appends one member to the content of a Struct. An empty value
// becomes null.
func AppendMember(dst []byte, name string, v a2a.Value) []byte {
	w := valueWriter{dst: dst}
	w.member(name, valueReader(v))
	return w.finish()
}

// AppendValue appends a Value field. An empty value becomes null.
func AppendValue(dst []byte, number protowire.Number, v a2a.Value) []byte {
	w := valueWriter{dst: dst}
	w.field(number, valueReader(v))
	return w.finish()
}

func valueReader(v a2a.Value) *jsonread.Reader {
	if len(v) == 0 {
		v = a2a.Value("null")
	}
	return jsonread.New(v)
}

// MaxSize returns the number of bytes that a JSON value of at most 256 MiB needs at most as a Value or a Struct. A number of one digit, with
// its comma, needs 11.
func MaxSize(text []byte) int {
	const perValue = 10
	size := len(text) + 2*perValue
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			for at++; at < len(text) && text[at] != '"'; at++ {
				if text[at] == '\\' {
					at++
				}
			}
		case ',', '[', '{':
			size += perValue
		}
	}
	return size
}

// valueWriter appends JSON values as messages. It leaves one byte for the length of each message, and makes room for longer lengths at the
// end, once for all: End would move the content of a deep list at each level.
type valueWriter struct {
	dst []byte
	// long has the messages whose length needs more than a byte. extra is the number of bytes that their lengths need in addition.
	long  []begunMessage
	extra int
}

// begunMessage is a message that begins at a position of valueWriter.dst.
type begunMessage struct {
	at, length int
	// before is valueWriter.extra at its beginning.
	before int
}

func (w *valueWriter) begin(number protowire.Number) begunMessage {
	dst, at := Begin(w.dst, number)
	w.dst = dst
	return begunMessage{at: at, before: w.extra}
}

func (w *valueWriter) end(m begunMessage) {
	m.length = len(w.dst) - m.at + w.extra - m.before
	size := protowire.SizeVarint(uint64(m.length))
	if size == 1 {
		w.dst[m.at-1] = byte(m.length)
		return
	}
	w.extra += size - 1
	w.long = append(w.long, m)
}

// finish writes the lengths that need more than a byte, and returns the result.
func (w *valueWriter) finish() []byte {
	slices.SortFunc(w.long, func(a, b begunMessage) int { return a.at - b.at })
	end := len(w.dst)
	dst := slices.Grow(w.dst, w.extra)[:end+w.extra]
	by := w.extra
	for _, m := range slices.Backward(w.long) {
		copy(dst[m.at+by:], dst[m.at:end])
		end = m.at - 1
		by -= protowire.SizeVarint(uint64(m.length)) - 1
		protowire.AppendVarint(dst[end+by:end+by], uint64(m.length))
	}
	return dst
}

func (w *valueWriter) members(r *jsonread.Reader) {
	for name := range r.AllMembers() {
		w.member(string(name), r)
	}
}

func (w *valueWriter) member(name string, r *jsonread.Reader) {
	begun := w.begin(structFields)
	w.dst = protowire.AppendTag(w.dst, entryKey, protowire.BytesType)
	w.dst = protowire.AppendString(w.dst, name)
	w.field(entryValue, r)
	w.end(begun)
}

// field appends a Value field with the next value of r.
func (w *valueWriter) field(number protowire.Number, r *jsonread.Reader) {
	begun := w.begin(number)
	switch r.Kind() {
	case '"':
		w.dst = protowire.AppendTag(w.dst, valueString, protowire.BytesType)
		w.dst = protowire.AppendString(w.dst, r.String())
	case '0':
		w.dst = protowire.AppendTag(w.dst, valueNumber, protowire.Fixed64Type)
		w.dst = protowire.AppendFixed64(w.dst, math.Float64bits(double(r.Raw())))
	case 't', 'f':
		w.dst = protowire.AppendTag(w.dst, valueBool, protowire.VarintType)
		w.dst = protowire.AppendVarint(w.dst, protowire.EncodeBool(r.Bool()))
	case '{':
		within := w.begin(valueStruct)
		w.members(r)
		w.end(within)
	case '[':
		within := w.begin(valueList)
		for range r.Elements() {
			w.field(listValues, r)
		}
		w.end(within)
	default:
		r.Skip()
		w.dst = protowire.AppendTag(w.dst, valueNull, protowire.VarintType)
		w.dst = protowire.AppendVarint(w.dst, 0)
	}
	w.end(begun)
}

// double returns the nearest finite double of a JSON number.
func double(text []byte) float64 {
	f, _ := strconv.ParseFloat(string(text), 64)
	return max(-math.MaxFloat64, min(f, math.MaxFloat64))
}
