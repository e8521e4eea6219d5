// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upstream is the protocol of an agent's container that speaks A2A
// itself, in any version: each turn becomes a message to it, and what it says
// of its task becomes what the sidecar says of ours.
//
// The agent has its own ids. The task and the context that it knows are kept
// with our task, as its note, so that a later turn and a cancel find them
// wherever they run. An id of ours is never shown to the agent, nor one of the
// agent's to a client: what one caller named, no other can reach.
//
// What the agent speaks is told by its card, unless it is configured. Of the card's addresses only the
// paths count: the agent is where it was configured to be, whatever it says.
//
// An agent that runs elsewhere is told nothing but the message and what its
// caller shows to it: no principal, no id and no trace of ours.
package upstream

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// Options say where the agent is. Zero means the default.
type Options struct {
	// URL is where the agent listens. With a path it is the address of the
	// endpoint, and without one the path is that of the card. It is required.
	URL string
	// Version is the version of A2A that the agent speaks, whatever its card says;
	// the zero value is the best one that the card offers. Unless there is a
	// CardPath, the card is not read then, and the agent is called over JSON-RPC.
	Version version.Version
	// CardPath is the path of the agent's card; "" looks for it at the well-known
	// places.
	CardPath string
	// Query is added to the URL of every request, without its question mark.
	Query string
	// Elsewhere is for an agent that does not run beside the sidecar. The other
	// options but the URL and the limits do not apply to it.
	Remote *Remote
	// Limits bound a turn; an event may have 4 MiB by default.
	Limits stream.Limits
	// Now is the clock.
	Now func() time.Time
}

// Elsewhere is how an agent is reached that belongs to others.
type Remote struct {
	// Transport makes the calls. It follows no redirect.
	Transport http.RoundTripper
	// Card is what the agent was found to serve, for it may not be open to all.
	// Interfaces of other origins than the URL's do not count.
	Card []byte
	// Authorization is shown to the agent, and to nobody else; "" is nothing.
	Authorization string
}

// maxEvent is the default bound on an event: what clients read.
const maxEvent = 4 << 20

// Canceling an agent's task is a courtesy: it gets this long, and there are
// this many at once.
const (
	cancelTimeout = 5 * time.Second
	maxCanceling  = 64
)

// Backend runs turns with an agent that speaks A2A.
type Backend struct {
	client *stream.Client
	url    *url.URL
	// pinned is the version that was configured, and cardPath the place of the card.
	pinned   version.Version
	cardPath string
	// elsewhere is nil for an agent beside the sidecar.
	remote *Remote
	// known is what the card said; nil until it was read.
	current atomic.Pointer[endpoint]
	// reading is held by the one that reads the card.
	reading chan struct{}
	// contexts are those that the agent named otherwise than we did.
	contextNames *contextNames
	// canceling is held by those that cancel a task of the agent.
	canceling chan struct{}
	closing   sync.Once
}

var (
	_ backend.Backend  = (*Backend)(nil)
	_ backend.Canceler = (*Backend)(nil)
)

// New returns a backend. It does not call the agent. The error of a card that
// offers nothing that can be spoken is a *backend.TurnError.
func New(options Options) (*Backend, error) {
	u, err := stream.ParseURL(options.URL)
	if err != nil {
		return nil, err
	}
	if options.Limits.MaxEvent <= 0 {
		options.Limits.MaxEvent = maxEvent
	}
	if options.Query != "" {
		u.RawQuery = options.Query
	}
	b := &Backend{
		url: u, remote: options.Remote, pinned: options.Version, cardPath: options.CardPath,
		reading: make(chan struct{}, 1), contextNames: newContextNames(), canceling: make(chan struct{}, maxCanceling),
	}
	if b.remote == nil {
		b.client = stream.New(options.Limits, options.Now)
		return b, nil
	}
	b.client = stream.NewWithTransport(b.remote.Transport, options.Limits, options.Now)
	if _, err := b.chooseEndpoint(b.remote.Card); err != nil {
		return nil, err
	}
	return b, nil
}

// Close waits for the tasks that are being canceled, cancels no more, and
// releases the idle connections.
func (b *Backend) Close() {
	b.closing.Do(func() {
		for range maxCanceling {
			b.canceling <- struct{}{}
		}
	})
	b.client.Close()
}

// Run implements backend.Backend.
func (b *Backend) Run(ctx context.Context, t *backend.Turn, emit backend.Emit) error {
	r := newRun(b, t, emit)
	call, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(ctx, func() { r.stop(context.Cause(ctx), stop) })()
	err := b.client.Turn(call, func(ctx context.Context, w *stream.Watchdog) error {
		r.watchdog = w
		return r.tryEndpoints(ctx)
	})
	if r.mustCancelTask(context.Cause(ctx), err) {
		b.cancel(r.endpoint, t, r.ids) //nolint:contextcheck // ctx has ended
	}
	return err
}

// Canceled implements backend.Canceler: the agent's task waits for its client,
// which will not come back.
func (b *Backend) Canceled(_ context.Context, t *a2a.Task) {
	if l := parseNote(t.Note); l.task != "" {
		b.cancel(nil, &backend.Turn{TaskID: t.ID, ContextID: t.ContextID}, l) //nolint:contextcheck // it outlives the request
	}
}

// cancel tells the agent that its task is not wanted any more, and waits for
// nothing. Without a peer it is looked up.
func (b *Backend) cancel(p *endpoint, t *backend.Turn, l agentIDs) {
	select {
	case b.canceling <- struct{}{}:
	default:
		return
	}
	go func() {
		defer func() { <-b.canceling }()
		ctx, stop := context.WithTimeout(context.Background(), cancelTimeout)
		defer stop()
		if p == nil {
			var err error
			if p, _, err = b.endpoint(ctx, t); err != nil {
				return
			}
		}
		resp, err := b.client.Do(ctx, b.request(p, opCancel, t, &callParams{taskID: l.task, tenant: p.tenantOf(t)}))
		if err != nil {
			return
		}
		_ = resp.Body.Close()
	}()
}

// peer returns what the card says, and whether it was read just now.
func (b *Backend) endpoint(ctx context.Context, t *backend.Turn) (p *endpoint, fresh bool, err error) {
	if p := b.current.Load(); p != nil {
		return p, false, nil
	}
	select {
	case b.reading <- struct{}{}:
		defer func() { <-b.reading }()
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	if p := b.current.Load(); p != nil {
		return p, true, nil
	}
	p, err = b.readCard(ctx, t)
	if err != nil {
		return nil, true, err
	}
	b.current.Store(p)
	return p, true, nil
}

// Check reads the agent's card unless it is known. It returns nil when the agent
// offers an interface that turns can use, and else the *backend.TurnError that a
// turn would end with.
func (b *Backend) Check(ctx context.Context) error {
	_, _, err := b.endpoint(ctx, &backend.Turn{})
	return err
}

// forget has the card read again, unless that has happened.
func (b *Backend) forgetEndpoint(p *endpoint) { b.current.CompareAndSwap(p, nil) }

// isFailure reports whether an error is the agent's fault, which may mean that
// there is another agent by now.
func isAgentFailure(err error) bool {
	failure, ok := errors.AsType[*backend.TurnError](err)
	return ok && failure.State == a2a.StateFailed
}
