// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

func (s *Stream) append(text string) { s.out = append(s.out, text...) }

func (s *Stream) sendUpsert(e *index.Entry) error {
	s.out = appendUpsert(s.out, e)
	return s.writeChunk()
}

func (s *Stream) send(event []byte) error {
	s.out = append(s.out, event...)
	return s.writeChunk()
}

// writeChunk writes the buffered events if they have at least chunkSize bytes. If the reader is too
// slow or the stream has expired, it returns ErrSlowConsumer or ErrExpired instead.
func (s *Stream) writeChunk() error {
	if len(s.out) < chunkSize {
		return nil
	}
	if err := s.checkLag(); err != nil {
		return err
	}
	select {
	case <-s.expired:
		return ErrExpired
	default:
		return s.write()
	}
}

// sendShared sends the frames of an update in chunks. It copies only one chunk at a time, because
// the frames are shared.
func (s *Stream) sendShared(f *frames) error {
	if f.last == nil {
		return nil
	}
	for all := f.allButLast; len(all) > 0; {
		n := min(len(all), chunkSize)
		if err := s.send(all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	s.out = appendID(s.out, s.cursor())
	s.out = append(s.out, f.last...)
	return s.flush()
}

func (s *Stream) write() error {
	_, err := s.w.Write(s.out)
	s.out = s.out[:0]
	return err
}

func (s *Stream) flush() error {
	if err := s.write(); err != nil {
		return err
	}
	return s.w.Flush()
}

// buffers has buffers for the events of streams, for reuse. Thousands of streams that send an
// update one after the other need only a few buffers.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// takeBuffer gives the stream a buffer for events.
func (s *Stream) takeBuffer() {
	s.buffer = buffers.Get().(*[]byte)
	s.out = (*s.buffer)[:0]
}

// returnBuffer returns the buffer of the stream for use by other streams. It drops a buffer that is
// larger than a chunk: a stream with few events and a stalled reader could otherwise keep this
// memory until its write fails. The stream must have written all its events.
func (s *Stream) returnBuffer() {
	if s.buffer == nil {
		return // the stream has no buffer while it waits
	}
	if cap(s.out) <= chunkSize {
		*s.buffer = s.out
		buffers.Put(s.buffer)
	}
	s.buffer = nil
	s.out = nil
}
