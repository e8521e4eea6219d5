// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonread

import (
	"bytes"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// errEnded stands in the place of an error once a reader has ended well, so
// that nothing is asked of a decoder that reads another text by now.
var errEnded = &a2a.Error{Reason: a2a.ReasonInternal, Message: "reader has ended"}

// decoder is a decoder with its input. Its stacks of names are most of what
// reading a text would allocate, so it is used again.
type decoder struct {
	*jsontext.Decoder
	text bytes.Buffer
}

var decoders = sync.Pool{New: func() any { return &decoder{Decoder: new(jsontext.Decoder)} }}

func lend(text []byte) *decoder {
	d := decoders.Get().(*decoder) //nolint:forcetypeassert // nothing else is in the pool
	d.text = *bytes.NewBuffer(text)
	d.Reset(&d.text)
	return d
}

// giveBack keeps nothing of the text.
func (d *decoder) giveBack() {
	d.text = bytes.Buffer{}
	d.Reset(&d.text)
	decoders.Put(d)
}
