// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/httpserver"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
	"github.com/a2a-operator/a2a-operator/internal/registry/watch"
)

const (
	// maxWatches bounds the open watches of a replica, and maxCallerWatches the open watches of
	// one caller at a replica.
	maxWatches       = 10_000
	maxCallerWatches = 1_000
	// watchWriteTimeout bounds one write to a watch. The size of a write is at most about 64 KiB
	// plus the size of one agent.
	watchWriteTimeout = 10 * time.Second
)

var (
	watchesGauge = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "a2a_registry_watches",
		Help: "Open watches of the registry.",
	})
	watchesEnded = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_registry_watches_ended_total",
		Help: "Watches that ended, by the reason: client, expired, slow_consumer, unauthenticated, unavailable, access_changed or shutdown.",
	}, []string{"reason"})
)

// watches serves GET /v1/agents?watch=true.
type watches struct {
	feed    *index.Feed
	open    chan struct{}
	callers *limit.Table
	clock   clock.PassiveClock
	// authenticate returns the caller of a request with a token, and false if the token is not valid any more. It may be nil.
	authenticate func(*http.Request) (access.Caller, bool, error)
	// reviewInterval is the interval at which a watch calls authenticate. 0 is the default.
	reviewInterval time.Duration
	// serving is the context of the server. All watches end when it ends.
	serving context.Context //nolint:containedctx // the lifetime of the server, which a request does not have
}

func newWatches(feed *index.Feed, c clock.PassiveClock) *watches {
	return &watches{
		feed: feed, clock: c, serving: context.Background(), open: make(chan struct{}, maxWatches),
		callers: limit.NewTable(limitedCallers, limit.Rate{PerSecond: maxCallerWatches, Burst: maxCallerWatches}),
	}
}

// get streams events until the client disconnects, the stream ends or the server stops. visibleSet
// returns the set of agents that a caller sees.
func (h *watches) get(w http.ResponseWriter, r *http.Request, c access.Caller, q *index.Query, visibleSet func(context.Context, access.Caller) (*access.Set, error)) error {
	options := watch.Options{
		Feed: h.feed, Query: q, Clock: h.clock,
		VisibleSet: func(ctx context.Context) (*access.Set, error) { return visibleSet(ctx, c) }, ReviewInterval: h.reviewInterval,
	}
	if h.authenticate != nil && r.Context().Value(authenticatedKey{}) == nil {
		options.Authenticated = func(ctx context.Context) (bool, error) {
			_, valid, err := h.authenticate(r.WithContext(ctx))
			return valid, err
		}
	}
	if err := resumeAt(&options, r, q); err != nil {
		return err
	}
	if !httpserver.Own(r, c.Tenant()) {
		return tooManyNow("watches", "the callers of this namespace have too many watches; close some")
	}
	release, err := h.acquire(c)
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(h.serving, cancel)() // the request ends with either context
	writer := &eventWriter{w: w, control: http.NewResponseController(w), clock: h.clock}
	options.Interrupt = writer.interrupt
	stream, err := watch.New(ctx, options)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return nil
	}
	// Without this call, the stream would end at the server's read timeout. A writer in tests may
	// not support deadlines.
	if err := writer.control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	watchesGauge.Inc()
	defer watchesGauge.Dec()
	err = stream.Run(ctx, writer)
	watchesEnded.WithLabelValues(h.reason(err)).Inc()
	return nil
}

// resumeAt sets o.Resume to the cursor in the request, if there is one. If the request has both
// the header Last-Event-ID and the parameter since, the header counts: a client that reconnects
// sends both, and since is still that of its first request. A header that is no cursor is ignored,
// because a client that follows the standard would send it again for ever. The error of resumeAt is an *index.ParameterError.
func resumeAt(o *watch.Options, r *http.Request, q *index.Query) error {
	field := "Last-Event-ID"
	text := r.Header.Get(field)
	if text == "" {
		field = "since"
		text, _ = q.Watch()
	}
	if text == "" {
		return nil
	}
	cursor, err := watch.ParseCursor(text)
	if err != nil && field != "since" {
		return nil // an id of another build: the watch begins with the event reset
	}
	if err != nil {
		return &index.ParameterError{Field: field, Cure: err.Error()}
	}
	o.Resume = &cursor
	return nil
}

// acquire counts a watch toward maxCallerWatches and maxWatches until release is called. If one of
// these limits is reached, it returns an error with the status 429.
func (h *watches) acquire(c access.Caller) (release func(), err error) {
	releaseCaller, ok := h.callers.Hold(principalOf(&c), maxCallerWatches, h.clock.Now())
	if !ok {
		return nil, tooManyNow("watches", "this caller has too many watches; close some")
	}
	select {
	case h.open <- struct{}{}:
	default:
		releaseCaller()
		return nil, tooManyNow("total_watches", "this replica has too many watches; try again")
	}
	return func() { <-h.open; releaseCaller() }, nil
}

func (h *watches) reason(err error) string {
	switch {
	case h.serving.Err() != nil:
		return "shutdown"
	case errors.Is(err, watch.ErrExpired):
		return "expired"
	case errors.Is(err, watch.ErrSlowConsumer), errors.Is(err, errWriteTimeout):
		return "slow_consumer"
	case errors.Is(err, watch.ErrUnauthenticated):
		return "unauthenticated"
	case errors.Is(err, watch.ErrUnavailable):
		return "unavailable"
	case errors.Is(err, watch.ErrAccessChanged):
		return "access_changed"
	default:
		return "client"
	}
}

// errWriteTimeout is the error of a write that took longer than watchWriteTimeout, because the
// client does not read (slow consumer).
var errWriteTimeout = errors.New("the client did not read in time")

// eventWriter is a watch.Writer that limits each write to watchWriteTimeout.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	clock   clock.PassiveClock
	// interrupted is true after interrupt.
	interrupted atomic.Bool
}

// interrupt makes the running write and all later ones fail.
func (e *eventWriter) interrupt() {
	e.interrupted.Store(true)
	_ = e.control.SetWriteDeadline(time.Unix(1, 0)) // without support of deadlines, the stream ends after the write
}

func (e *eventWriter) Write(frames []byte) (int, error) {
	if err := e.control.SetWriteDeadline(e.clock.Now().Add(watchWriteTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	if e.interrupted.Load() { // also if interrupt was called before the deadline was set
		return 0, errWriteTimeout
	}
	n, err := e.w.Write(frames)
	return n, timeout(err)
}

// Flush sends the written events. It then removes the write deadline. Otherwise, HTTP/2 would
// reset the stream when the deadline passes, even if nothing is being written.
func (e *eventWriter) Flush() error {
	if err := timeout(e.control.Flush()); err != nil {
		return err
	}
	if err := e.control.SetWriteDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

func timeout(err error) error {
	var limited interface{ Timeout() bool }
	if errors.As(err, &limited) && limited.Timeout() {
		return errors.Join(errWriteTimeout, err)
	}
	return err
}
