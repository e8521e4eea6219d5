// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import "sync"

// A buffer is little while little arrives: most streams rest most of the time,
// and hold it all the while.
const (
	little = 1 << 10
	much   = 8 << 10
)

var littles, muches = pool(little), pool(much)

func pool(size int) *sync.Pool {
	return &sync.Pool{New: func() any { b := make([]byte, size); return &b }}
}

// Buffer is what an answer is read into, piece by piece.
type Buffer struct {
	// Bytes is all of it.
	Bytes []byte
	lent  *[]byte
	owner *sync.Pool
}

// Borrow returns a buffer; GiveBack takes it back.
func Borrow() *Buffer {
	b := &Buffer{}
	b.borrow(littles)
	return b
}

// GiveBack takes a borrowed buffer, of which nothing is kept.
func (b *Buffer) GiveBack() {
	b.owner.Put(b.lent)
	*b = Buffer{}
}

// Suit fits the buffer to what has arrived, before the next read. So much of
// it was filled, and the first held bytes are kept.
func (b *Buffer) Suit(filled, held int) {
	switch size := len(b.Bytes); {
	case filled == size && size < much:
		b.move(muches, held)
	case filled <= little/2 && size > little:
		b.move(littles, held)
	case filled <= much/2 && size > much:
		b.move(muches, held)
	}
}

// Double makes it twice as long.
func (b *Buffer) Double() { b.Bytes = append(b.Bytes, make([]byte, len(b.Bytes))...) }

func (b *Buffer) move(to *sync.Pool, held int) {
	from, lent, owner := b.Bytes, b.lent, b.owner
	b.borrow(to)
	copy(b.Bytes, from[:held])
	owner.Put(lent)
}

func (b *Buffer) borrow(from *sync.Pool) {
	lent, _ := from.Get().(*[]byte)
	b.Bytes, b.lent, b.owner = *lent, lent, from
}
