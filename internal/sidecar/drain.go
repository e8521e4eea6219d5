// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// Times of a drain.
const (
	// propagation is the minimum time for which new requests are accepted after
	// the pod became unready. Clients of a Service learn of that late, through the
	// API server and the proxy of every node.
	propagation = 5 * time.Second
	// lull is how long no turn must have run before new turns are refused.
	lull = 500 * time.Millisecond
	// margin is what the end of a grace period is kept for: to post the last
	// notifications, and to close streams and servers.
	margin = 3 * time.Second
	// lastWord is the part of it in which the ends of turns are posted that were
	// cut off.
	lastWord = time.Second
	// announcement is how long the agent's hook waits for the sidecar's: both
	// are called at the same moment when a pod is deleted, and only the agent's
	// when its container alone is restarted. The sidecar's starts a process,
	// which takes time on a busy node.
	announcement = 2 * time.Second
)

// drainer runs the graceful shutdown of a sidecar once. Its preStop hook starts the
// drain, or a signal does.
//
//	begin -> not ready, each answer ends its connection -> settle -> engine.Drain (turns end) -> drained
//
// A client with an open stream sends its next message over the same connection, and
// reaches another pod only after the end of a response has closed the connection. So
// the sidecar accepts new messages while turns run, for at most half of the time of
// the drain; the other half is left to the turns that were accepted last.
type drainer struct {
	log *slog.Logger
	now func() time.Time
	// running returns the number of running turns.
	running func() int
	// drain refuses new turns and waits for those that run, until ctx ends.
	drain func(ctx context.Context) error

	once     sync.Once
	draining chan struct{}
	drained  chan struct{}
}

func newDrainer(log *slog.Logger, now func() time.Time, running func() int, drain func(context.Context) error) *drainer {
	return &drainer{log: log, now: now, running: running, drain: drain, draining: make(chan struct{}), drained: make(chan struct{})}
}

// begin starts the drain, unless it has begun, and returns at once. delay is the
// minimum time for which the sidecar still accepts new turns; with a delay of 0 it
// refuses them from the beginning.
func (d *drainer) begin(grace, delay time.Duration) {
	d.once.Do(func() {
		close(d.draining)
		d.log.Info("draining", "grace", grace.String())
		go d.run(max(grace-margin, time.Second), delay)
	})
}

func (d *drainer) run(limit, delay time.Duration) {
	defer close(d.drained)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if delay > 0 {
		d.settle(min(delay, limit/2), limit/2)
	}
	if err := d.drain(ctx); err != nil {
		d.log.Warn("turns were cut off", "error", err)
		return
	}
	d.log.Info("drained")
}

// settle returns when no turn has run for lull, but not before least nor after
// most.
func (d *drainer) settle(least, most time.Duration) {
	began := d.now()
	busy := began
	ticks := time.NewTicker(lull / 5)
	defer ticks.Stop()
	for range ticks.C {
		now := d.now()
		if d.running() > 0 {
			busy = now
		}
		if passed := now.Sub(began); passed >= most || passed >= least && now.Sub(busy) >= lull {
			return
		}
	}
}

// sendAway makes every response end its connection while the sidecar drains:
// "Connection: close" in HTTP/1.1, GOAWAY in HTTP/2. Clients send no further request
// on such a connection. Closing it without that notice would lose a request that is
// already on its way.
func (d *drainer) sendAway(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.active() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// AskDrain asks the sidecar whose health port is at address, in the same pod,
// to drain, and returns when it has.
func AskDrain(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+sidecarconfig.DrainPath, nil)
	if err != nil {
		return fmt.Errorf("ask for the drain: %w", err)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return fmt.Errorf("ask for the drain: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask for the drain: the sidecar answers %s", response.Status)
	}
	return nil
}

// active reports whether the drain has begun.
func (d *drainer) active() bool {
	select {
	case <-d.draining:
		return true
	default:
		return false
	}
}

// wait returns when the drain is over, or ctx ends.
func (d *drainer) wait(ctx context.Context) {
	select {
	case <-d.drained:
	case <-ctx.Done():
	}
}

// waitIfBegun is wait for the agent's hook: it returns soon when nothing is
// being drained.
func (d *drainer) waitIfBegun(ctx context.Context) {
	select {
	case <-d.draining:
		d.wait(ctx)
	case <-time.After(announcement):
	case <-ctx.Done():
	}
}
