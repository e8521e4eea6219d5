// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stream calls an agent once for each turn and reads its response piece by piece,
// for all protocols of an agent's container. It limits the duration and the size of a
// response, retries requests that the agent did not receive, and splits a response into
// lines and server-sent events.
//
// It depends on no protocol: the packages that use it write the requests and decode the
// events. It follows no redirect and uses no proxy. If a response is not understood, the
// client sees no part of it except the excerpt of backend.Unrecognized.
package stream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/http1"
	"github.com/a2a-operator/a2a-operator/internal/kit/responseheader"
)

func (l *Limits) setDefaults() {
	setDefault(&l.Connect, 5*time.Second)
	setDefault(&l.FirstEvent, 2*time.Minute)
	setDefault(&l.Idle, 5*time.Minute)
	setDefault(&l.Turn, time.Hour)
	setDefault(&l.MaxEvent, 2560<<10)
	setDefault(&l.MaxAnswer, 32<<20)
	if l.EventMemory > 0 {
		l.MaxEvent = min(l.MaxEvent, l.EventMemory)
	}
}

func setDefault[T int | int64 | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}

// Limits of the connection pool, and of the header of a response in bytes. Servers commonly
// close an idle connection after 2 s or more. The client closes an idle connection earlier,
// so that it never sends a request on a connection that the server is closing.
const (
	maxIdleConnections = 64
	idleConnection     = time.Second
)

// Client calls one agent. It is safe for concurrent use.
type Client struct {
	limits Limits
	// direct sends requests to http URLs, and transport all other requests. In a client of an
	// agent outside of the pod, direct is nil and transport sends all requests.
	direct    *http1.Client
	transport http.RoundTripper
}

// New returns a client of an agent in the sidecar's pod if transport is nil. Otherwise, the
// agent is outside of the pod, and the client sends all requests through the transport. In
// this case, Close does not close the transport's connections, and the transport may return
// a *backend.TurnError as the reason why it sent no request.
func New(transport http.RoundTripper, limits Limits) *Client {
	limits.setDefaults()
	if transport != nil {
		return &Client{limits: limits, transport: transport}
	}
	dial := dialLoopback(&net.Dialer{Timeout: limits.Connect})
	return &Client{
		limits: limits,
		direct: http1.New(http1.Options{
			Dial: dial, MaxIdle: maxIdleConnections, IdleTimeout: idleConnection,
		}),
		// The agent is in the same pod, so the proxy variables of the environment do not
		// apply.
		transport: responseheader.Bound(&http.Transport{
			DialContext:         dial,
			TLSHandshakeTimeout: limits.Connect,
			MaxIdleConns:        maxIdleConnections,
			MaxIdleConnsPerHost: maxIdleConnections,
			IdleConnTimeout:     idleConnection,
			DisableCompression:  true,
		}),
	}
}

// dialLoopback returns a function that connects to an agent in the pod. If nothing listens at
// 127.0.0.1, it tries ::1: a program that listens at localhost may listen at either.
func dialLoopback(dialer *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		port, isLoopback := strings.CutPrefix(address, "127.0.0.1:")
		if err == nil || !isLoopback {
			return conn, err
		}
		if other, otherErr := dialer.DialContext(ctx, network, net.JoinHostPort("::1", port)); otherErr == nil {
			return other, nil
		}
		return nil, err
	}
}

// Limits returns the limits with their defaults.
func (c *Client) Limits() *Limits { return &c.limits }

// Close closes the idle connections.
func (c *Client) Close() {
	if c.direct == nil {
		return
	}
	c.direct.CloseIdleConnections()
	if own, ok := c.transport.(*http.Transport); ok {
		own.CloseIdleConnections()
	}
}

// Turn calls run with a context that ends when the turn exceeds a limit of time. If the
// turn has exceeded a limit, Turn returns the *backend.TurnError that names the limit.
// Otherwise, it returns the error of run.
func (c *Client) Turn(ctx context.Context, run func(context.Context, *Watchdog) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := newWatchdog(&c.limits, cancel)
	defer w.stop()
	err := run(ctx, w)
	if failure, ok := errors.AsType[*backend.TurnError](context.Cause(ctx)); ok {
		// A limit of the turn has ended ctx. An error of run is a consequence, so the caller
		// receives the error that names the limit.
		return failure
	}
	return err
}

// ParseURL parses the URL of an agent. It returns an error unless the URL begins with http://
// or https:// and names a host.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse agent URL: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("agent URL must start with http:// or https:// and name a host")
	}
	return u, nil
}

// Limits bounds the duration and the size of a turn. A field of 0 or less has its default.
type Limits struct {
	// Connect bounds the attempts to connect to the agent, 5 s by default.
	Connect time.Duration
	// FirstEvent bounds the time from the beginning of the turn to the first byte of a
	// response body, 2 min by default. It also bounds the retries after a 429 or 503.
	FirstEvent time.Duration
	// Idle is the idle timeout: it bounds the time between two reads of a response, 5 min by
	// default. The time during which the agent waits for its client does not count.
	Idle time.Duration
	// Turn bounds the whole turn, 1 h by default.
	Turn time.Duration
	// MaxEvent bounds one event, one JSON response and one file, in bytes; 2.5 MiB by
	// default. The base64 encoding of 2.5 MiB is smaller than 4 MiB, the limit of many
	// clients.
	MaxEvent int
	// EventMemory is the size of the largest event for which there is memory, in bytes. MaxEvent
	// is at most as large. 0 is no bound.
	EventMemory int
	// MaxAnswer bounds one response, in bytes; 32 MiB by default.
	MaxAnswer int64
	// Once is true to send each request once, and not again after a refused connection, a 429 or a 503.
	Once bool
}

// Watchdog cancels the context of a turn that exceeds a limit of time. The cause of the
// context is the failure of the turn. One timer enforces all limits. Recording activity is
// cheap because it does not reset the timer. When the timer fires, the watchdog compares
// the time of the last activity with the limits. It then sets the timer to the next moment
// at which a limit may be exceeded.
type Watchdog struct {
	limits *Limits
	cancel context.CancelCauseFunc

	// mu guards the fields below.
	mu sync.Mutex
	// timer is nil after the end of the turn.
	timer *time.Timer
	// lastActivity is zero before the first activity.
	start, lastActivity time.Time
	paused              bool
}

func newWatchdog(l *Limits, cancel context.CancelCauseFunc) *Watchdog {
	w := &Watchdog{limits: l, cancel: cancel, start: machineTime()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(min(l.FirstEvent, l.Turn, l.Idle), w.check)
	return w
}

func machineTime() time.Time { return time.Now() } //nolint:forbidigo // timers use the clock of the machine

// RecordActivity records that a part of the response arrived. It does nothing for a nil
// watchdog.
func (w *Watchdog) RecordActivity() {
	if w == nil {
		return
	}
	now := machineTime()
	w.mu.Lock()
	w.lastActivity = now
	w.mu.Unlock()
}

// Pause suspends all limits except Turn while the agent waits for its client, and resumes
// them afterwards. Only the goroutine that reads the response calls it.
func (w *Watchdog) Pause(paused bool) {
	if w.paused == paused {
		return // needs no lock: only this goroutine writes paused
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !paused {
		w.lastActivity = machineTime()
	}
	w.paused = paused
}

// check runs when the timer fires. If the turn exceeds a limit, check cancels the turn.
// Otherwise, it sets the timer again.
func (w *Watchdog) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		return
	}
	now := machineTime()
	left, reason := w.remaining(now)
	if left > 0 {
		// The timer must fire at least once within each period of Idle: once the first activity
		// has been recorded, the limit is Idle and no longer FirstEvent, and RecordActivity does
		// not reset the timer.
		w.timer.Reset(min(left, w.limits.Idle))
		return
	}
	w.timer = nil
	w.cancel(backend.Failed(reason, nil))
}

// remaining returns the time until the turn exceeds the next limit, and the reason of the
// failure for that limit. The time is 0 or less if the turn has exceeded the limit. The
// caller holds w.mu.
func (w *Watchdog) remaining(now time.Time) (left time.Duration, reason string) {
	left = w.limits.Turn - now.Sub(w.start)
	reason = "The agent did not finish within " + w.limits.Turn.String()
	switch {
	case w.paused:
	case w.lastActivity.IsZero():
		if first := w.limits.FirstEvent - now.Sub(w.start); first < left {
			return first, "The agent did not answer within " + w.limits.FirstEvent.String()
		}
	default:
		if silence := w.limits.Idle - now.Sub(w.lastActivity); silence < left {
			return silence, "The agent was silent for " + w.limits.Idle.String()
		}
	}
	return left, reason
}

func (w *Watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}
