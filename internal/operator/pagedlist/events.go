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
// all watches, which begin at the same time, would not fit into the memory. The client has decoded an event, and handed it to its informer,
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
	most, err := e.rest(len(into))
	if err != nil {
		e.endTurn()
		return 0, err
	}
	if e.size+max(e.left, most) > largeEvent {
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

// rest returns the number of bytes to read, at most most: no more than the rest of the event. It waits for the first of them.
func (e *events) rest(most int) (int, error) {
	if e.isJSON {
		if _, err := e.body.Peek(1); err != nil {
			return 0, err
		}
		has, _ := e.body.Peek(min(most, e.body.Buffered()))
		e.left = 0
		if end := bytes.IndexByte(has, '\n'); end >= 0 {
			return end + 1, nil
		}
		return len(has), nil
	}
	if e.size == 0 {
		length, err := e.body.Peek(4)
		if err != nil {
			return 0, err
		}
		e.left = 4 + int(binary.BigEndian.Uint32(length))
	}
	return min(most, e.left), nil
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
