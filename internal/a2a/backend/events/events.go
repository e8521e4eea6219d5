// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events is the default protocol of an agent's container: one POST a
// turn, answered by text, by JSON, by a file, or by a stream of A2A events.
//
// It is the one place that knows how an agent may answer; docs/agents.md shows
// it to agent authors. It may import the codecs, since what goes to the agent
// and comes from it is A2A's own JSON. It keeps nothing between turns, follows
// no redirect and uses no proxy. An event that it does not understand fails the
// turn (backend.Unrecognized); it skips blank lines and [DONE] only, and passes
// events of a kind internal:* to metrics.
package events

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// Options say where the agent is. Zero means the default.
type Options struct {
	// URL is where turns are posted. It is required.
	URL    string
	Limits stream.Limits
	// Internal is told the kind of each event that is not for clients, such as
	// internal:llm-call. Nil for nobody.
	Internal func(kind string)
	// Now is the clock.
	Now func() time.Time
}

// Backend runs turns with an agent.
type Backend struct {
	client   *stream.Client
	url      *url.URL
	internal func(kind string)
}

var _ backend.Backend = (*Backend)(nil)

// New returns a backend. It does not call the agent.
func New(options Options) (*Backend, error) {
	u, err := stream.ParseURL(options.URL)
	if err != nil {
		return nil, err
	}
	if u.Path == "" {
		u.Path = "/"
	}
	if options.Internal == nil {
		options.Internal = func(string) {}
	}
	return &Backend{client: stream.New(options.Limits, options.Now), url: u, internal: options.Internal}, nil
}

// Close releases the idle connections.
func (b *Backend) Close() { b.client.Close() }

// Run implements backend.Backend.
func (b *Backend) Run(ctx context.Context, t *backend.Turn, emit backend.Emit) error {
	return b.client.Turn(ctx, func(ctx context.Context, w *stream.Watchdog) error {
		return b.run(ctx, t, emit, w)
	})
}

func (b *Backend) run(ctx context.Context, t *backend.Turn, emit backend.Emit, w *stream.Watchdog) error {
	resp, err := b.client.Do(ctx, b.request(t))
	if err != nil {
		return err
	}
	if !stream.IsSuccess(resp.StatusCode) {
		stream.CloseResponse(resp)
		return stream.StatusError(resp.StatusCode)
	}
	if t.Input && resp.StatusCode == http.StatusAccepted {
		stream.CloseResponse(resp)
		return backend.ErrInputAccepted
	}
	defer resp.Body.Close()
	a := &response{
		Body: b.client.NewBody(resp, w), limits: b.client.Limits(), internal: b.internal,
		turn: t, disposition: resp.Header.Get("Content-Disposition"), emit: emit, watchdog: w,
	}
	err = a.read()
	if errors.Is(err, backend.ErrTurnEnded) {
		a.DiscardRest()
	}
	return err
}
