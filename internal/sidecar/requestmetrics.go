// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.opentelemetry.io/otel/trace"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
)

// requestMetrics are the metrics of requests.
type requestMetrics struct {
	requests, requestErrors, protocols *prometheus.CounterVec
	requestDurations                   *prometheus.HistogramVec
}

// The settings of native histograms: the growth from bucket to bucket (10 %), the maximum
// number of buckets, and the minimum time between two resets.
const (
	nativeFactor   = 1.1
	nativeBuckets  = 80
	nativeMinReset = time.Hour
)

func newRequestMetrics(registered promauto.Factory) requestMetrics {
	return requestMetrics{
		requests: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_requests_total",
			Help: "Requests that ended, by operation and outcome: ok, rejected (the error is the caller's), failed (the error is the sidecar's or the agent's) or canceled (the client left before the end of the response). The operation is its name in A2A 1.0. It is empty for canceled requests and for those that name none.",
		}, []string{"method", "outcome"}),
		requestErrors: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_request_errors_total",
			Help: "Requests that were answered with an error, by its reason in A2A 1.0, such as TASK_NOT_FOUND.",
		}, []string{"reason"}),
		protocols: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_protocol_requests_total",
			Help: "Requests that ended, by binding and protocol version (empty if it is unknown).",
		}, []string{"binding", "version"}),
		requestDurations: registered.NewHistogramVec(prometheus.HistogramOpts{
			Name:                        "a2a_request_duration_seconds",
			Help:                        "Duration of requests without those that are streams, by operation: SendMessage, which may wait for the end of its turn, GetTask, or other.",
			Buckets:                     []float64{.01, .1, 1, 10, 60},
			NativeHistogramBucketFactor: nativeFactor, NativeHistogramMaxBucketNumber: nativeBuckets, NativeHistogramMinResetDuration: nativeMinReset,
		}, []string{"method"}),
	}
}

// outcomeCanceled is the outcome of a request whose client disconnected before the end of
// the response.
const outcomeCanceled = "canceled"

// observe counts a request. ctx contains the trace of the request. Requests whose client
// disconnected are counted in one series without a method, because the number of series
// is bounded. Their duration is not observed.
func (m *metrics) observe(ctx context.Context, o httpcall.Outcome) {
	m.protocols.WithLabelValues(o.Binding, o.Version).Inc()
	if o.ClientLeft {
		m.requests.WithLabelValues("", outcomeCanceled).Inc()
		return
	}
	m.requests.WithLabelValues(string(o.Method), outcomeOf(o.Reason)).Inc()
	if o.Reason != "" {
		m.requestErrors.WithLabelValues(string(o.Reason)).Inc()
	}
	if method := durationOf(o.Method); method != "" && !o.Started.IsZero() {
		observeTraced(ctx, m.requestDurations.WithLabelValues(method), m.now().Sub(o.Started))
	}
}

// outcomeOf returns the outcome of a request for the reason of its error, which is "" for
// success.
func outcomeOf(reason a2a.Reason) string {
	switch reason {
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
