// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import "sync"

// A buffer is little while little arrives: most streams rest most of the time,
// and hold it all the while.
const (
	smallSize = 1 << 10
	largeSize = 8 << 10
)

var smallBuffers, largeBuffers = newPool(smallSize), newPool(largeSize)

func newPool(size int) *sync.Pool {
	return &sync.Pool{New: func() any { b := make([]byte, size); return &b }}
}

// Buffer is what an answer is read into, piece by piece.
type Buffer struct {
	// Bytes is all of it.
	Bytes  []byte
	pooled *[]byte
	owner  *sync.Pool
}

// Borrow returns a buffer; GiveBack takes it back.
func NewBuffer() *Buffer {
	b := &Buffer{}
	b.get(smallBuffers)
	return b
}

// GiveBack takes a borrowed buffer, of which nothing is kept.
func (b *Buffer) Release() {
	b.owner.Put(b.pooled)
	*b = Buffer{}
}

// Suit fits the buffer to what has arrived, before the next read. So much of
// it was filled, and the first held bytes are kept.
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

// Double makes it twice as long.
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
