// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package traceexport

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// queue bounds the ended spans in memory, including those of a running export. It drops and
// counts a span that ends while it holds max spans. The batch processor behind it is large
// enough never to drop a span itself.
type queue struct {
	sdktrace.SpanProcessor
	pending  atomic.Int64
	max      int64
	counters *Counters
	log      *slog.Logger
	// full is true from the first dropped span to the next successful export.
	full atomic.Bool
}

// OnEnd implements sdktrace.SpanProcessor. It does not block.
func (q *queue) OnEnd(span sdktrace.ReadOnlySpan) {
	if !span.SpanContext().IsSampled() {
		return
	}
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

// exporter counts exported spans, and logs when exports begin to fail and when they succeed
// again.
type exporter struct {
	sdktrace.SpanExporter
	client *client
	queue  *queue
	log    *slog.Logger
	// failing is true after a failed export. Only the goroutine of the batch processor uses it,
	// and Shutdown after the end of that goroutine.
	failing bool
}

// ExportSpans implements sdktrace.SpanExporter. It returns no error, because the processor
// would write it to a logger of the whole process.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	defer e.queue.pending.Add(-int64(len(spans)))
	err := e.SpanExporter.ExportSpans(ctx, spans)
	lost := len(spans)
	if err == nil {
		e.queue.full.Store(false)
		if lost = min(e.client.rejected.spans, lost); lost > 0 {
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
