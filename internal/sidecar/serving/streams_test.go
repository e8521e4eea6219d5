// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// TestPanickedStreamsReleaseTheirLimits checks that a panic during or at the end of a
// request does not reduce the number of streams that others may open.
func TestPanickedStreamsReleaseTheirLimits(t *testing.T) {
	l := NewLimits(LimitOptions{
		Initial: &sidecarconfig.Limits{Streams: sidecarconfig.StreamLimits{Max: 2, MaxPerCaller: 2}},
		Metrics: prometheus.NewRegistry(), Now: time.Now, RateClock: time.Now,
	})
	caller := &auth.Caller{Owner: "a"}
	panics := func(f func()) {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		f()
	}
	for range 3 {
		panics(func() { _, _ = l.openStream(caller, func() (a2a.Stream, error) { panic("opening") }) })
		s, err := l.openStream(caller, func() (a2a.Stream, error) { return panickyStream{}, nil })
		if err != nil {
			t.Fatal(err)
		}
		panics(s.Close)
	}
	if open := l.openStreams.Load(); open != 0 {
		t.Errorf("%d streams are open", open)
	}
}

type panickyStream struct{ a2a.Stream }

func (panickyStream) Close() { panic("closing") }
