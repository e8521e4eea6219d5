// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/contract"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
)

// fakeRegistry is a transport that answers reports.
type fakeRegistry struct {
	t *testing.T

	mu      sync.Mutex
	err     error
	reports []contract.HealthReport
	at      []time.Time
}

func (f *fakeRegistry) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = append(f.at, time.Now())
	if f.err != nil {
		return nil, f.err
	}
	var report contract.HealthReport
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

// fail has the following reports fail with an error; nil ends that.
func (f *fakeRegistry) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func newTestReporter(t *testing.T) (*health.Tracker, *fakeRegistry, *reporter) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tracker, registry := health.New(time.Now), &fakeRegistry{t: t}
	return tracker, registry, &reporter{
		health: tracker, client: &http.Client{Transport: registry}, log: slog.New(slog.DiscardHandler),
		gateway: func() *contract.Gateway { return &contract.Gateway{RegistryURL: "http://registry/", TokenFile: file} },
		settle:  reportSettle, pause: reportPause, retry: reportRetry,
	}
}

// A report is sent at the start, which withdraws what an earlier process has
// reported, and then on changes only, with a pause between them.
func TestReporter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, registry, reports := newTestReporter(t)
		ctx, stop := context.WithCancel(t.Context())
		store := tracker.Add(contract.DependencyTaskStore, health.Options{})
		go reports.run(ctx)
		synctest.Wait()
		if len(registry.reports) != 0 {
			t.Fatal("a report was sent before anything was tried")
		}
		store.Failf(contract.CauseRefused, "redis:6379: connection refused")
		synctest.Wait()
		failing := contract.HealthReport{Dependencies: []contract.DependencyHealth{
			{Dependency: contract.DependencyTaskStore, Cause: contract.CauseRefused, Message: "redis:6379: connection refused"},
		}}
		well := contract.HealthReport{Dependencies: []contract.DependencyHealth{}}
		if diff := cmp.Diff([]contract.HealthReport{failing}, registry.reports); diff != "" {
			t.Fatalf("reports (-want +got):\n%s", diff)
		}
		// What changes back within the pause is not told.
		store.Succeeded()
		store.Failf(contract.CauseRefused, "redis:6379: connection refused")
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(registry.reports) != 1 {
			t.Errorf("%d reports of what did not change", len(registry.reports))
		}
		store.Succeeded()
		synctest.Wait()
		if diff := cmp.Diff([]contract.HealthReport{failing, well}, registry.reports); diff != "" {
			t.Errorf("reports (-want +got):\n%s", diff)
		}
		stop()
		synctest.Wait()
	})
}

// A registry that is away is asked again, ever later, and then told what is.
func TestReporterRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker, registry, reports := newTestReporter(t)
		registry.fail(errors.New("the manager is down"))
		ctx, stop := context.WithCancel(t.Context())
		store := tracker.Add(contract.DependencyTaskStore, health.Options{})
		store.Failf(contract.CauseRefused, "redis:6379: connection refused")
		go reports.run(ctx)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := len(registry.at); n < 12 || n > 20 {
			t.Errorf("%d attempts in ten minutes, want about 15", n)
		}
		store.Succeeded()
		synctest.Wait() // run is between two attempts
		registry.fail(nil)
		time.Sleep(2 * reportRetryMax)
		synctest.Wait()
		if len(registry.reports) != 1 || len(registry.reports[0].Dependencies) != 0 {
			t.Errorf("reports = %+v, want the last state only", registry.reports)
		}
		stop()
		synctest.Wait()
	})
}

// A whole sidecar reports through the registry of its contract.
func TestPodReportsItsHealth(t *testing.T) {
	reports := make(chan string, 16)
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		reports <- r.Method + " " + r.URL.Path + " " + string(body)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer registry.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("t"), 0o600); err != nil {
		t.Fatal(err)
	}
	closed := closedAddress(t)
	newPodWith(t, says, func(c *contract.Config) {
		c.Gateway = &contract.Gateway{RegistryURL: registry.URL, AgentURL: "http://{name}.{namespace}.svc", TokenFile: token}
	}, func(o *Options) { o.Store = "redis://" + closed })
	want := `PUT /v1/health {"dependencies":[{"dependency":"TaskStore","cause":"ConnectionRefused","message":"` + closed + `: connection refused"}]}`
	if got := <-reports; got != want {
		t.Errorf("report = %s\nwant     %s", got, want)
	}
}
