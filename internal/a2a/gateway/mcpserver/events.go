// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"iter"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxStreams is the maximum number of streams in events, and maxStored of bytes of their events. If there are more, the
	// oldest streams are removed whole. Their clients cannot resume them any more.
	maxStreams = 4 * maxSessions
	maxStored  = 2 << 20
)

// events stores the events of responses, so that a client whose connection breaks reads the rest (Last-Event-ID). It
// implements mcp.EventStore. The store of the SDK keeps each stream until the end of its session.
type events struct {
	mu      sync.Mutex
	streams map[streamKey][][]byte
	// order has the keys of streams, the oldest first.
	order []streamKey
	bytes int
}

// streamKey names a stream. A stream without an id is that for notifications outside of requests, of which there are
// none: events does not store it.
type streamKey struct{ session, id string }

func newEvents() *events { return &events{streams: map[streamKey][][]byte{}} }

// Open begins a stream.
func (e *events) Open(_ context.Context, session, id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := streamKey{session, id}
	if _, found := e.streams[key]; id == "" || found {
		return nil
	}
	e.streams[key] = nil
	e.order = append(e.order, key)
	if len(e.order) > maxStreams {
		e.removeOldest()
	}
	return nil
}

// Append adds an event to a stream. If the stream was removed, the SDK can still send the event to its client.
func (e *events) Append(_ context.Context, session, id string, data []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := streamKey{session, id}
	stored, found := e.streams[key]
	if !found {
		return mcp.ErrEventsPurged
	}
	e.streams[key] = append(stored, data)
	e.bytes += len(data)
	for e.bytes > maxStored {
		e.removeOldest()
	}
	return nil
}

// After yields the events of a stream after an index.
func (e *events) After(_ context.Context, session, id string, index int) iter.Seq2[[]byte, error] {
	e.mu.Lock()
	stored, found := e.streams[streamKey{session, id}]
	e.mu.Unlock()
	return func(yield func([]byte, error) bool) {
		if !found && id != "" {
			yield(nil, mcp.ErrEventsPurged)
			return
		}
		for _, data := range stored[min(max(index+1, 0), len(stored)):] {
			if !yield(data, nil) {
				return
			}
		}
	}
}

// SessionClosed removes the streams of a session.
func (e *events) SessionClosed(_ context.Context, session string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	kept := e.order[:0]
	for _, key := range e.order {
		if key.session == session {
			e.remove(key)
		} else {
			kept = append(kept, key)
		}
	}
	e.order = kept
	return nil
}

// removeOldest removes the oldest stream. e.mu must be held.
func (e *events) removeOldest() {
	e.remove(e.order[0])
	e.order = e.order[1:]
}

// remove removes a stream, but not from order. e.mu must be held.
func (e *events) remove(key streamKey) {
	for _, data := range e.streams[key] {
		e.bytes -= len(data)
	}
	delete(e.streams, key)
}
