// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sse

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// BeginAfter is the time after which a stream begins whose first event is late. It is less than
// the second that some clients and proxies wait for a header.
const BeginAfter = 750 * time.Millisecond

// Beginning is the time of a request until the first event of its stream. If this takes longer
// than BeginAfter, the header of the stream is sent, and then comments. A nil Beginning never
// sends a header.
type Beginning struct {
	config Config
	ctx    context.Context //nolint:containedctx // it is the context of the request
	w      http.ResponseWriter

	// mu guards the fields below. timer is nil once the time is over. out is nil unless the header
	// was sent; running is then the context of out.
	mu      sync.Mutex
	timer   *time.Timer
	running context.Context //nolint:containedctx // it is the context of out
	out     *Stream
}

// Begin returns the Beginning of a request. Until Opened or Close, nothing else may use w. Close must
// be called before the handler returns.
func (c Config) Begin(ctx context.Context, w http.ResponseWriter) *Beginning {
	b := &Beginning{config: c, ctx: ctx, w: w}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer = time.AfterFunc(BeginAfter, b.open)
	return b
}

func (b *Beginning) open() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer == nil {
		return
	}
	b.running, b.out = b.config.open(b.ctx, b.w, 0)
	_ = b.out.Flush() // a later write repeats the error
}

// Opened ends the Beginning, and reports whether the header of the stream was sent. An error can then
// only be sent as an event.
func (b *Beginning) Opened() bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	return b.out != nil
}

// Close ends the Beginning. It closes the stream unless Serve has taken it.
func (b *Beginning) Close() {
	if b.Opened() {
		b.out.Close()
	}
}

// Fail sends an error as the only event of the stream, if the header was sent.
func (b *Beginning) Fail(f *Frame, text []byte) error { return b.out.WriteData(f, text) }

// take returns the stream whose header was sent, and its context. From then on, Close does nothing.
func (b *Beginning) take(parkAfter time.Duration) (context.Context, *Stream) {
	running := b.running
	out := b.out
	b.out = nil
	out.parkAfter(parkAfter)
	return running, out
}
