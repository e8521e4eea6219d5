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

	"github.com/a2a-operator/a2a-operator/internal/contract"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
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
	// the last: some are in the words of the agent or of a server, which may be others
	// each time.
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
// the words of a message do. It is done by the registry, which the gateway
// reaches with the same token.
type reporter struct {
	health *health.Tracker
	// gateway returns the registry and the token; nil reports nothing.
	gateway func() *contract.Gateway
	client  *http.Client
	log     *slog.Logger
	// times are those of the constants, which tests shorten.
	settle, pause, reword, retry time.Duration
}

func (s *Sidecar) newReporter() *reporter {
	return &reporter{
		health:  s.health,
		gateway: func() *contract.Gateway { return s.current().Gateway },
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
	var sent *contract.HealthReport
	var at time.Time // of what was sent
	retry := r.retry
	for ctx.Err() == nil {
		report := r.health.Report()
		if sent != nil && r.holds(ctx, &report, sent, at) {
			continue
		}
		err := r.send(ctx, report)
		if err == nil {
			sent, at, retry = &report, time.Now(), r.retry //nolint:forbidigo // it is compared with timers
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

// holds reports whether there is nothing to send yet, after it has waited for a
// change: the report is the one that was sent, or differs in messages only for less
// than reword.
func (r *reporter) holds(ctx context.Context, report, sent *contract.HealthReport, at time.Time) bool {
	if !alike(report, sent) {
		return false
	}
	var due <-chan time.Time
	if !reflect.DeepEqual(report, sent) {
		left := r.reword - time.Since(at)
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
func alike(a, b *contract.HealthReport) bool {
	return slices.EqualFunc(a.Dependencies, b.Dependencies, func(a, b contract.DependencyHealth) bool {
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
func (r *reporter) send(ctx context.Context, report contract.HealthReport) error {
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
	url := strings.TrimSuffix(gateway.RegistryURL, "/") + contract.HealthPath
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
		return fmt.Errorf("report health: PUT %s is answered with status %d: %s", url, response.StatusCode, contract.OneLine(string(answer)))
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
