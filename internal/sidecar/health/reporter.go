// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// Times of reports.
const (
	// firstReportTimeout bounds the wait before the first report. The wait ends earlier
	// when each dependency has been tried once.
	firstReportTimeout = 3 * time.Second
	// reportInterval is the minimum time between two reports. It limits the requests to the
	// API server for a dependency that fails and recovers repeatedly.
	reportInterval = 5 * time.Second
	// messageInterval is the minimum time between two reports that differ in messages only.
	// Some messages contain text of the agent or a server, which may differ each time. An
	// unchanged report is also sent once more after messageInterval (waitWhileSent).
	messageInterval = time.Minute
	// reportRetryFirst is the wait after the first failed report. It doubles up to
	// reportRetryMax (exponential backoff). Each wait varies randomly by up to a quarter
	// (jitter).
	reportRetryFirst = time.Second
	reportRetryMax   = time.Minute
	// reportTimeout bounds one request.
	reportTimeout = 10 * time.Second
	// beatInterval is the time between two heartbeats.
	beatInterval = 30 * time.Second
	// recountInterval is the time between a heartbeat that reached a replica of the registry that is
	// not the leader, and the next heartbeat.
	recountInterval = 2 * time.Second
)

// Reporter sends the health of dependencies to the registry. The gateway's configuration
// has the registry's address and the token. The Reporter sends a report after the start,
// which also replaces the report of an earlier process in the pod. Then it sends a report
// when a cause or the signatures of the card change, at most one in reportInterval. If
// only a message changes, it sends at most one report in messageInterval. If nothing
// changes, it sends the last report once more after messageInterval, and then no more. If a
// request of the gateway to the registry fails, the Reporter sends the report until the registry
// accepts it, so that the state of the registry is true.
type Reporter struct {
	tracker *Tracker
	gateway func() *sidecarconfig.Gateway
	client  *http.Client
	log     *slog.Logger
}

// NewReporter returns a Reporter that sends requests through transport. gateway returns
// the address of the registry and the file of the token. While gateway returns nil, the
// Reporter sends no report and calls gateway again once a minute.
func NewReporter(tracker *Tracker, gateway func() *sidecarconfig.Gateway, transport http.RoundTripper, log *slog.Logger) *Reporter {
	return &Reporter{
		tracker: tracker, gateway: gateway, log: log,
		client: &http.Client{
			Transport: transport, Timeout: reportTimeout,
			// Redirects are not followed, because another server must not receive the token.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Run sends reports until ctx ends.
func (r *Reporter) Run(ctx context.Context) {
	r.awaitFirst(ctx)
	var last *sentReport
	retry := reportRetryFirst
	for ctx.Err() == nil {
		gateway := r.gateway()
		if gateway == nil {
			// A reload of the configuration may set the gateway. The registry then has no
			// report yet.
			last = nil
			sleep(ctx, messageInterval)
			continue
		}
		report := r.tracker.Report()
		if last != nil && !r.tracker.failing(sidecarconfig.DependencyRegistry) && r.waitWhileSent(ctx, &report, last) {
			continue
		}
		err := r.report(ctx, gateway, report)
		if err == nil {
			repeated := last != nil && reflect.DeepEqual(report, last.HealthReport)
			last = &sentReport{report, time.Now(), repeated} //nolint:forbidigo // it is compared with timers
			retry = reportRetryFirst
			sleep(ctx, reportInterval)
			continue
		}
		if ctx.Err() != nil {
			return
		}
		r.log.WarnContext(ctx, "health report failed", "retryIn", retry, "error", err)
		sleep(ctx, retry-retry/4+rand.N(retry/2)) //nolint:gosec // it only spreads load
		retry = min(2*retry, reportRetryMax)
	}
}

// Beat sends a heartbeat to the registry in each beatInterval until ctx ends. The operator sees
// by the heartbeats that the sidecar reaches the registry, and an idle sidecar sees that the
// registry answers. A heartbeat costs the registry no request to the API server, unlike a report.
// Run logs the failures: a failed heartbeat makes it send a report.
func (r *Reporter) Beat(ctx context.Context) {
	wait := beatInterval
	for {
		sleep(ctx, wait-wait/8+rand.N(wait/4)) //nolint:gosec // it only spreads load
		if ctx.Err() != nil {
			return
		}
		wait = beatInterval
		if gateway := r.gateway(); gateway != nil {
			counted, err := r.send(ctx, gateway, http.MethodPost, sidecarconfig.AlivePath, nil)
			if err == nil && !counted {
				wait = recountInterval
			}
		}
	}
}

// sentReport is the last report that the registry accepted.
type sentReport struct {
	sidecarconfig.HealthReport
	at time.Time
	// repeated is true if the same report was sent a second time.
	repeated bool
}

// waitWhileSent returns false if the report must be sent now. Otherwise it waits until
// the report may have changed, or until it is due, and returns true.
//
// An unchanged report is due once more, messageInterval after the first time, because the
// registry can skip the first report by mistake. A replica of the registry compares a
// report with its cache of pods, and writes nothing if both are equal. If the cache is out
// of date, the pod has other conditions than the cache shows.
func (r *Reporter) waitWhileSent(ctx context.Context, report *sidecarconfig.HealthReport, last *sentReport) bool {
	if !sameCauses(report, &last.HealthReport) {
		return false
	}
	var due <-chan time.Time
	if !last.repeated || !reflect.DeepEqual(*report, last.HealthReport) {
		left := messageInterval - time.Since(last.at)
		if left <= 0 {
			return false
		}
		timer := time.NewTimer(left)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
	case <-r.tracker.Changed():
	case <-due:
	}
	return true
}

// sameCauses reports whether two reports are equal except for their messages.
func sameCauses(a, b *sidecarconfig.HealthReport) bool {
	return reflect.DeepEqual(a.CardSignatures, b.CardSignatures) && slices.EqualFunc(a.Dependencies, b.Dependencies, func(a, b sidecarconfig.DependencyHealth) bool {
		return a.Dependency == b.Dependency && a.Cause == b.Cause
	})
}

// awaitFirst returns when no dependency is pending, but after firstReportTimeout at the
// latest.
func (r *Reporter) awaitFirst(ctx context.Context) {
	timeout := time.NewTimer(firstReportTimeout)
	defer timeout.Stop()
	for r.tracker.Pending() {
		select {
		case <-ctx.Done():
			return
		case <-timeout.C:
			return
		case <-r.tracker.Changed():
		}
	}
}

// report sends one report to the registry of a gateway.
func (r *Reporter) report(ctx context.Context, gateway *sidecarconfig.Gateway, report sidecarconfig.HealthReport) error {
	body, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("encode health report: %w", err)
	}
	_, err = r.send(ctx, gateway, http.MethodPut, sidecarconfig.HealthPath, body)
	return err
}

// send sends one request to the registry of a gateway. counted is false if the replica of the
// registry that answers is not the leader.
func (r *Reporter) send(ctx context.Context, gateway *sidecarconfig.Gateway, method, path string, body []byte) (counted bool, err error) {
	token, err := os.ReadFile(gateway.TokenFile)
	if err != nil {
		return false, fmt.Errorf("read token: %w", err)
	}
	url := strings.TrimSuffix(gateway.RegistryURL, "/") + path
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return false, fmt.Errorf("report health: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := r.client.Do(request)
	if err != nil {
		return false, fmt.Errorf("report health: %w", err)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(response.Body, 512)) // for the text of the error, which is logged
	if response.StatusCode/100 != 2 {
		return false, fmt.Errorf("report health: %s %s is answered with status %d: %s", method, url, response.StatusCode, sidecarconfig.OneLine(string(answer)))
	}
	return response.StatusCode != http.StatusAccepted, nil
}

// sleep returns after d, or when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
