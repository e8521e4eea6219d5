// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"net/http"
	"net/http/httptest"
	"strconv"
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

// The ServiceAccounts of one namespace leave a quarter of the streams and of the rate of requests to others.
func TestServiceAccountsOfANamespaceShareLimits(t *testing.T) {
	var denied string
	l := NewLimits(LimitOptions{
		Initial: &sidecarconfig.Limits{
			Streams:       sidecarconfig.StreamLimits{Max: 8, MaxPerCaller: 2},
			TotalRequests: sidecarconfig.Rate{PerSecond: 8, Burst: 8},
			Requests:      sidecarconfig.Rate{PerSecond: 2, Burst: 2},
		},
		Metrics: prometheus.NewRegistry(), Now: time.Now, RateClock: func() time.Time { return time.Unix(0, 0) },
		Limited: func(limit string) { denied = limit },
		Deny:    func(http.ResponseWriter, *http.Request, *a2a.Error) {},
	})
	streams := 0
	requests := 0
	for i := range 12 {
		caller := &auth.Caller{Owner: a2a.Owner("system:serviceaccount:team:a" + strconv.Itoa(i/2))}
		if _, err := l.openStream(caller, func() (a2a.Stream, error) { return panickyStream{}, nil }); err == nil {
			streams++
		}
		h := l.limitCaller(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(auth.WithCaller(t.Context(), *caller), http.MethodGet, "/", nil))
	}
	if streams != 6 || requests != 6 || denied != limitRequests {
		t.Errorf("%d streams and %d requests of one namespace, want 6 of 8 each", streams, requests)
	}
	other := &auth.Caller{Owner: "system:serviceaccount:other:a"}
	if _, err := l.openStream(other, func() (a2a.Stream, error) { return panickyStream{}, nil }); err != nil {
		t.Errorf("a stream of another namespace: %v", err)
	}
}
