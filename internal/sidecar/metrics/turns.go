// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

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
