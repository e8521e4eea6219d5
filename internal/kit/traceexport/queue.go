// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package traceexport

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// queue bounds the spans in memory that have ended, including those that are being exported. If
// max spans are in memory, the queue drops and counts each further span that ends. The batch
// processor behind the queue has room for max spans, so it never drops a span.
//
// The queue counts each started span as exported or as lost. A span that is still open at the
// shutdown is lost.
type queue struct {
	sdktrace.SpanProcessor
	pending  atomic.Int64
	max      int64
	counters *Counters
	log      *slog.Logger
	// full is true from a dropped span until the next successful export, so that the drops are
	// logged once.
	full atomic.Bool

	// open is the number of spans that have started and have not ended. quiet receives an
	// element each time open becomes 0.
	open  atomic.Int64
	quiet chan struct{}
	// OnStart and OnEnd hold mu for reading, and Shutdown holds it for writing, so that no span
	// starts or ends while Shutdown counts the open ones.
	mu     sync.RWMutex
	closed bool
}

// OnStart implements sdktrace.SpanProcessor. It does not block.
func (q *queue) OnStart(ctx context.Context, span sdktrace.ReadWriteSpan) {
	if !span.SpanContext().IsSampled() {
		return
	}
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.closed {
		q.counters.lost.Inc()
		return
	}
	q.open.Add(1)
	q.SpanProcessor.OnStart(ctx, span)
}

// OnEnd implements sdktrace.SpanProcessor. It does not block.
func (q *queue) OnEnd(span sdktrace.ReadOnlySpan) {
	if !span.SpanContext().IsSampled() {
		return
	}
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.closed {
		return // Shutdown has counted the span as lost, or OnStart if it started later
	}
	defer func() {
		if q.open.Add(-1) == 0 {
			select {
			case q.quiet <- struct{}{}:
			default: // awaitEnds is already notified
			}
		}
	}()
	if q.pending.Add(1) > q.max {
		q.pending.Add(-1)
		q.counters.lost.Inc()
		if !q.full.Swap(true) {
			q.log.Warn("queue of spans was full, spans are dropped until the next export", "spans", q.max)
		}
		return
	}
	q.SpanProcessor.OnEnd(span)
}

// awaitEnds waits until no span is open, or until ctx ends.
func (q *queue) awaitEnds(ctx context.Context) {
	for q.open.Load() > 0 {
		select {
		case <-q.quiet:
		case <-ctx.Done():
			return
		}
	}
}

// Shutdown implements sdktrace.SpanProcessor. It counts the open spans as lost.
func (q *queue) Shutdown(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	open := q.open.Swap(0)
	q.mu.Unlock()
	if open > 0 {
		q.counters.lost.Add(float64(open))
		q.log.WarnContext(ctx, "export of traces stopped before the end of spans, which are lost", "spans", open)
	}
	return q.SpanProcessor.Shutdown(ctx)
}

// exporter counts exported and lost spans. It logs the first failed export of a series, and the
// next successful one.
type exporter struct {
	sdktrace.SpanExporter
	client *client
	queue  *queue
	log    *slog.Logger
	// failing is true if the last export failed. Only the goroutine of the batch processor uses
	// it, and Shutdown after the end of that goroutine.
	failing bool
}

// ExportSpans implements sdktrace.SpanExporter. It always returns nil, because the batch
// processor would report an error to the error handler of the whole process.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	defer e.queue.pending.Add(-int64(len(spans)))
	err := e.SpanExporter.ExportSpans(ctx, spans)
	lost := len(spans)
	if err == nil {
		e.queue.full.Store(false)
		lost = min(e.client.rejected.spans, lost)
		if lost > 0 {
			err = fmt.Errorf("collector rejected %d of %d spans: %q", lost, len(spans), e.client.rejected.message)
		}
	}
	e.queue.counters.lost.Add(float64(lost))
	e.queue.counters.exported.Add(float64(len(spans) - lost))
	switch {
	case err != nil && !e.failing:
		e.log.WarnContext(ctx, "export of traces failed, which is logged once until it succeeds", "error", err)
	case err == nil && e.failing:
		e.log.InfoContext(ctx, "export of traces succeeded again")
	}
	e.failing = err != nil
	return nil
}

// Counters is a prometheus.Collector that counts the recorded spans of a program: those that a
// collector accepted, and those that were lost. The Counters of a program outlive its
// Providers.
type Counters struct {
	*prometheus.CounterVec
	exported, lost prometheus.Counter
}

// NewCounters returns counters at zero.
func NewCounters() *Counters {
	spans := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_trace_spans_total",
		Help: "Recorded spans by result: exported, or lost, because the queue was full, the collector did not accept them, or the export stopped before their end; the log has the cause.",
	}, []string{"result"})
	return &Counters{CounterVec: spans, exported: spans.WithLabelValues("exported"), lost: spans.WithLabelValues("lost")}
}
