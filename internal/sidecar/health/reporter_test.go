// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// fakeRegistry is a transport that responds to health reports.
type fakeRegistry struct {
	t *testing.T

	mu  sync.Mutex
	err error
	// beats are the times of heartbeats, and aliveStatus is the status with which they are answered.
	beats       []time.Time
	aliveStatus int
	reports     []sidecarconfig.HealthReport
	at          []time.Time
}

// sent waits until every goroutine of the test is idle, and returns the reports.
func (f *fakeRegistry) sent() []sidecarconfig.HealthReport {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.reports)
}

// fail sets the error of later reports. With nil, they succeed.
func (f *fakeRegistry) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// attempts returns the number of reports that the reporter tried to send.
func (f *fakeRegistry) attempts() int {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.at)
}

func (f *fakeRegistry) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.URL.Path == sidecarconfig.AlivePath {
		f.beats = append(f.beats, time.Now())
	} else {
		f.at = append(f.at, time.Now())
	}
	if f.err != nil {
		return nil, f.err
	}
	if r.URL.Path == sidecarconfig.AlivePath {
		if got := r.Method + " " + r.Header.Get("Authorization"); got != "POST Bearer token" {
			f.t.Errorf("heartbeat = %s", got)
		}
		response := httptest.NewRecorder()
		response.WriteHeader(f.aliveStatus)
		return response.Result(), nil
	}
	var report sidecarconfig.HealthReport
	if err := json.NewDecoder(r.Body).Decode(&report); err != nil {
		f.t.Error(err)
	}
	if got := r.Method + " " + r.URL.String() + " " + r.Header.Get("Authorization"); got != "PUT http://registry/v1/health Bearer token" {
		f.t.Errorf("request = %s", got)
	}
	f.reports = append(f.reports, report)
	response := httptest.NewRecorder()
	response.WriteHeader(http.StatusNoContent)
	return response.Result(), nil
}

func newTestReporter(t *testing.T) (*Tracker, *fakeRegistry, *Reporter) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tracker, registry := New(time.Now), &fakeRegistry{t: t}
	gateway := func() *sidecarconfig.Gateway {
		return &sidecarconfig.Gateway{RegistryURL: "http://registry/", TokenFile: file}
	}
	return tracker, registry, NewReporter(tracker, gateway, registry, slog.New(slog.DiscardHandler))
}

// The reporter sends a report at the start, which replaces the report of an earlier
// process. Then it sends reports after changes only, with a minimum interval between
// them.
func TestReporter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, registry, reports := newTestReporter(t)
		ctx, stop := context.WithCancel(t.Context())
		store := tracker.Add(sidecarconfig.DependencyTaskStore, Options{})
		go reports.Run(ctx)
		synctest.Wait()
		if len(registry.sent()) != 0 {
			t.Fatal("a report was sent before anything was tried")
		}
		store.Failf(sidecarconfig.CauseRefused, "redis:6379: connection refused")
		failing := sidecarconfig.HealthReport{Dependencies: []sidecarconfig.DependencyHealth{
			{Dependency: sidecarconfig.DependencyTaskStore, Cause: sidecarconfig.CauseRefused, Message: "redis:6379: connection refused"},
		}}
		well := sidecarconfig.HealthReport{Dependencies: []sidecarconfig.DependencyHealth{}}
		if diff := cmp.Diff([]sidecarconfig.HealthReport{failing}, registry.sent()); diff != "" {
			t.Fatalf("reports (-want +got):\n%s", diff)
		}
		// A change that is reverted within the interval is not reported.
		store.Succeeded()
		store.Failf(sidecarconfig.CauseRefused, "redis:6379: connection refused")
		time.Sleep(time.Hour)
		// An unchanged report is sent twice, because the registry may have compared the first
		// one with a cache that was out of date.
		if diff := cmp.Diff([]sidecarconfig.HealthReport{failing, failing}, registry.sent()); diff != "" {
			t.Errorf("reports of what did not change (-want +got):\n%s", diff)
		}
		store.Succeeded()
		if diff := cmp.Diff([]sidecarconfig.HealthReport{failing, failing, well}, registry.sent()); diff != "" {
			t.Errorf("reports (-want +got):\n%s", diff)
		}
		time.Sleep(time.Hour)
		if diff := cmp.Diff([]sidecarconfig.HealthReport{failing, failing, well, well}, registry.sent()); diff != "" {
			t.Errorf("reports of what is well (-want +got):\n%s", diff)
		}
		stop()
		synctest.Wait()
	})
}

// A reload may configure the registry after the start. The Reporter then sends a report,
// although no dependency has changed.
func TestReporterSendsAReportToARegistryOfAReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, registry, reports := newTestReporter(t)
		configured := reports.gateway
		var enabled atomic.Bool
		reports.gateway = func() *sidecarconfig.Gateway {
			if !enabled.Load() {
				return nil
			}
			return configured()
		}
		ctx, stop := context.WithCancel(t.Context())
		tracker.Add(sidecarconfig.DependencyTaskStore, Options{}).Failf(sidecarconfig.CauseRefused, "connection refused")
		go reports.Run(ctx)
		time.Sleep(time.Hour)
		if n := registry.attempts(); n != 0 {
			t.Errorf("%d reports without a registry", n)
		}
		enabled.Store(true)
		time.Sleep(messageInterval)
		if got := registry.sent(); len(got) != 1 || len(got[0].Dependencies) != 1 {
			t.Errorf("reports = %+v, want one of the failure", got)
		}
		stop()
		synctest.Wait()
	})
}

// A message with the text of another program may differ in each attempt. It causes at
// most one write to the API server per minute. A change of the cause is reported at once.
func TestReporterSendsChangedMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, registry, reports := newTestReporter(t)
		ctx, stop := context.WithCancel(t.Context())
		card := tracker.Add(sidecarconfig.DependencyAgentCard, Options{})
		go reports.Run(ctx)
		for i := range 601 { // for ten minutes
			card.Failf(sidecarconfig.CauseInvalid, "request %d is refused", i)
			time.Sleep(time.Second)
		}
		if n := len(registry.sent()); n < 10 || n > 11 {
			t.Errorf("%d reports in ten minutes, want one in each", n)
		}
		time.Sleep(messageInterval)
		sent := registry.sent()
		last := sent[len(sent)-1].Dependencies[0]
		if last.Message != "request 600 is refused" {
			t.Errorf("the last report = %+v", last)
		}
		card.Succeeded()
		time.Sleep(reportInterval)
		if after := registry.sent()[len(sent):]; len(after) != 1 || len(after[0].Dependencies) != 0 {
			t.Errorf("reports after the recovery = %+v", after)
		}
		stop()
		synctest.Wait()
	})
}

// The registry sees by heartbeats that the sidecar reaches it. A replica of the registry that is not the leader cannot
// count them, so the sidecar sends the next one soon, over another connection.
func TestReporterSendsHeartbeats(t *testing.T) {
	for name, test := range map[string]struct {
		status      int
		least, most int
	}{
		"leader":     {http.StatusNoContent, 18, 23},
		"not leader": {http.StatusAccepted, 240, 343},
		"refused":    {http.StatusUnauthorized, 18, 23},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, registry, reports := newTestReporter(t)
				registry.aliveStatus = test.status
				ctx, stop := context.WithCancel(t.Context())
				go reports.Beat(ctx)
				time.Sleep(10 * time.Minute)
				stop()
				synctest.Wait()
				if n := len(registry.beats); n < test.least || n > test.most {
					t.Errorf("%d heartbeats in ten minutes, want %d to %d", n, test.least, test.most)
				}
				if len(registry.sent()) != 0 {
					t.Error("a heartbeat is a report")
				}
			})
		})
	}
}

// The reporter retries with backoff while the registry fails, and then reports the latest
// state.
func TestReporterRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, registry, reports := newTestReporter(t)
		registry.fail(errors.New("the manager is down"))
		ctx, stop := context.WithCancel(t.Context())
		store := tracker.Add(sidecarconfig.DependencyTaskStore, Options{})
		store.Failf(sidecarconfig.CauseRefused, "redis:6379: connection refused")
		go reports.Run(ctx)
		time.Sleep(10 * time.Minute)
		if n := registry.attempts(); n < 12 || n > 20 {
			t.Errorf("%d attempts in ten minutes, want about 15", n)
		}
		store.Succeeded()
		registry.fail(nil)
		time.Sleep(2 * reportRetryMax)
		sent := registry.sent()
		if len(sent) == 0 || slices.ContainsFunc(sent, func(r sidecarconfig.HealthReport) bool { return len(r.Dependencies) > 0 }) {
			t.Errorf("reports = %+v, want the last state only", sent)
		}
		stop()
		synctest.Wait()
	})
}

func TestReporterSendsChangedCardSignatures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, registry, reports := newTestReporter(t)
		ctx, stop := context.WithCancel(t.Context())
		go reports.Run(ctx)
		synctest.Wait()
		signed := &sidecarconfig.CardSignatures{Keys: json.RawMessage(`{"keys":[]}`), Signatures: []card.Signature{{Protected: "a", Signature: "b"}}}
		tracker.SetCardSignatures(signed)
		time.Sleep(2 * reportInterval)
		tracker.SetCardSignatures(nil)
		time.Sleep(2 * reportInterval)
		unsigned := sidecarconfig.HealthReport{Dependencies: []sidecarconfig.DependencyHealth{}}
		with := unsigned
		with.CardSignatures = signed
		if diff := cmp.Diff([]sidecarconfig.HealthReport{unsigned, with, unsigned}, registry.sent()); diff != "" {
			t.Errorf("reports (-want +got):\n%s", diff)
		}
		stop()
		synctest.Wait()
	})
}
