// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
)

// Meter returns a handler that limits the number of open streams, and sets the accounting
// principal of each turn.
func (l *Limits) Meter(h a2a.Handler) a2a.Handler { return &meteredHandler{h, l} }

type meteredHandler struct {
	a2a.Handler
	limits *Limits
}

// Send implements a2a.Handler.
func (m *meteredHandler) Send(ctx context.Context, r *a2a.SendRequest) (a2a.Event, error) {
	r.AccountingPrincipal = callerOf(ctx).AccountingPrincipal()
	return m.Handler.Send(ctx, r)
}

// Stream implements a2a.Handler.
func (m *meteredHandler) Stream(ctx context.Context, r *a2a.SendRequest) (a2a.Stream, error) {
	r.AccountingPrincipal = callerOf(ctx).AccountingPrincipal()
	return m.limits.openStream(ctx, func() (a2a.Stream, error) { return m.Handler.Stream(ctx, r) })
}

// Subscribe implements a2a.Handler.
func (m *meteredHandler) Subscribe(ctx context.Context, r *a2a.SubscribeRequest) (a2a.Stream, error) {
	return m.limits.openStream(ctx, func() (a2a.Stream, error) { return m.Handler.Subscribe(ctx, r) })
}

func callerOf(ctx context.Context) *auth.Caller {
	caller, _ := auth.CallerFrom(ctx)
	return &caller
}

// openStream opens a stream by open, if the limits allow one more stream.
func (l *Limits) openStream(ctx context.Context, open func() (a2a.Stream, error)) (a2a.Stream, error) {
	caller, table := callerOf(ctx), l.callers
	if caller.Anonymous {
		table = l.addresses
	}
	limits := &l.current.Load().Streams
	release, ok := table.Hold(caller.AccountingPrincipal(), limits.MaxPerCaller, l.options.RateClock())
	if !ok {
		l.options.Limited(limitStreams)
		return nil, a2a.Busy("Too many streams of this caller are open")
	}
	if l.openStreams.Add(1) > int64(limits.Max) {
		l.openStreams.Add(-1)
		release()
		l.options.Limited(limitTotalStreams)
		return nil, a2a.Busy("Too many streams are open")
	}
	s := &countedStream{limits: l, release: release}
	opened := false
	defer func() {
		// If open fails or panics, the stream must not be counted any longer.
		if !opened {
			s.end()
		}
	}()
	var err error
	if s.Stream, err = open(); err != nil {
		return nil, err
	}
	opened = true
	return s, nil
}

// countedStream is a stream that counts as open until Close.
type countedStream struct {
	a2a.Stream
	limits  *Limits
	release func()
	once    sync.Once
}

// Close implements a2a.Stream.
func (s *countedStream) Close() {
	defer s.end()
	s.Stream.Close()
}

func (s *countedStream) end() {
	s.once.Do(func() {
		s.release()
		s.limits.openStreams.Add(-1)
	})
}
