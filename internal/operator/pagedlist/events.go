// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pagedlist

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"sync"
)

// largeEvent is the number of bytes of the largest event that several watches may decode at a time.
const largeEvent = 32 << 10

// events is the body of a watch. While the client decodes a large event of it, it decodes none of another watch: the decoded objects of
// all watches, which begin at the same time, would not fit into the memory. The encoded events do. The client has decoded an event, and handed it to its informer,
// when it reads the next one.
type events struct {
	body   *bufio.Reader
	closer io.Closer
	// done is closed at the end of the request and by end.
	done <-chan struct{}
	end  context.CancelFunc
	// isJSON is true for events that end with a line end. Others begin with their length, of four bytes.
	isJSON bool
	// turn has an element while a watch passes on a large event.
	turn chan struct{}
	// size is the number of bytes of the event so far, and left the number of its bytes that follow, if it is known.
	size, left int

	mu      sync.Mutex
	hasTurn bool
}

func newEvents(ctx context.Context, body io.ReadCloser, isJSON bool, turn chan struct{}) *events {
	ctx, end := context.WithCancel(ctx)
	return &events{body: bufio.NewReaderSize(body, 16<<10), closer: body, done: ctx.Done(), end: end, isJSON: isJSON, turn: turn}
}

// Read implements io.Reader. It returns bytes of one event.
func (e *events) Read(into []byte) (int, error) {
	if e.size == 0 {
		e.endTurn()
	}
	most, isEnd, err := e.rest(len(into))
	if err != nil {
		e.endTurn()
		return 0, err
	}
	if isEnd {
		if err := e.awaitTurn(); err != nil {
			return 0, err
		}
	}
	n, err := e.body.Read(into[:most])
	e.size += n
	e.left -= n
	isWhole := e.left == 0
	if e.isJSON {
		isWhole = bytes.HasSuffix(into[:n], []byte("\n"))
	}
	if isWhole {
		e.size = 0
	}
	if err != nil {
		e.endTurn()
	}
	return n, err
}

// rest returns the number of bytes to read, at most most: no more than the rest of the event. It waits for the first of them. isEnd is
// true if they are the end of a large event; they have arrived then. The client decodes the event only when it has its end, so a
// connection that stalls within an event keeps no turn.
func (e *events) rest(most int) (n int, isEnd bool, err error) {
	if e.isJSON {
		return e.restOfJSON(most)
	}
	if e.size == 0 {
		length, err := e.body.Peek(4)
		if err != nil {
			return 0, false, err
		}
		e.left = 4 + int(binary.BigEndian.Uint32(length))
	}
	switch {
	case e.left > most || e.size+e.left <= largeEvent:
		return min(most, e.left), false, nil
	case e.left > 1:
		return e.left - 1, false, nil
	}
	_, err = e.body.Peek(1)
	return 1, err == nil, err
}

func (e *events) restOfJSON(most int) (n int, isEnd bool, err error) {
	e.left = 0
	first, err := e.body.Peek(1)
	if err != nil {
		return 0, false, err
	}
	isLarge := e.size+e.body.Buffered() > largeEvent
	if isLarge && first[0] != '\n' && e.body.Buffered() == 1 {
		_, _ = e.body.Peek(2) // the byte may be the last one before the line end; Read returns the error
	}
	has, _ := e.body.Peek(min(most+1, e.body.Buffered()))
	end := bytes.IndexByte(has, '\n')
	switch {
	case end >= 0: // the client can decode the event without its line end
		return min(most, end+1), e.size+end+1 > largeEvent, nil
	case isLarge && len(has) > 1:
		return len(has) - 1, false, nil
	}
	return min(most, len(has)), false, nil
}

func (e *events) awaitTurn() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.hasTurn {
		return nil
	}
	select {
	case <-e.done:
		return context.Canceled
	default:
	}
	select {
	case e.turn <- struct{}{}:
		e.hasTurn = true
		return nil
	case <-e.done:
		return context.Canceled
	}
}

func (e *events) endTurn() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.hasTurn {
		<-e.turn
		e.hasTurn = false
	}
}

// Close implements io.Closer.
func (e *events) Close() error {
	e.end()
	e.endTurn()
	return e.closer.Close()
}
