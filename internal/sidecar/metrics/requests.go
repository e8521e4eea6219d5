// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.opentelemetry.io/otel/trace"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
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
			Help:                        "Duration of requests except streams, by operation: SendMessage, which may wait for the end of its turn, GetTask, or other.",
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

// turns are the metrics of turns.
type turns struct {
	ended      *prometheus.HistogramVec
	firstEvent prometheus.Histogram
	tokens     *prometheus.HistogramVec
}

func newTurns(registered promauto.Factory) turns {
	return turns{
		ended: registered.NewHistogramVec(prometheus.HistogramOpts{
			Name:                        "a2a_turn_duration_seconds",
			Help:                        "Duration of turns, by the state of the task at their end; states other than completed, failed, canceled and input-required are other.",
			Buckets:                     []float64{.1, 1, 10, 60, 600},
			NativeHistogramBucketFactor: nativeFactor, NativeHistogramMaxBucketNumber: nativeBuckets, NativeHistogramMinResetDuration: nativeMinReset,
		}, []string{"state"}),
		firstEvent: registered.NewHistogram(prometheus.HistogramOpts{
			Name:                        "a2a_turn_first_event_seconds",
			Help:                        "Time from the start of a turn to the first event of the agent.",
			Buckets:                     []float64{.05, .25, 1, 5, 30},
			NativeHistogramBucketFactor: nativeFactor, NativeHistogramMaxBucketNumber: nativeBuckets, NativeHistogramMinResetDuration: nativeMinReset,
		}),
		// The name and the label follow gen_ai.client.token.usage of OpenTelemetry.
		tokens: registered.NewHistogramVec(prometheus.HistogramOpts{
			Name:                        "gen_ai_client_token_usage",
			Help:                        "Tokens of calls of the agent, by type (input or output), from the usage that the agent reports.",
			Buckets:                     []float64{1024, 16384, 262144},
			NativeHistogramBucketFactor: nativeFactor, NativeHistogramMaxBucketNumber: nativeBuckets, NativeHistogramMinResetDuration: nativeMinReset,
		}, []string{"gen_ai_token_type"}),
	}
}

// TurnStarted implements engine.Observer.
func (*turns) TurnStarted() {}

// TurnEnded implements engine.Observer.
func (m *turns) TurnEnded(ctx context.Context, state a2a.State, took time.Duration) {
	observeTraced(ctx, m.ended.WithLabelValues(stateLabel(state)), took)
}

// FirstEvent implements engine.Observer.
func (m *turns) FirstEvent(ctx context.Context, took time.Duration) {
	observeTraced(ctx, m.firstEvent, took)
}

// stateLabel returns the value of the label state for a turn that ends in this state.
func stateLabel(state a2a.State) string {
	switch state {
	case a2a.StateCompleted, a2a.StateFailed, a2a.StateCanceled, a2a.StateInputRequired:
		return state.String()
	default:
		return otherValues
	}
}

// ObserveTokens observes the tokens that the agent reports for a call.
func (m *turns) ObserveTokens(usage backend.Usage) {
	m.tokens.WithLabelValues("input").Observe(float64(usage.Input))
	m.tokens.WithLabelValues("output").Observe(float64(usage.Output))
}

// boundedLabel bounds the number of values of a label in metrics, if the agent or a
// configuration chooses the values. It is safe for concurrent use.
type boundedLabel struct {
	// max is the maximum number of different values.
	max int

	mu   sync.Mutex
	seen map[string]bool
}

// otherValues replaces all values beyond the bound.
const otherValues = "other"

// value returns v. It returns otherValues if the label already has max other values, or
// if v is longer than 64 bytes or is not valid UTF-8.
func (l *boundedLabel) value(v string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[v] {
		return v
	}
	if len(l.seen) >= l.max || len(v) > 64 || !utf8.ValidString(v) {
		return otherValues
	}
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[v] = true
	return v
}

// reset forgets the values.
func (l *boundedLabel) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.seen)
}
