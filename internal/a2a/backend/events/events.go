// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events is the default protocol of an agent's container: one POST a
// turn, answered by text, by JSON, by a file, or by a stream of A2A events.
//
// It is the one place that knows how an agent may answer; docs/agents.md shows
// it to agent authors. It may import the codecs, since what goes to the agent
// and comes from it is A2A's own JSON. It keeps nothing between turns, follows
// no redirect, asks no proxy, and lets no text of an answer it could not
// understand reach a client.
package events

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// Options say where the agent is, and how long and how much it may talk. Zero
// means the default.
type Options struct {
	// URL is where turns are posted. It is required.
	URL string
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
	// Internal is told the kind of each event that is not for clients, such as
	// internal:llm-call. Nil for nobody.
	Internal func(kind string)
	// Now is the clock.
	Now func() time.Time
}

func (o *Options) setDefaults() {
	setDefault(&o.Connect, 5*time.Second)
	setDefault(&o.FirstEvent, 2*time.Minute)
	setDefault(&o.Idle, 5*time.Minute)
	setDefault(&o.Turn, time.Hour)
	setDefault(&o.MaxEvent, 2560<<10)
	setDefault(&o.MaxAnswer, 32<<20)
	if o.Internal == nil {
		o.Internal = func(string) {}
	}
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the default of an injected clock
	}
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

// Backend runs turns with an agent.
type Backend struct {
	options   Options
	url       *url.URL
	transport *http.Transport
}

var _ backend.Backend = (*Backend)(nil)

// New returns a backend. It does not call the agent.
func New(options Options) (*Backend, error) {
	options.setDefaults()
	u, err := url.Parse(options.URL)
	if err != nil {
		return nil, fmt.Errorf("parse agent URL: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("agent URL must start with http:// or https:// and name a host")
	}
	if u.Path == "" {
		u.Path = "/"
	}
	dialer := &net.Dialer{Timeout: options.Connect}
	return &Backend{
		options: options,
		url:     u,
		// Without a Proxy: the agent is beside us, whatever the environment says.
		transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    options.Connect,
			MaxIdleConns:           maxIdleConnections,
			MaxIdleConnsPerHost:    maxIdleConnections,
			IdleConnTimeout:        idleConnection,
			MaxResponseHeaderBytes: maxResponseHeader,
			DisableCompression:     true,
		},
	}, nil
}

// Close releases the idle connections.
func (b *Backend) Close() { b.transport.CloseIdleConnections() }

// Run implements backend.Backend.
func (b *Backend) Run(ctx context.Context, t *backend.Turn, emit backend.Emit) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := watch(&b.options, cancel)
	defer w.stop()
	err := b.run(ctx, t, emit, w)
	if failure, ok := errors.AsType[*backend.TurnError](context.Cause(ctx)); ok {
		// The time was up; what broke because of that explains nothing.
		return failure
	}
	return err
}

func (b *Backend) run(ctx context.Context, t *backend.Turn, emit backend.Emit, w *watchdog) error {
	resp, err := b.call(ctx, t)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if t.Input && resp.StatusCode == http.StatusAccepted {
		discard(resp.Body)
		return backend.ErrTaken
	}
	a := &answer{options: &b.options, turn: t, resp: resp, emit: emit, watchdog: w}
	err = a.read()
	if errors.Is(err, backend.ErrEnded) {
		a.farewell()
	}
	return err
}
