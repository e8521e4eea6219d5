// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxStored bounds the memory of events, in bytes. If there are more, answers to pings are
	// removed, the oldest first, and then the oldest other streams. Their clients cannot resume them any more.
	maxStored = 2 << 20
	// streamBytes is the memory of a stream without events.
	streamBytes = 256
	// maxPong bounds the answer to a ping, in bytes.
	maxPong = 128
)

// events stores the events of responses, so that a client whose connection breaks reads the rest (Last-Event-ID). It
// implements mcp.EventStore. The store of the SDK keeps each stream until the end of its session.
type events struct {
	mu      sync.Mutex
	streams map[streamKey]*stream
	// pings has the keys of streams with the answer to a ping, whose client sends another ping, and order those of all others, the oldest first.
	pings, order []streamKey
	bytes        int
}

// streamKey names a stream. A stream without an id is that for notifications outside of requests, of which there are
// none: events does not store it.
type streamKey struct{ session, id string }

// stream is the response to one request.
type stream struct {
	events [][]byte
	bytes  int
}

func newEvents() *events { return &events{streams: map[streamKey]*stream{}} }

// Open begins a stream.
func (e *events) Open(_ context.Context, session, id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := streamKey{session, id}
	if _, found := e.streams[key]; id == "" || found {
		return nil
	}
	e.streams[key] = &stream{bytes: streamBytes}
	e.bytes += streamBytes
	e.order = append(e.order, key)
	e.keepBound()
	return nil
}

// Append adds an event to a stream. If the stream was removed, the SDK can still send the event to its client.
func (e *events) Append(_ context.Context, session, id string, data []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := streamKey{session, id}
	s, found := e.streams[key]
	if !found {
		return mcp.ErrEventsPurged
	}
	s.events = append(s.events, data)
	s.bytes += len(data)
	e.bytes += len(data)
	if len(s.events) == 1 && isPong(data) {
		if i := slices.Index(e.order, key); i >= 0 {
			e.order = slices.Delete(e.order, i, i+1)
			e.pings = append(e.pings, key)
		}
	}
	e.keepBound()
	return nil
}

// isPong reports whether an event is the answer to a ping: an empty result. It does not decode longer events.
func isPong(data []byte) bool {
	var message struct {
		Method string          `json:"method"`
		Result json.RawMessage `json:"result"`
	}
	return len(data) <= maxPong && json.Unmarshal(data, &message) == nil && message.Method == "" && string(message.Result) == "{}"
}

// After yields the events of a stream after an index.
func (e *events) After(_ context.Context, session, id string, index int) iter.Seq2[[]byte, error] {
	e.mu.Lock()
	var stored [][]byte
	s, found := e.streams[streamKey{session, id}]
	if found {
		stored = s.events
	}
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
	ends := func(key streamKey) bool { return key.session == session }
	for _, keys := range []*[]streamKey{&e.pings, &e.order} {
		for _, key := range *keys {
			if ends(key) {
				e.remove(key)
			}
		}
		*keys = slices.DeleteFunc(*keys, ends)
	}
	return nil
}

// keepBound removes the oldest answers to pings and, if there is none, the oldest streams until maxStored holds. e.mu must be
// held.
func (e *events) keepBound() {
	for e.bytes > maxStored {
		from := &e.pings
		if len(e.pings) == 0 {
			from = &e.order
		}
		e.remove((*from)[0])
		*from = (*from)[1:]
	}
}

// remove removes a stream, but not its key from pings or order. e.mu must be held.
func (e *events) remove(key streamKey) {
	e.bytes -= e.streams[key].bytes
	delete(e.streams, key)
}
