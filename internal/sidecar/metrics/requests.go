// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.opentelemetry.io/otel/trace"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
)

// requests are the metrics of requests.
type requests struct {
	now                      func() time.Time
	ended, errors, protocols *prometheus.CounterVec
	durations                *prometheus.HistogramVec
}

// The settings of native histograms: the growth from bucket to bucket (10 %), the maximum
// number of buckets, and the minimum time between two resets.
const (
	nativeFactor   = 1.1
	nativeBuckets  = 80
	nativeMinReset = time.Hour
)

func newRequests(registered promauto.Factory, now func() time.Time) requests {
	return requests{
		now: now,
		ended: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_requests_total",
			Help: "Requests that ended, by operation and outcome: ok, rejected (the error is the caller's), failed (the error is the sidecar's or the agent's) or canceled (the client left before the end of the response). The operation is its name in A2A 1.0. It is empty for canceled requests and for those that name none.",
		}, []string{"method", "outcome"}),
		errors: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_request_errors_total",
			Help: "Requests that were answered with an error, by its reason in A2A 1.0, such as TASK_NOT_FOUND.",
		}, []string{"reason"}),
		protocols: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_protocol_requests_total",
			Help: "Requests that ended, by binding and protocol version (empty if it is unknown).",
		}, []string{"binding", "version"}),
		durations: registered.NewHistogramVec(prometheus.HistogramOpts{
			Name:                        "a2a_request_duration_seconds",
			Help:                        "Duration of requests without those that are streams, by operation: SendMessage, which may wait for the end of its turn, GetTask, or other.",
			Buckets:                     []float64{.01, .1, 1, 10, 60},
			NativeHistogramBucketFactor: nativeFactor, NativeHistogramMaxBucketNumber: nativeBuckets, NativeHistogramMinResetDuration: nativeMinReset,
		}, []string{"method"}),
	}
}

// ObserveRequest counts a request. ctx contains the trace of the request. Requests whose client
// disconnected are counted in one series without a method, because the number of series
// is bounded. Their duration is not observed.
func (m *requests) ObserveRequest(ctx context.Context, o httpcall.Outcome) {
	m.protocols.WithLabelValues(o.Binding, o.Version).Inc()
	if o.ClientLeft {
		m.ended.WithLabelValues("", OutcomeOf(o)).Inc()
		return
	}
	m.ended.WithLabelValues(string(o.Method), OutcomeOf(o)).Inc()
	if o.Reason != "" {
		m.errors.WithLabelValues(string(o.Reason)).Inc()
	}
	if method := durationOf(o.Method); method != "" && !o.Started.IsZero() {
		observeTraced(ctx, m.durations.WithLabelValues(method), m.now().Sub(o.Started))
	}
}

// OutcomeOf returns the outcome of a request: ok, rejected, failed, or canceled if the client
// disconnected before the end of the response.
func OutcomeOf(o httpcall.Outcome) string {
	if o.ClientLeft {
		return "canceled"
	}
	switch o.Reason {
	case "":
		return "ok"
	case a2a.ReasonInternal, a2a.ReasonUnavailable, a2a.ReasonInvalidAgentResponse:
		return "failed"
	default:
		return "rejected"
	}
}

// durationOf returns the value of the label method for the duration of a request. It
// returns "" for requests whose duration is not observed: streams, which last as long as
// their task, and requests without an operation.
func durationOf(method a2a.Method) string {
	switch method {
	case "", a2a.MethodSendStreamingMessage, a2a.MethodSubscribeToTask:
		return ""
	case a2a.MethodSendMessage, a2a.MethodGetTask:
		return string(method)
	default:
		return otherValues
	}
}

// observeTraced observes a duration. If the trace of ctx is sampled, the exemplar is the
// id of the trace.
func observeTraced(ctx context.Context, histogram prometheus.Observer, took time.Duration) {
	seconds := max(took, 0).Seconds()
	if span := trace.SpanContextFromContext(ctx); span.IsSampled() && span.HasTraceID() {
		if exemplary, ok := histogram.(prometheus.ExemplarObserver); ok {
			exemplary.ObserveWithExemplar(seconds, prometheus.Labels{"trace_id": span.TraceID().String()})
			return
		}
	}
	histogram.Observe(seconds)
}
