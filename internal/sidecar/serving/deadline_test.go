// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// deadlines is a response that records its deadlines, and the write deadline at its first
// write.
type deadlines struct {
	*httptest.ResponseRecorder
	read, write, atWrite time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.read = t
	return nil
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.write = t
	return nil
}

func (d *deadlines) Write(p []byte) (int, error) {
	if d.atWrite.IsZero() {
		d.atWrite = d.write
	}
	return d.ResponseRecorder.Write(p)
}

// TestHealthPortDisconnectsSlowClients checks that each response of the health port has
// deadlines, so that clients without a credential cannot hold goroutines and connections.
// A response that waits has no deadline during its wait.
func TestHealthPortDisconnectsSlowClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		current := &deadlines{}
		drain := NewDrainer(slog.New(slog.DiscardHandler), time.Now, func() int { return 0 }, func(context.Context) error { return nil })
		p := NewProbes(ProbeOptions{
			Ready: func(context.Context) error {
				if !current.read.IsZero() || !current.write.IsZero() {
					t.Error("a wait for the agent has a deadline")
				}
				return errors.New("not ready")
			},
			Drain: drain, GracePeriod: func() time.Duration { return time.Minute }, Profiling: func() bool { return false },
			Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("metrics")) }),
			Now:     time.Now,
		})
		p.Started()
		handler := p.Handler(&net.TCPAddr{})
		for _, request := range []string{
			"GET " + sidecarconfig.LivezPath, "GET " + sidecarconfig.StartedPath, "GET " + sidecarconfig.ReadyzPath,
			"GET " + sidecarconfig.ReadyzPath + "?hold=60s", "GET " + sidecarconfig.MetricsPath, "GET " + sidecarconfig.ProfilesPath,
			"GET " + sidecarconfig.DrainedPath, "POST " + sidecarconfig.DrainPath, "GET /unknown", "PUT " + sidecarconfig.LivezPath,
		} {
			*current = deadlines{ResponseRecorder: httptest.NewRecorder()}
			method, target, _ := strings.Cut(request, " ")
			r := httptest.NewRequestWithContext(t.Context(), method, target, nil)
			r.RemoteAddr = "127.0.0.1:4711"
			handler.ServeHTTP(current, r)
			if now := time.Now(); !current.atWrite.After(now) || current.atWrite.After(now.Add(WriteTimeout)) || !current.read.After(now) {
				t.Errorf("%s: deadlines %v and %v at %v", request, current.read, current.atWrite, now)
			}
		}
	})
}

// TestAnswersHaveATimeLimit checks that a client that reads slowly cannot hold a response
// for longer than two minutes.
func TestAnswersHaveATimeLimit(t *testing.T) {
	l := NewLimits(LimitOptions{Initial: &sidecarconfig.Limits{}, Metrics: prometheus.NewRegistry(), Now: time.Now, RateClock: time.Now}).HTTP()
	if l.WriteTimeout != WriteTimeout || l.AnswerTimeout != 2*time.Minute {
		t.Errorf("write timeout %s, answer timeout %s", l.WriteTimeout, l.AnswerTimeout)
	}
}
