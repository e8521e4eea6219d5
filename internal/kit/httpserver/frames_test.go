// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func encode(kind, flags byte, length int) []byte {
	b := make([]byte, frameHeaderLength+length)
	binary.BigEndian.PutUint32(b, uint32(length)<<8|uint32(kind))
	b[4] = flags
	return b
}

func TestScannerFindsFramesInAnyChunks(t *testing.T) {
	want := []frame{{8, 6, 0, 0}, {0, 4, 1, 0}, {300, 0, 1, 0}, {70_000, 1, 4, 0}, {4, 3, 0, 0}}
	var all []byte
	for _, f := range want {
		all = append(all, encode(f.kind, f.flags, f.length)...)
	}
	for _, size := range []int{1, 2, 3, 8, 9, 10, 17, 1000, len(all)} {
		var s scanner
		var got []frame
		for piece := range slicesOf(all, size) {
			for {
				f, rest, whole := s.next(piece)
				if !whole {
					break
				}
				got, piece = append(got, f), rest
			}
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(frame{})); diff != "" {
			t.Errorf("in pieces of %d (-want +got):\n%s", size, diff)
		}
	}
}

func slicesOf(all []byte, size int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(all) > 0 {
			n := min(size, len(all))
			if !yield(all[:n]) {
				return
			}
			all = all[n:]
		}
	}
}

// ignored ignores events.
type ignored struct{}

func (ignored) openStream(uint32) bool { return false }
func (ignored) endHeader()             {}
func (ignored) isOpen(uint32) bool     { return true }
func (ignored) finishStream(uint32)    {}
func (ignored) endStream(uint32)       {}

func newFrames(now *time.Time) *frames {
	f := &frames{now: func() time.Time { return *now }, to: ignored{}}
	f.start()
	return f
}

func TestFrames(t *testing.T) {
	answer := append(encode(frameHeaders, 4, 50), encode(frameData, 0, 100)...)
	tests := map[string]struct {
		opening, each []byte
		// answered has the frames that the server sends for each repetition.
		answered []byte
		pause    time.Duration
		times    int
		want     bool
	}{
		"HTTP/1.1":              {[]byte("GET / HTTP/1.1\r\n"), encode(6, 0, 8), nil, 0, 100_000, true},
		"almost HTTP/2":         {[]byte(preface[:20] + "x"), encode(6, 0, 8), nil, 0, 100_000, true},
		"pings":                 {[]byte(preface), encode(6, 0, 8), nil, 0, firstBudget + 1, false},
		"pings that are few":    {[]byte(preface), encode(6, 0, 8), nil, 0, firstBudget, true},
		"pings in time":         {[]byte(preface), encode(6, 0, 8), nil, time.Second / perSecond, 100_000, true},
		"pings that are acked":  {[]byte(preface), encode(6, 0, 8), encode(6, 1, 8), 0, firstBudget + 1, false},
		"settings":              {[]byte(preface), encode(4, 0, 0), nil, 0, firstBudget + 1, false},
		"continuations":         {[]byte(preface), encode(9, 0, 1), nil, 0, firstBudget + 1, false},
		"priorities":            {[]byte(preface), encode(2, 0, 5), nil, 0, firstBudget + 1, false},
		"unknown frames":        {[]byte(preface), encode(0xee, 0, 1), nil, 0, firstBudget + 1, false},
		"empty data":            {[]byte(preface), encode(0, 0, 0), nil, 0, firstBudget + 1, false},
		"padding":               {[]byte(preface), encode(0, flagPadded, maxPadding), nil, 0, firstBudget + 1, false},
		"content and padding":   {[]byte(preface), encode(0, flagPadded, maxPadding+1), nil, 0, 100_000, true},
		"resets":                {[]byte(preface), append(encode(1, 5, 20), encode(3, 0, 4)...), nil, 0, firstBudget/costOfReset + 1, false},
		"resets of answers":     {[]byte(preface), append(encode(1, 5, 20), encode(3, 0, 4)...), answer, 0, firstBudget, false},
		"requests":              {[]byte(preface), append(encode(1, 4, 20), encode(0, 1, 1000)...), nil, 0, 100_000, true},
		"a stream that is read": {[]byte(preface), bytes.Join([][]byte{encode(8, 0, 4), encode(8, 0, 4), encode(6, 0, 8)}, nil), encode(frameData, 0, 20), 0, 100_000, true},
		"streams that are left": {[]byte(preface), append(encode(1, 5, 20), encode(3, 0, 4)...), append(answer, encode(frameData, 0, 9)...), 0, 100_000, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(0, 0)
			f := newFrames(&now)
			_, got := f.received(test.opening)
			for range test.times {
				now = now.Add(test.pause)
				f.sent(test.answered)
				_, ok := f.received(test.each)
				got = got && ok
			}
			if got != test.want {
				t.Errorf("received() = %v after %d, budget %d", got, test.times, f.budget.Load())
			}
			if f.budget.Load() > maxBudget+earnedBySent {
				t.Errorf("budget = %d", f.budget.Load())
			}
		})
	}
}

func TestPlainRefusalHasItsContentLength(t *testing.T) {
	head, body, _ := strings.Cut(PlainRefusal, "\r\n\r\n")
	if !strings.Contains(head, "Content-Length: 47") || len(body) != 47 {
		t.Errorf("body has %d bytes: %s", len(body), head)
	}
}

func BenchmarkFrames(b *testing.B) {
	now := time.Unix(0, 0)
	f := newFrames(&now)
	f.received([]byte(preface))
	piece := bytes.Repeat(encode(0, 0, 400), 10)
	b.SetBytes(int64(len(piece)))
	for b.Loop() {
		f.received(piece)
	}
}
