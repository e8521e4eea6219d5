// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"encoding/binary"
	"sync/atomic"
	"time"
)

// preface is the beginning of an HTTP/2 connection (RFC 9113 section 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// Types and flags of frames (RFC 9113 section 6).
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	frameReset        = 0x3
	frameContinuation = 0x9
	flagEndStream     = 0x1
	flagEndHeaders    = 0x4
	flagPadded        = 0x8
	frameHeaderLength = 9
	// maxPadding is the largest padding of a frame, with its length.
	maxPadding = 256
)

// The budget of a connection for HTTP/2 frames that carry no request (token bucket).
// HEADERS frames, and DATA frames of an open stream with END_STREAM or content beyond possible padding, cost nothing. A reset costs
// costOfReset, and each other frame of the client 1. Each second adds perSecond. Each
// HEADERS or DATA frame of the server adds earnedBySent, because a client that receives
// many frames has to send many. Normal clients stay far below the limit: they acknowledge a
// data frame with two frames and perhaps a ping. A new connection may reset all its streams at once, but not much
// more, because an attacker opens new connections all the time.
const (
	firstBudget  = maxStreams*costOfReset + 200
	maxBudget    = 20_000
	earnedBySent = 4
	costOfReset  = 10
	perSecond    = 200
)

// frames limits the HTTP/2 frames of a connection, against floods. The HTTP server bounds
// streams, headers and buffers itself, but answers any number of pings, settings and
// resets.
type frames struct {
	// matched is the number of bytes of the preface that the client has sent. It is -1 if the
	// connection is not HTTP/2.
	matched int
	in, out scanner
	budget  atomic.Int64
	// excess is the cost of the frames that the answers of the server have not earned, and whose turns have not come. Only the
	// goroutine that reads uses it.
	excess   int64
	refilled time.Time
	now      func() time.Time
	to       events
	// last is the stream whose last frame the client is sending, 0 if there is none. isInHeader is true while its header
	// continues in further frames.
	last       uint32
	isInHeader bool
}

// events are the events of streams that frames show.
type events interface {
	// openStream is called for each HEADERS frame of the client. It returns true if the stream has to wait for room.
	openStream(id uint32) (waits bool)
	// endHeader is called at the end of each header, and of each frame outside of headers.
	endHeader()
	// isOpen reports whether a stream that the client has opened has not ended.
	isOpen(id uint32) bool
	// finishStream is called when the client has sent the whole request.
	finishStream(id uint32)
	// endStream is called for each frame of either side that ends a stream.
	endStream(id uint32)
}

// start begins with the first byte of a connection, or of a connection that was parked.
func (f *frames) start() {
	f.matched = 0
	f.in = scanner{}
	f.out = scanner{}
	f.budget.Store(firstBudget)
	f.excess = 0
	if f.now == nil {
		f.now = time.Now //nolint:forbidigo // the clock of deadlines
	}
	f.refilled = f.now()
}

// received charges the budget for the frames in p, bytes that the client sent. It stops after the preface, and after the header of
// a frame that opens a stream which has to wait for room: it then returns the rest, which must be passed to the next call. ok is
// false if the budget is exhausted. Calls must not overlap.
func (f *frames) received(p []byte) (rest []byte, ok bool) {
	if f.matched != len(preface) {
		return f.afterPreface(p), true
	}
	for {
		frame, rest, complete := f.in.next(p)
		if !f.isInHeader && (complete || f.in.skip == 0) {
			f.endFrame()
		}
		if !complete {
			return nil, true
		}
		p = rest
		switch frame.kind {
		case frameHeaders:
			f.isInHeader = frame.flags&flagEndHeaders == 0
			f.noteLast(frame)
			if f.to.openStream(frame.stream) {
				return rest, true
			}
		case frameContinuation:
			f.isInHeader = frame.flags&flagEndHeaders == 0
		case frameData:
			f.noteLast(frame)
		case frameReset:
			f.to.endStream(frame.stream)
		}
		cost := frame.cost()
		if frame.kind == frameData && !f.to.isOpen(frame.stream) {
			cost = 1
		}
		if cost > 0 && !f.charge(cost) {
			return nil, false
		}
	}
}

// charge charges the cost of a frame, and reports whether the budget suffices.
func (f *frames) charge(cost int64) bool {
	left := f.budget.Add(-cost)
	if left < firstBudget {
		f.excess += cost
	}
	return left >= 0 || f.refill()
}

// endFrame ends a frame that is not a part of a header, or the last one of a header.
func (f *frames) endFrame() {
	f.to.endHeader()
	if f.last != 0 {
		f.to.finishStream(f.last)
		f.last = 0
	}
}

// afterPreface returns the bytes of p after the preface of HTTP/2, none if the client speaks HTTP/1.1.
func (f *frames) afterPreface(p []byte) (rest []byte) {
	for f.matched < len(preface) {
		if f.matched < 0 || len(p) == 0 {
			return nil
		}
		if p[0] != preface[f.matched] {
			f.matched = -1
			return nil
		}
		f.matched++
		p = p[1:]
	}
	return p
}

func (f *frames) noteLast(of frame) {
	if of.flags&flagEndStream != 0 {
		f.last = of.stream
	}
}

// refill adds the budget for the time since the last refill, at most firstBudget, and
// reports whether the budget suffices.
func (f *frames) refill() bool {
	now := f.now()
	earned := int64(now.Sub(f.refilled).Seconds() * perSecond)
	f.refilled = now
	return f.budget.Add(min(earned, firstBudget)) >= 0
}

// sent adds to the budget for each DATA or HEADERS frame in p, bytes that the server
// sent. Calls must not overlap.
func (f *frames) sent(p []byte) {
	if f.matched < len(preface) {
		return
	}
	for {
		frame, rest, complete := f.out.next(p)
		if !complete {
			return
		}
		p = rest
		if frame.endsStream() {
			f.to.endStream(frame.stream)
		}
		if (frame.kind == frameData || frame.kind == frameHeaders) && f.budget.Load() < maxBudget {
			f.budget.Add(earnedBySent)
		}
	}
}

// frame has the values of the header of a frame.
type frame struct {
	length      int
	kind, flags byte
	stream      uint32
}

// endsStream reports whether a frame of the server ends its stream.
func (f frame) endsStream() bool {
	switch f.kind {
	case frameReset:
		return true
	case frameData, frameHeaders:
		return f.flags&flagEndStream != 0
	default:
		return false
	}
}

// cost returns the cost of a frame of the client.
func (f frame) cost() int64 {
	switch f.kind {
	case frameHeaders:
		return 0
	case frameData:
		content := f.length
		if f.flags&flagPadded != 0 {
			content -= maxPadding
		}
		if content > 0 || f.flags&flagEndStream != 0 {
			return 0
		}
		return 1
	case frameReset:
		return costOfReset
	default:
		return 1
	}
}

// scanner finds the frames in a byte stream.
type scanner struct {
	head [frameHeaderLength]byte
	have int
	// skip is the number of bytes of a payload that the scanner has still to skip.
	skip int
}

// next returns the next frame header in p and the bytes after it. complete is false if p
// ends before the end of the header.
func (s *scanner) next(p []byte) (f frame, rest []byte, complete bool) {
	n := min(s.skip, len(p))
	s.skip -= n
	p = p[n:]
	n = copy(s.head[s.have:], p)
	s.have += n
	if s.have < frameHeaderLength {
		return frame{}, nil, false
	}
	s.have = 0
	f = frame{
		length: int(binary.BigEndian.Uint32(s.head[:4]) >> 8),
		kind:   s.head[3],
		flags:  s.head[4],
		stream: binary.BigEndian.Uint32(s.head[5:]) &^ (1 << 31),
	}
	s.skip = f.length
	return f, p[n:], true
}
