// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stream is what all protocols of an agent's container have in common:
// one call a turn, whose answer arrives piece by piece. It bounds how long an
// agent may take and how much it may say, sends again what was not received,
// and cuts an answer into lines and events.
//
// It knows no protocol: what is sent and what an event means is the business of
// the packages beside it. It follows no redirect and uses no proxy. Of an answer
// that is not understood, a client sees the excerpt that backend.Unrecognized
// makes, and nothing else.
package stream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/http1"
)

// Limits say how long and how much an agent may talk. Zero means the default.
type Limits struct {
	// Connect bounds the time until the agent accepts a connection, 5 s by default.
	Connect time.Duration
	// FirstEvent bounds the wait for the first byte of an answer, 2 min by default.
	FirstEvent time.Duration
	// Idle bounds the silence in an answer, 5 min by default. It does not run
	// while the agent waits for its client.
	Idle time.Duration
	// Turn bounds the whole turn, 1 h by default.
	Turn time.Duration
	// MaxEvent bounds one event, one JSON answer and one file, 2.5 MiB by
	// default: in base64 that stays below the 4 MiB that clients read.
	MaxEvent int
	// MaxAnswer bounds all that is said in a turn, 32 MiB by default.
	MaxAnswer int64
}

func (l *Limits) setDefaults() {
	setDefault(&l.Connect, 5*time.Second)
	setDefault(&l.FirstEvent, 2*time.Minute)
	setDefault(&l.Idle, 5*time.Minute)
	setDefault(&l.Turn, time.Hour)
	setDefault(&l.MaxEvent, 2560<<10)
	setDefault(&l.MaxAnswer, 32<<20)
}

func setDefault[T int | int64 | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}

// The pool of connections. Servers commonly close an idle connection after 2 s
// or more: we close it first, so that no request runs into its end.
const (
	maxIdleConnections = 64
	idleConnection     = time.Second
	maxResponseHeader  = 64 << 10
)

// Client calls one agent.
type Client struct {
	limits Limits
	now    func() time.Time
	// direct calls what is reached in the clear, nil for nothing, and transport
	// all else.
	direct    *http1.Client
	transport http.RoundTripper
}

// Over returns a client of an agent that is not beside the sidecar: all calls go
// by a transport, whose connections are not the client's to close. It may return
// a *backend.TurnError to say why it did not call.
func NewWithTransport(transport http.RoundTripper, limits Limits, now func() time.Time) *Client {
	limits.setDefaults()
	return &Client{limits: limits, now: clock(now), transport: transport}
}

func clock(now func() time.Time) func() time.Time {
	if now == nil {
		now = time.Now //nolint:forbidigo // the default of an injected clock
	}
	return now
}

// New returns a client. Nil for now is the clock.
func New(limits Limits, now func() time.Time) *Client {
	limits.setDefaults()
	now = clock(now)
	dialer := &net.Dialer{Timeout: limits.Connect}
	return &Client{
		limits: limits,
		now:    now,
		direct: http1.New(http1.Options{
			Connect: limits.Connect, MaxIdle: maxIdleConnections, IdleTimeout: idleConnection,
			MaxHeader: maxResponseHeader, Now: now,
		}),
		// Without a Proxy: the agent is beside us, whatever the environment says.
		transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    limits.Connect,
			MaxIdleConns:           maxIdleConnections,
			MaxIdleConnsPerHost:    maxIdleConnections,
			IdleConnTimeout:        idleConnection,
			MaxResponseHeaderBytes: maxResponseHeader,
			DisableCompression:     true,
		},
	}
}

// Limits returns the limits, with the defaults filled in.
func (c *Client) Limits() *Limits { return &c.limits }

// Close releases the idle connections.
func (c *Client) Close() {
	if c.direct == nil {
		return
	}
	c.direct.CloseIdleConnections()
	if own, ok := c.transport.(*http.Transport); ok {
		own.CloseIdleConnections()
	}
}

// Turn calls run with a context that ends when the turn takes too long. It
// returns what run returns or, when the time was up, the failure that says so.
func (c *Client) Turn(ctx context.Context, run func(context.Context, *Watchdog) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := newWatchdog(&c.limits, cancel)
	defer w.stop()
	err := run(ctx, w)
	if failure, ok := errors.AsType[*backend.TurnError](context.Cause(ctx)); ok {
		// The time was up; what broke because of that explains nothing.
		return failure
	}
	return err
}

// ParseURL reads where an agent listens.
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
