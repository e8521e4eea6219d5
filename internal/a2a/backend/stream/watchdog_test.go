// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestWatchdog checks that a turn ends exactly when it exceeds a limit, whatever happened
// before.
func TestWatchdog(t *testing.T) {
	second := func(n ...int) []time.Duration {
		var all []time.Duration
		for _, s := range n {
			all = append(all, time.Duration(s)*time.Second)
		}
		return all
	}
	for name, test := range map[string]struct {
		limits Limits
		// activity has the times of activity. paused has the times at which a pause begins
		// and ends, alternately.
		activity, paused []time.Duration
		want             time.Duration
		reason           string
	}{
		"no answer":               {Limits{FirstEvent: 20 * time.Second, Idle: 5 * time.Second, Turn: time.Minute}, nil, nil, 20 * time.Second, "The agent did not answer within 20s"},
		"silent at once":          {Limits{FirstEvent: 20 * time.Second, Idle: 5 * time.Second, Turn: time.Minute}, second(0), nil, 5 * time.Second, "The agent was silent for 5s"},
		"silent later":            {Limits{FirstEvent: 20 * time.Second, Idle: 5 * time.Second, Turn: time.Minute}, second(19, 23, 24), nil, 29 * time.Second, "The agent was silent for 5s"},
		"long silence":            {Limits{FirstEvent: 2 * time.Second, Idle: 50 * time.Second, Turn: time.Hour}, second(1, 2), nil, 52 * time.Second, "The agent was silent for 50s"},
		"endless":                 {Limits{FirstEvent: 20 * time.Second, Idle: 5 * time.Second, Turn: 12 * time.Second}, second(3, 6, 9, 11), nil, 12 * time.Second, "The agent did not finish within 12s"},
		"no answer in the turn":   {Limits{FirstEvent: 20 * time.Second, Idle: 50 * time.Second, Turn: 7 * time.Second}, nil, nil, 7 * time.Second, "The agent did not finish within 7s"},
		"waits for its client":    {Limits{FirstEvent: 20 * time.Second, Idle: 5 * time.Second, Turn: time.Minute}, second(1), second(1), time.Minute, "The agent did not finish within 1m0s"},
		"silent after the answer": {Limits{FirstEvent: 20 * time.Second, Idle: 5 * time.Second, Turn: time.Minute}, second(1), second(1, 33), 38 * time.Second, "The agent was silent for 5s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				began := time.Now()
				w := newWatchdog(&test.limits, cancel)
				defer w.stop()
				for _, at := range test.activity {
					time.AfterFunc(at, w.RecordActivity)
				}
				for i, at := range test.paused {
					time.AfterFunc(at, func() { w.Pause(i%2 == 0) })
				}
				<-ctx.Done()
				if got, reason := time.Since(began), context.Cause(ctx).Error(); got != test.want || reason != test.reason {
					t.Errorf("after %v: %q, want %v: %q", got, reason, test.want, test.reason)
				}
			})
		})
	}
}

func TestWatchdogStopsWithTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		w := newWatchdog(&Limits{FirstEvent: time.Second, Idle: time.Second, Turn: time.Second}, cancel)
		w.RecordActivity()
		w.stop()
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Errorf("cancelled: %v", context.Cause(ctx))
		}
	})
}
