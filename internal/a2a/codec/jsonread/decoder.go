// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonread

import (
	"bytes"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// errEnded is the error of a reader that was closed without an error. It prevents later
// calls from using the decoder, which may already read another text.
var errEnded = &a2a.Error{Reason: a2a.ReasonInternal, Message: "reader has ended"}

// MaxDepth is the maximum nesting of objects and arrays.
const MaxDepth = 64

// level is an open object or array during a scan.
type level struct {
	// firstName is the index of the first name of an object in the list of names.
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

// allowDuplicates turns off the decoder's check of names, because scan checks them with less
// memory.
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
