// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

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

	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// Times of reports.
const (
	// reportSettle is how long the first report waits for the first attempts at
	// each dependency.
	reportSettle = 3 * time.Second
	// reportPause is the least time between two reports, so that a dependency that
	// comes and goes costs the API server little.
	reportPause = 5 * time.Second
	// reportReword is the least time until a report in which only messages differ from
	// the last, some of which are in the words of the agent or of a server and may be
	// others each time, and the time after which a report is sent a second time.
	reportReword = time.Minute
	// reportRetry is the time after the first report that fails. It doubles, up to
	// reportRetryMax, and is spread by a quarter.
	reportRetry    = time.Second
	reportRetryMax = time.Minute
	// reportTimeout bounds one request.
	reportTimeout = 10 * time.Second
)

// reporter tells the operator of the health of dependencies: once after the
// start, which also withdraws what an earlier process of the pod reported, and
// then whenever it changes: at once when a cause does, and once a minute when only
// the words of a message do. Each report that stays true is sent twice. It is done by the registry, which the gateway
// reaches with the same token.
type reporter struct {
	health *health.Tracker
	// gateway returns the registry and the token; nil reports nothing.
	gateway func() *sidecarconfig.Gateway
	client  *http.Client
	log     *slog.Logger
	// times are those of the constants, which tests shorten.
	settle, pause, reword, retry time.Duration
}

func (s *Sidecar) newReporter() *reporter {
	return &reporter{
		health:  s.health,
		gateway: func() *sidecarconfig.Gateway { return s.current().Gateway },
		client: &http.Client{
			Transport: s.gatewayTransport, Timeout: reportTimeout,
			// The token is for the registry and nobody else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		log:    s.log,
		settle: reportSettle, pause: reportPause, reword: reportReword, retry: reportRetry,
	}
}

// run reports until ctx ends.
func (r *reporter) run(ctx context.Context) {
	r.awaitFirst(ctx)
	var last *sentReport
	retry := r.retry
	for ctx.Err() == nil {
		report := r.health.Report()
		if last != nil && r.holds(ctx, &report, last) {
			continue
		}
		err := r.send(ctx, report)
		if err == nil {
			again := last != nil && reflect.DeepEqual(report, last.HealthReport)
			last, retry = &sentReport{report, time.Now(), again}, r.retry //nolint:forbidigo // it is compared with timers
			pause(ctx, r.pause)
			continue
		}
		if ctx.Err() != nil {
			return
		}
		r.log.WarnContext(ctx, "health report failed", "retryIn", retry, "error", err)
		pause(ctx, retry-retry/4+rand.N(retry/2)) //nolint:gosec // it only spreads load
		retry = min(2*retry, reportRetryMax)
	}
}

// sentReport is the last report that was taken.
type sentReport struct {
	sidecarconfig.HealthReport
	at time.Time
	// again is true once it was sent a second time.
	again bool
}

// holds reports whether there is nothing to send yet, after it has waited for a
// change. For the time of reword it holds what was sent last, and what differs from
// that in messages only.
//
// What was sent is sent once more then: a replica of the registry compares a report
// with its cache of pods, and takes one for written that the cache, behind another
// report, seems to hold.
func (r *reporter) holds(ctx context.Context, report *sidecarconfig.HealthReport, last *sentReport) bool {
	if !alike(report, &last.HealthReport) {
		return false
	}
	var due <-chan time.Time
	if !last.again || !reflect.DeepEqual(*report, last.HealthReport) {
		left := r.reword - time.Since(last.at)
		if left <= 0 {
			return false
		}
		timer := time.NewTimer(left)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
	case <-r.health.Changed():
	case <-due:
	}
	return true
}

// alike reports whether two reports differ at most in their messages.
func alike(a, b *sidecarconfig.HealthReport) bool {
	return slices.EqualFunc(a.Dependencies, b.Dependencies, func(a, b sidecarconfig.DependencyHealth) bool {
		return a.Dependency == b.Dependency && a.Cause == b.Cause
	})
}

// awaitFirst waits until no dependency is pending, for a bounded time.
func (r *reporter) awaitFirst(ctx context.Context) {
	late := time.NewTimer(r.settle)
	defer late.Stop()
	for r.health.Pending() {
		select {
		case <-ctx.Done():
			return
		case <-late.C:
			return
		case <-r.health.Changed():
		}
	}
}

// send puts one report to the registry. Without a registry it succeeds.
func (r *reporter) send(ctx context.Context, report sidecarconfig.HealthReport) error {
	gateway := r.gateway()
	if gateway == nil {
		return nil
	}
	token, err := os.ReadFile(gateway.TokenFile)
	if err != nil {
		return fmt.Errorf("read token: %w", err)
	}
	body, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("encode health report: %w", err)
	}
	url := strings.TrimSuffix(gateway.RegistryURL, "/") + sidecarconfig.HealthPath
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("report health: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	request.Header.Set("Content-Type", "application/json")
	response, err := r.client.Do(request)
	if err != nil {
		return fmt.Errorf("report health: %w", err)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(response.Body, 512)) // for the log
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("report health: PUT %s is answered with status %d: %s", url, response.StatusCode, sidecarconfig.OneLine(string(answer)))
	}
	return nil
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
