// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/test/stream/client"
	"github.com/a2a-operator/a2a-operator/test/stream/history"
)

// timedReader is a reader with the outcome of its first stream.
type timedReader struct {
	*reader
	first history.Stream
	// chunks holds the arrival time of each chunk.
	chunks []time.Duration
}

// slowAfter is a delay of a reader behind the fastest reader. If a reader has a larger delay when it is disconnected, the
// sidecar disconnected it as a slow consumer. The delay is then well above slowAfter, because the sidecar disconnects a
// reader only when a write has waited for 15 s, and the buffers of the kernel add to the delay.
const slowAfter = 10 * time.Second

// disconnectedAsSlow reports whether the sidecar disconnected a healthy reader as a slow consumer. All readers
// share one process and the machine with the sidecar, which may be too slow for some of them.
func (r *timedReader) disconnectedAsSlow(first map[int]time.Duration) bool {
	if r.first.Outcome != history.Cut {
		return false
	}
	if n := len(r.chunks); n > 0 {
		return r.chunks[n-1]-first[n-1] > slowAfter
	}
	return r.silence() > slowAfter
}

// recordChunks records the arrival time of new chunks.
func (r *timedReader) recordChunks() {
	for now := r.now(); len(r.chunks) < r.chunksSeen; {
		r.chunks = append(r.chunks, now)
	}
}

// silence returns the time between the last chunk and the end of the stream.
func (r *timedReader) silence() time.Duration {
	if n := len(r.chunks); n > 0 {
		return r.first.End - r.chunks[n-1]
	}
	return r.first.End - r.first.Begin
}

// firstArrivals returns the time at which the first reader received each chunk.
func firstArrivals(healthy []*timedReader) map[int]time.Duration {
	first := map[int]time.Duration{}
	for _, each := range healthy {
		for i, at := range each.chunks {
			if was, known := first[i]; !known || at < was {
				first[i] = at
			}
		}
	}
	return first
}

// delayP99 returns the 99th percentile of the delay of a chunk after its first arrival.
func delayP99(healthy []*timedReader, first map[int]time.Duration) time.Duration {
	var all []time.Duration
	for _, each := range healthy {
		for i, at := range each.chunks {
			all = append(all, at-first[i])
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)*99/100]
}

// stall reads the first event and then nothing until release; then it reads the rest and resumes.
func (r *timedReader) stall(ctx context.Context, release <-chan struct{}) {
	select {
	case <-r.known:
	case <-ctx.Done():
		return
	}
	wait := sync.OnceFunc(func() { <-release })
	r.first = r.readStalled(ctx, &client.Request{TaskID: r.id(), After: new(uint64), Buffer: stalledBuffer}, wait)
	if canResume(&r.first) {
		r.resume(ctx)
	}
}

// resume reads the streams of the task after the last event of the reader, until the task ends.
func (r *timedReader) resume(ctx context.Context) {
	for !r.ended && ctx.Err() == nil {
		after := r.after()
		if after == nil {
			after = new(uint64) // a gRPC stream names its last event only at an orderly end
		}
		record := r.readStalled(ctx, &client.Request{TaskID: r.id(), After: after}, func() {})
		if !canResume(&record) {
			return
		}
	}
}

// canResume reports whether a reader can open another stream of the task after the stream s.
func canResume(s *history.Stream) bool {
	return s.Outcome != history.NotFound && s.Outcome != history.Refused && s.Outcome != history.AlreadyEnded
}

// readStalled reads a stream with a pause after the first event. A disconnect is expected.
func (r *timedReader) readStalled(ctx context.Context, a *client.Request, pause func()) history.Stream {
	record := r.read(ctx, a, nil, func(*history.Event) bool { pause(); return false })
	if record.Outcome == history.Cut {
		r.markBroken(r.name)
	}
	return record
}
