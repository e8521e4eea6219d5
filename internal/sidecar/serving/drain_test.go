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

	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
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

// TestDrainAcceptsTurnsForHalfOfItsTime checks that new turns are refused after half of
// the time, so that the other half is left to the running turns.
func TestDrainAcceptsTurnsForHalfOfItsTime(t *testing.T) {
	for name, test := range map[string]struct {
		grace   time.Duration
		running int
		want    time.Duration
	}{
		"without a turn":           {grace: time.Minute, want: Propagation},
		"with a running turn":      {grace: time.Minute, running: 1, want: (time.Minute - closingTime) / 2},
		"a turn and a short grace": {grace: 7 * time.Second, running: 1, want: 2 * time.Second},
		"a short grace":            {grace: 7 * time.Second, want: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var refused time.Duration
				d := NewDrainer(slog.New(slog.DiscardHandler), time.Now, func() int { return test.running }, func(ctx context.Context) error {
					refused = time.Since(began)
					return ctx.Err()
				})
				d.Begin(test.grace, Propagation)
				d.Wait(t.Context())
				if refused.Round(quietBeforeRefusal) != test.want.Round(quietBeforeRefusal) {
					t.Errorf("refused new turns after %s, want %s", refused, test.want)
				}
			})
		})
	}
}
