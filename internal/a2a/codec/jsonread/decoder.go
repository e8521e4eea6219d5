// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonread

import (
	"bytes"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// errEnded is the error of a reader that ended without one. It keeps later calls
// away from the decoder, which may read another text by then.
var errEnded = &a2a.Error{Reason: a2a.ReasonInternal, Message: "reader has ended"}

// decoder is a jsontext.Decoder with its input. Most allocations of reading a text
// are its stacks of names, so decoders are pooled.
type decoder struct {
	*jsontext.Decoder
	text bytes.Buffer
}

var decoders = sync.Pool{New: func() any { return &decoder{Decoder: new(jsontext.Decoder)} }}

func lend(text []byte) *decoder {
	d := decoders.Get().(*decoder) //nolint:forcetypeassert // the pool holds nothing else
	d.text = *bytes.NewBuffer(text)
	d.Reset(&d.text)
	return d
}

// giveBack returns the decoder to the pool, without its text.
func (d *decoder) giveBack() {
	d.text = bytes.Buffer{}
	d.Reset(&d.text)
	decoders.Put(d)
}
