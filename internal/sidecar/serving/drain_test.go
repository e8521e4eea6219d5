// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

func TestDrainIsServedToLoopbackOnly(t *testing.T) {
	drain := NewDrainer(slog.New(slog.DiscardHandler), time.Now, func() int { return 0 }, func(context.Context) error { return nil })
	p := NewProbes(ProbeOptions{Drain: drain, Metrics: http.NotFoundHandler(), Now: time.Now})
	for _, remote := range []string{"10.0.0.7:4711", "[fd00::7]:4711", ""} {
		request := httptest.NewRequest(http.MethodPost, sidecarconfig.DrainPath, nil)
		request.RemoteAddr = remote
		response := httptest.NewRecorder()
		p.routes().ServeHTTP(response, request)
		if response.Code != http.StatusForbidden || drain.Draining() {
			t.Errorf("a caller at %q is answered with %d", remote, response.Code)
		}
	}
}

// TestDrainAcceptsTurnsWhileCallsArrive checks that a pod that ends stays ready, and accepts turns, while clients
// still reach it: no other pod has replaced it. It refuses new turns after half of the time, so that the other
// half is left to the running turns.
func TestDrainAcceptsTurnsWhileCallsArrive(t *testing.T) {
	const half = (time.Minute - closingTime) / 2
	for name, test := range map[string]struct {
		grace   time.Duration
		running int
		// first and last are the times of the first and the last request, since the begin of the drain. There is
		// a request every second in between.
		first, last time.Duration
		want        time.Duration
	}{
		"without a turn":             {grace: time.Minute, want: Propagation},
		"with a running turn":        {grace: time.Minute, running: 1, want: half},
		"a turn and a short grace":   {grace: 7 * time.Second, running: 1, want: 2 * time.Second},
		"a short grace":              {grace: 7 * time.Second, want: 2 * time.Second},
		"a call before the drain":    {grace: time.Minute, first: -5 * time.Second, last: -5 * time.Second, want: idleBeforeRefusal - 5*time.Second},
		"a call long before":         {grace: time.Minute, first: -time.Minute, last: -time.Minute, want: Propagation},
		"calls until a pod is ready": {grace: time.Minute, first: -10 * time.Second, last: 12 * time.Second, want: 12*time.Second + idleBeforeRefusal},
		"calls without an end":       {grace: time.Minute, first: -10 * time.Second, last: time.Minute, want: half},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(2 * time.Minute)
				began := time.Now()
				var refused time.Duration
				d := NewDrainer(slog.New(slog.DiscardHandler), time.Now, func() int { return test.running }, func(ctx context.Context) error {
					refused = time.Since(began)
					return ctx.Err()
				})
				p := NewProbes(ProbeOptions{Drain: d, Ready: func(context.Context) error { return nil }, Now: time.Now})
				p.Started()
				call := func() {
					d.Handler(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", nil))
				}
				if test.first < 0 {
					began = began.Add(-test.first)
					for at := test.first; at < 0; at += time.Second {
						if at <= test.last {
							call()
						}
						time.Sleep(time.Second)
					}
				}
				d.Begin(test.grace, Propagation)
				for !d.Refusing() {
					if err := p.ready(t.Context()); err != nil && !d.Refusing() {
						t.Errorf("not ready while turns are accepted, after %s: %v", time.Since(began), err)
					}
					if test.last > 0 && time.Since(began) <= test.last {
						call()
					}
					time.Sleep(time.Second)
				}
				d.Wait(t.Context())
				if refused.Round(quietBeforeRefusal) != test.want.Round(quietBeforeRefusal) {
					t.Errorf("refused new turns after %s, want %s", refused, test.want)
				}
				if err := p.ready(t.Context()); err == nil {
					t.Error("ready while turns are refused")
				}
			})
		})
	}
}
