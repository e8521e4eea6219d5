// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonread

import (
	"bytes"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// errEnded is the error of a reader that was closed without an error. It prevents the
// reader from using its former decoder, which the pool may already have lent to another
// reader.
var errEnded = &a2a.Error{Reason: a2a.ReasonInternal, Message: "reader has ended"}

// MaxDepth is the maximum nesting of objects and arrays.
const MaxDepth = 64

// level is an open object or array during a scan.
type level struct {
	// firstName is the index of the first name of the object in decoder.names.
	firstName int
	isObject  bool
}

// decoder is a jsontext.Decoder with its input. Decoders are pooled, because their stacks
// of names cause most allocations of reading a text.
type decoder struct {
	*jsontext.Decoder
	text bytes.Buffer
	// names and levels are memory for scan.
	names  NameList
	levels [MaxDepth]level
}

// allowDuplicates turns off the decoder's check for duplicate names, because scan checks
// them with less memory.
var allowDuplicates = []jsontext.Options{jsontext.AllowDuplicateNames(true)}

var decoders = sync.Pool{New: func() any { return &decoder{Decoder: new(jsontext.Decoder)} }}

func lend(text []byte) *decoder {
	d := decoders.Get().(*decoder) // the pool holds nothing else
	d.text = *bytes.NewBuffer(text)
	d.Reset(&d.text, allowDuplicates...)
	return d
}

// giveBack returns the decoder to the pool, without a reference to its text.
func (d *decoder) giveBack() {
	d.text = bytes.Buffer{}
	d.Reset(&d.text)
	if cap(d.names) > maxPooledNames {
		d.names = nil
	}
	decoders.Put(d)
}

// scan returns the deepest nesting of brackets outside of strings, at most MaxDepth+1, and
// the offset of a name that repeats an earlier name of its object, -1 for none. It stops
// when it exceeds MaxDepth or finds a duplicate name. It does not validate the text: the
// decoder refuses invalid JSON later.
func (d *decoder) scan(text []byte) (deepest, duplicate int) {
	names := d.names[:0]
	depth := 0
	defer func() { d.names = names[:0] }()
	// nameNext is true if the next string is a name.
	nameNext := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			if nameNext {
				names = names.Add(text, i)
				nameNext = false
			}
			i += quoted(text[i+1:])
		case ',':
			nameNext = depth > 0 && d.levels[depth-1].isObject
		case '{', '[':
			if depth == MaxDepth {
				return MaxDepth + 1, -1
			}
			nameNext = c == '{'
			d.levels[depth] = level{firstName: len(names), isObject: nameNext}
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			nameNext = false
			if depth == 0 {
				continue
			}
			depth--
			own := names[d.levels[depth].firstName:]
			if len(own) > 1 {
				if at := own.Duplicate(text); at >= 0 {
					return deepest, at
				}
			}
			names = names[:d.levels[depth].firstName]
		}
	}
	return deepest, -1
}
