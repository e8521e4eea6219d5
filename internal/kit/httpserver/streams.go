// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"sync"
	"sync/atomic"
)

// streams are the streams of an HTTP/2 connection, as its frames show them. A stream uses memory until its
// response has been sent, which may be long after its handler has returned: the client decides when it admits
// the response (flow control). The methods are safe for concurrent use.
type streams struct {
	mu sync.Mutex
	// open has the streams, with true for those whose request the client has sent in whole. unfinished is the number
	// of the others.
	open       map[uint32]bool
	unfinished int
	// last is the largest id of a stream that the client has opened.
	last uint32
	// read is the last of them whose header net/http may have.
	read atomic.Uint32
	// handlers is the number of handlers that run. queued is the number of streams whose handlers have not
	// begun: net/http queues them beyond maxStreams, also if the client has reset the stream.
	handlers int
	queued   int
	// charged is the number of requests, beyond the first one, that the table counts.
	charged int
	// unpaid is the number of streams for which the table had no room, and whose handlers have not begun.
	unpaid int
	// pending is 1 while the last stream waits for room, and otherwise 0.
	pending int
	// isWorking is true while the server works on a whole request, which counts in Conn.busy. mayNote is true
	// from when it is false again until the next stream: a client that resets its streams does not count as new.
	isWorking, mayNote bool
	// isAnswering is true while the response to a whole request has not been sent in whole, which also lasts while the client
	// does not admit it. It adds answering to Conn.busy.
	isAnswering bool
}

// excess returns the number of requests beyond the first one, without the one that waits for room.
func (s *streams) excess() int {
	return max(len(s.open)-s.pending, s.handlers+s.queued-s.pending, 1) - 1
}

// work changes Conn.busy if the server begins or ends to work on whole requests. The caller holds the lock.
func (c *Conn) work() {
	s := &c.streams
	isWorking := min(len(s.open), s.handlers+s.queued) > s.unfinished
	switch {
	case isWorking == s.isWorking:
	case isWorking:
		c.busy.Add(1)
	default:
		s.mayNote = true
		c.note()
		c.rest()
	}
	s.isWorking = isWorking
	if isAnswering := len(s.open) > s.unfinished; isAnswering != s.isAnswering {
		s.isAnswering = isAnswering
		c.answer(isAnswering)
	}
}

// openStream counts a stream that the client has opened. It returns true if admitStream must be called before the server reads
// the request, because the stream needs memory.
func (c *Conn) openStream(id uint32) bool {
	s := &c.streams
	s.mu.Lock()
	defer s.mu.Unlock()
	if id <= s.last {
		return false // the trailer of a request
	}
	s.last = id
	if s.open == nil {
		s.open = map[uint32]bool{}
	}
	if s.mayNote {
		s.mayNote = false
		c.note()
	}
	s.open[id] = false
	s.unfinished++
	s.queued++
	if s.excess() > s.charged {
		s.pending = 1
	}
	return s.pending > 0
}

// endHeader notes that the server has read the header of the last stream. Only the goroutine that reads opens streams.
func (c *Conn) endHeader() { c.streams.read.Store(c.streams.last) }

// admitStream waits for memory for the stream that the client has opened last. It returns false if there is none, and none for
// its refusal.
func (c *Conn) admitStream() bool {
	s := &c.streams
	s.mu.Lock()
	s.pending = 0
	isAdmitted := s.excess() <= s.charged
	if !isAdmitted {
		s.charged++
	}
	s.mu.Unlock()
	if isAdmitted || c.server.table.charge(c, streamBytes, true) {
		return true
	}
	s.mu.Lock()
	s.unpaid++
	s.mu.Unlock()
	return c.server.table.chargeRefusal(c, streamBytes)
}

// isOpen reports whether a stream that the client has opened has not ended.
func (c *Conn) isOpen(id uint32) bool {
	s := &c.streams
	s.mu.Lock()
	defer s.mu.Unlock()
	_, isOpen := s.open[id]
	return isOpen
}

// finishStream notes that the client has sent the whole request of a stream.
func (c *Conn) finishStream(id uint32) {
	s := &c.streams
	s.mu.Lock()
	defer s.mu.Unlock()
	if isWhole, isOpen := s.open[id]; isOpen && !isWhole {
		s.open[id] = true
		s.unfinished--
		c.work()
	}
}

// endStream ends a stream whose response has been sent, or that one side has reset.
func (c *Conn) endStream(id uint32) {
	s := &c.streams
	s.mu.Lock()
	defer s.mu.Unlock()
	isWhole, isOpen := s.open[id]
	if isOpen && !isWhole {
		s.unfinished--
	}
	delete(s.open, id)
	c.settle()
}

// beginHandler counts the handler of a stream. It returns false if the handler must refuse its request.
func (c *Conn) beginHandler() bool {
	s := &c.streams
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers++
	s.queued = max(0, s.queued-1)
	if added := s.excess() - s.charged; added > 0 { // the client has reset the stream
		s.charged += added
		c.server.table.adjustStreams(c, int64(added)*streamBytes)
	}
	c.work()
	if s.unpaid == 0 {
		return true
	}
	s.unpaid--
	return false
}

// endHandler ends what beginHandler began.
func (c *Conn) endHandler() {
	s := &c.streams
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers--
	c.settle()
}

// settle gives back what the connection no longer uses. The caller holds the lock.
func (c *Conn) settle() {
	s := &c.streams
	if len(s.open) == 0 && s.handlers == 0 { // net/http drops queued streams that the client has reset
		s.queued = 0
		s.unpaid = 0
	}
	if ended := s.charged - s.excess(); ended > 0 {
		s.charged -= ended
		c.server.table.adjustStreams(c, -int64(ended)*streamBytes)
	}
	c.work()
}
