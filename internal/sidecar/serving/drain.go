// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

const (
	// Propagation is the minimum time for which a drain that a preStop hook starts accepts new
	// turns. Clients of a Service are informed late, through the API server and the proxy of
	// every node.
	Propagation = 5 * time.Second
	// quietBeforeRefusal is the time without a running turn after which new turns are
	// refused.
	quietBeforeRefusal = 500 * time.Millisecond
	// idleBeforeRefusal is the time without a request after which new turns are refused.
	idleBeforeRefusal = 15 * time.Second
	// closingTime is the last part of the grace period, which is reserved for posting the
	// last push notifications and for closing streams and servers.
	closingTime = 3 * time.Second
	// drainStartTimeout is how long the preStop hook of the agent's container waits for a
	// drain to begin. When the kubelet deletes a pod, it calls the hooks of both containers
	// at the same moment. When it restarts the agent's container alone, it calls only the
	// agent's hook, and no drain begins. The sidecar's hook is a process, which takes time
	// to start on a busy node.
	drainStartTimeout = 2 * time.Second
)

// Drainer runs the graceful shutdown of a sidecar once. The preStop hook starts the
// drain, or a signal does. Its methods are safe for concurrent use.
//
//	Begin -> each response ends its connection -> waitQuiet -> unready -> drain (turns end) -> drained
//
// The sidecar does not know whether another pod can take its calls. Kubernetes routes no new
// connection to a pod that ends, whether it is ready or not, as soon as another pod is ready.
// While no other pod is ready, it routes them to the pods that end and that are ready. So the
// pod stays ready while it accepts turns, and requests that still arrive show that no other
// pod has replaced it. The sidecar accepts turns until none arrive and none run, for at most
// half of the time of the drain. The other half is left to the turns that were accepted last.
//
// A client with an open stream sends its next message over the same connection, and
// reaches another pod only after the end of a response has closed the connection.
type Drainer struct {
	log     *slog.Logger
	now     func() time.Time
	running func() int
	drain   func(ctx context.Context) error
	// requested is the time of the last request, in nanoseconds since 1970; 0 for none.
	requested atomic.Int64

	once     sync.Once
	draining chan struct{}
	refusing chan struct{}
	drained  chan struct{}
}

// NewDrainer returns a Drainer. running returns the number of running turns. drain
// refuses new turns, and waits until the running turns have ended or ctx ends.
func NewDrainer(log *slog.Logger, now func() time.Time, running func() int, drain func(context.Context) error) *Drainer {
	return &Drainer{
		log: log, now: now, running: running, drain: drain,
		draining: make(chan struct{}), refusing: make(chan struct{}), drained: make(chan struct{}),
	}
}

// Begin starts the drain and returns at once. If the drain has begun, Begin does nothing.
// grace is the grace period. delay is the minimum time for which the sidecar still accepts
// new turns, but half of the time of the drain is the maximum. With a delay of 0, the
// sidecar refuses new turns at once.
func (d *Drainer) Begin(grace, delay time.Duration) {
	d.once.Do(func() {
		close(d.draining)
		d.log.Info("drain started", "gracePeriod", grace.String())
		go d.run(max(grace-closingTime, time.Second), delay)
	})
}

func (d *Drainer) run(limit, delay time.Duration) {
	defer close(d.drained)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if delay > 0 {
		d.waitQuiet(min(delay, limit/2), limit/2)
	}
	close(d.refusing)
	if err := d.drain(ctx); err != nil {
		d.log.Warn("drain ended with running turns, which were interrupted", "error", err)
		return
	}
	d.log.Info("drained")
}

// waitQuiet returns when no turn has run for quietBeforeRefusal and no request has arrived
// for idleBeforeRefusal, but not earlier than least and not later than most.
func (d *Drainer) waitQuiet(least, most time.Duration) {
	began := d.now()
	busy := began
	ticks := time.NewTicker(quietBeforeRefusal / 5)
	defer ticks.Stop()
	for range ticks.C {
		now := d.now()
		if d.running() > 0 {
			busy = now
		}
		passed := now.Sub(began)
		quiet := now.Sub(busy) >= quietBeforeRefusal && now.Sub(time.Unix(0, d.requested.Load())) >= idleBeforeRefusal
		if passed >= most || passed >= least && quiet {
			return
		}
	}
}

// Handler returns a handler that records the time of each request. While the sidecar drains,
// every response closes its connection: by "Connection: close" in HTTP/1.1, and by GOAWAY in
// HTTP/2. Clients then send no further request on the connection. If the connection were
// closed without this notice, a request on its way would be lost.
func (d *Drainer) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.requested.Store(d.now().UnixNano())
		if d.Draining() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// Draining reports whether the drain has begun.
func (d *Drainer) Draining() bool { return isClosed(d.draining) }

// Refusing reports whether the drain refuses new turns. The pod is not ready from then on.
func (d *Drainer) Refusing() bool { return isClosed(d.refusing) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Wait returns when the drain has ended, or when ctx ends.
func (d *Drainer) Wait(ctx context.Context) {
	select {
	case <-d.drained:
	case <-ctx.Done():
	}
}

// waitIfBegun does the same as Wait, but returns after drainStartTimeout if no drain has
// begun by then.
func (d *Drainer) waitIfBegun(ctx context.Context) {
	select {
	case <-d.draining:
		d.Wait(ctx)
	case <-time.After(drainStartTimeout):
	case <-ctx.Done():
	}
}

// HealthAddress is the address of the health port inside the pod.
var HealthAddress = net.JoinHostPort("127.0.0.1", strconv.Itoa(sidecarconfig.HealthPort))

// RequestDrain starts the drain of the sidecar in the same pod, whose health port is at
// address. It returns when the drain has ended.
func RequestDrain(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+sidecarconfig.DrainPath, nil)
	if err != nil {
		return fmt.Errorf("request drain: %w", err)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return fmt.Errorf("request drain: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("request drain: the sidecar answers %s", response.Status)
	}
	return nil
}
