// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serverconn

import (
	"encoding/binary"
	"sync/atomic"
	"time"
)

// preface is how a connection of HTTP/2 begins (RFC 9113 section 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// The frames that are told apart (RFC 9113 section 6).
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	frameReset        = 0x3
	flagEndStream     = 0x1
	frameHeaderLength = 9
)

// What a client may send beside requests. A frame that is none of a request
// costs; what the server sends in answer to requests earns, so that who is
// served a lot may also say a lot. A client that behaves never comes near the
// end: a frame of data is acknowledged by two frames, and perhaps a ping.
const (
	firstBudget  = 4_000
	maxBudget    = 20_000
	earnedBySent = 4
	costOfReset  = 10
	perSecond    = 200
)

// frames watches the HTTP/2 frames of a connection. The server itself bounds
// streams, headers and what it buffers; it answers pings, settings and resets
// for as long as they come.
type frames struct {
	// matched counts the bytes of the preface; -1 when this is not HTTP/2.
	matched  int
	in, out  scanner
	budget   atomic.Int64
	refilled time.Time
	now      func() time.Time
}

func (f *frames) start() {
	f.budget.Store(firstBudget)
	if f.now == nil {
		f.now = time.Now //nolint:forbidigo // of the machine, as deadlines are
	}
	f.refilled = f.now()
}

// received reports whether the client may send what it has. Reads do not overlap.
func (f *frames) received(p []byte) bool {
	for f.matched < len(preface) {
		if f.matched < 0 || len(p) == 0 {
			return true
		}
		if p[0] != preface[f.matched] {
			f.matched = -1
			return true
		}
		f.matched++
		p = p[1:]
	}
	for {
		frame, rest, whole := f.in.next(p)
		if !whole {
			return true
		}
		p = rest
		if cost := frame.cost(); cost > 0 && f.budget.Add(-cost) < 0 && !f.refill() {
			return false
		}
	}
}

// refill adds what time has earned, and reports whether that is enough.
func (f *frames) refill() bool {
	now := f.now()
	earned := int64(now.Sub(f.refilled).Seconds() * perSecond)
	f.refilled = now
	return f.budget.Add(min(earned, firstBudget)) >= 0
}

// sent earns by what the server answers. Writes do not overlap.
func (f *frames) sent(p []byte) {
	if f.matched < len(preface) {
		return
	}
	for {
		frame, rest, whole := f.out.next(p)
		if !whole {
			return
		}
		p = rest
		if (frame.kind == frameData || frame.kind == frameHeaders) && f.budget.Load() < maxBudget {
			f.budget.Add(earnedBySent)
		}
	}
}

// frame is the head of one.
type frame struct {
	length      int
	kind, flags byte
}

// cost is what a frame of the client costs.
func (f frame) cost() int64 {
	switch f.kind {
	case frameHeaders:
		return 0
	case frameData:
		if f.length > 0 || f.flags&flagEndStream != 0 {
			return 0
		}
		return 1
	case frameReset:
		return costOfReset
	default:
		return 1
	}
}

// scanner finds frames in what is read or written piece by piece.
type scanner struct {
	head [frameHeaderLength]byte
	have int
	// skip is what is left of a frame's payload.
	skip int
}

// next returns the next head that is whole, and what comes after it.
func (s *scanner) next(p []byte) (f frame, rest []byte, whole bool) {
	n := min(s.skip, len(p))
	s.skip -= n
	p = p[n:]
	n = copy(s.head[s.have:], p)
	s.have += n
	if s.have < frameHeaderLength {
		return frame{}, nil, false
	}
	s.have = 0
	f = frame{length: int(binary.BigEndian.Uint32(s.head[:4]) >> 8), kind: s.head[3], flags: s.head[4]}
	s.skip = f.length
	return f, p[n:], true
}
