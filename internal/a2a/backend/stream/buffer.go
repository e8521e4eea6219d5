// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import "sync"

// The sizes of buffers. Most streams are idle most of the time and hold their buffer
// meanwhile, so a buffer is small as long as the reads are small.
const (
	smallSize = 1 << 10
	largeSize = 8 << 10
)

var smallBuffers, largeBuffers = newPool(smallSize), newPool(largeSize)

func newPool(size int) *sync.Pool {
	return &sync.Pool{New: func() any { b := make([]byte, size); return &b }}
}

// Buffer is a pooled buffer for the pieces of a response.
type Buffer struct {
	// Bytes is the whole buffer.
	Bytes  []byte
	pooled *[]byte
	owner  *sync.Pool
}

// NewBuffer returns a small buffer. The caller calls Release when it does not need the
// buffer any more.
func NewBuffer() *Buffer {
	b := &Buffer{}
	b.get(smallBuffers)
	return b
}

// Release returns the buffer to its pool.
func (b *Buffer) Release() {
	b.owner.Put(b.pooled)
	*b = Buffer{}
}

// Resize adapts the size of the buffer to the size of the last read, before the next read.
// filled is the number of bytes that were in use. The first held bytes stay in the buffer.
func (b *Buffer) Resize(filled, held int) {
	switch size := len(b.Bytes); {
	case filled == size && size < largeSize:
		b.move(largeBuffers, held)
	case filled <= smallSize/2 && size > smallSize:
		b.move(smallBuffers, held)
	case filled <= largeSize/2 && size > largeSize:
		b.move(largeBuffers, held)
	}
}

// Grow doubles the size of the buffer.
func (b *Buffer) Grow() { b.Bytes = append(b.Bytes, make([]byte, len(b.Bytes))...) }

func (b *Buffer) move(to *sync.Pool, held int) {
	from, lent, owner := b.Bytes, b.pooled, b.owner
	b.get(to)
	copy(b.Bytes, from[:held])
	owner.Put(lent)
}

func (b *Buffer) get(from *sync.Pool) {
	lent, _ := from.Get().(*[]byte)
	b.Bytes, b.pooled, b.owner = *lent, lent, from
}
