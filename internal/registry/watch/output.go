// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"slices"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

func (s *Stream) append(text string) { s.out = append(s.out, text...) }

// sendUpsert sends the event of a new or changed agent.
func (s *Stream) sendUpsert(e *index.Entry) error {
	if len(e.Body()) <= maxCopied {
		s.out = appendUpsert(s.out, e)
		return s.writeChunk()
	}
	s.append(upsertBegin)
	if err := s.send(e.Body()); err != nil {
		return err
	}
	s.append(eventEnd)
	return s.write()
}

// maxCopied is the maximum size of what a stream copies into its buffer, in bytes. A reader that does not read keeps the copy until its write
// fails.
const maxCopied = chunkSize / 4

// send sends a part of an event. It copies only small parts. It writes large ones in chunks, so that the stream ends soon if it must.
func (s *Stream) send(part []byte) error {
	if len(part) <= maxCopied {
		s.out = append(s.out, part...)
		return s.writeChunk()
	}
	if err := s.write(); err != nil {
		return err
	}
	for chunk := range slices.Chunk(part, chunkSize) {
		if err := s.check(); err != nil {
			return err
		}
		if _, err := s.w.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}

// writeChunk writes the buffered events if they have at least chunkSize bytes. If the stream must end, it returns the reason instead.
func (s *Stream) writeChunk() error {
	if len(s.out) < chunkSize {
		return nil
	}
	if err := s.check(); err != nil {
		return err
	}
	return s.write()
}

// check returns ErrSlowConsumer or ErrExpired if the reader is too slow or the stream has expired.
func (s *Stream) check() error {
	if err := s.checkLag(); err != nil {
		return err
	}
	select {
	case <-s.expired:
		return ErrExpired
	default:
		return nil
	}
}

// sendShared sends the frames of an update.
func (s *Stream) sendShared(f *frames) error {
	if f.last == nil {
		return nil
	}
	if err := s.send(f.allButLast); err != nil {
		return err
	}
	return s.sendLast(f.last)
}

// sendLast sends the last event of an update, with the id at which the stream can resume.
func (s *Stream) sendLast(event []byte) error {
	s.out = appendID(s.out, s.cursor())
	if err := s.send(event); err != nil {
		return err
	}
	return s.flush()
}

func (s *Stream) write() error {
	if len(s.out) == 0 {
		return nil
	}
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
