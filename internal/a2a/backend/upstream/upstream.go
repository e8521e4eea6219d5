// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upstream is the backend for an agent that speaks A2A itself, in any version:
// each turn becomes a message to the agent, and the events of the agent's task become
// events of the sidecar's task.
//
// The agent chooses its own ids. The backend stores the agent's ids of the task and of the
// context with the sidecar's task, as its note, so that a later turn and a cancel find them
// on every replica. A message to the agent contains no task or context id of the sidecar, and
// a client never sees an id of the agent, so that no caller can name the task of another
// caller. Only the headers of requests to an agent in the pod have the sidecar's ids.
//
// The agent's card determines the version and the binding, unless they are configured. The
// backend uses only the paths and the queries of the URLs in the card, and connects only to the
// configured host.
//
// A remote agent receives the message and the credential of the caller, but no principal,
// id or trace of the sidecar.
package upstream

import (
	"context"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// Options configures a backend. A zero field has its default.
type Options struct {
	// URL is the URL of the agent. It is required. If the URL has a path, this is the path of
	// the endpoint; otherwise the card determines the path.
	URL string
	// Version is the version of A2A that the agent uses, whatever its card says. By default
	// the backend chooses the best version of the card. With a Version and without a
	// CardPath, the backend does not read the card, and calls the agent over JSON-RPC.
	Version version.Version
	// CardPath is the path of the agent's card. By default the backend tries the
	// well-known paths.
	CardPath string
	// Query is added to the URL of every request, without its question mark.
	Query string
	// Remote is set for a remote agent. The backend then uses Remote.Card and ignores
	// CardPath.
	Remote *Remote
	// Sessions is told of each turn, and lets the agent store its sessions meanwhile; nil for none. Requests to the agent
	// then have the name of the caller in the header X-User-Id, too.
	Sessions Sessions
	// Limits bounds a turn. MaxEvent is 4 MiB by default.
	Limits stream.Limits
}

// Sessions is where an agent stores its sessions during its turns.
type Sessions interface {
	// Begin is called when a turn begins, and end when it ends. task and contextID are the agent's ids of the task, "" if it
	// has none yet, and of the context. caller is the value of the header X-User-Id.
	Begin(t *backend.Turn, task, contextID, caller string) (end func())
}

// maxEvent is the default of Limits.MaxEvent, in bytes. Many clients have the same limit.
const maxEvent = 4 << 20

// maxCanceling is the maximum number of concurrent requests that cancel tasks of the agent.
// Above it, cancel sends no request.
const maxCanceling = 64

// Backend runs turns with an agent that speaks A2A.
type Backend struct {
	agent *agent
	// canceling is a semaphore of the requests that cancel a task of the agent.
	canceling chan struct{}
	closing   sync.Once
}

var (
	_ backend.Backend  = (*Backend)(nil)
	_ backend.Canceler = (*Backend)(nil)
)

// New returns a backend. It does not call the agent. If the card in Options.Remote
// offers no interface that the backend supports, the error is a *backend.TurnError.
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
	a := &agent{
		url: u, remote: options.Remote, pinned: options.Version, cardPath: options.CardPath,
		reading: make(chan struct{}, 1), contextNames: newContextNames(), sessions: options.Sessions,
	}
	if a.remote == nil {
		a.client = stream.New(nil, options.Limits)
	} else {
		a.client = stream.New(a.remote.Transport, options.Limits)
		if _, err := a.chooseEndpoint(a.remote.Card); err != nil {
			return nil, err
		}
	}
	return &Backend{agent: a, canceling: make(chan struct{}, maxCanceling)}, nil
}

// Close waits for the running requests that cancel tasks, prevents further ones, and closes
// the idle connections.
func (b *Backend) Close() {
	b.closing.Do(func() {
		for range maxCanceling {
			b.canceling <- struct{}{}
		}
	})
	b.agent.client.Close()
}

// Run implements backend.Backend. If ctx ends with the cause backend.ErrCanceled before the
// id of the agent's task is known, Run waits for the id for up to cancelTimeout, so that it
// can cancel the agent's task.
func (b *Backend) Run(ctx context.Context, t *backend.Turn, emit backend.Emit) error {
	r := &turnClient{relay: newRelay(t, emit, b.agent.contextNames), agent: b.agent}
	if s := b.agent.sessions; s != nil {
		defer s.Begin(t, r.initialIDs.task, r.initialIDs.context, stream.Caller(t))()
	}
	call, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(ctx, func() { r.stop(context.Cause(ctx), stop) })()
	err := b.agent.client.Turn(call, func(ctx context.Context, w *stream.Watchdog) error {
		r.watchdog = w
		return r.tryEndpoints(ctx)
	})
	if r.mustCancelTask(context.Cause(ctx), err) {
		b.cancel(r.endpoint, t, r.ids) // ctx has ended, so the call does not use it
	}
	return err
}

// Canceled implements backend.Canceler. It cancels the agent's task, which would otherwise
// wait for input for ever.
func (b *Backend) Canceled(_ context.Context, t *a2a.Task) {
	if l := parseNote(t.Note); l.task != "" {
		b.cancel(nil, &backend.Turn{TaskID: t.ID, ContextID: t.ContextID}, l) // it outlives the request
	}
}

// cancel sends a request that cancels the agent's task. It does not wait for the response.
// If p is nil, cancel determines the endpoint first. It does nothing if maxCanceling
// requests are in progress.
func (b *Backend) cancel(p *endpoint, t *backend.Turn, l agentIDs) {
	select {
	case b.canceling <- struct{}{}:
	default:
		return
	}
	end := func() {}
	if s := b.agent.sessions; s != nil && t.Owner != "" {
		end = s.Begin(t, l.task, l.context, stream.Caller(t)) // the agent reads its task to cancel it
	}
	go func() {
		defer func() { <-b.canceling }()
		defer end()
		ctx, stop := context.WithTimeout(context.Background(), cancelTimeout)
		defer stop()
		if p == nil {
			var err error
			if p, _, err = b.agent.endpoint(ctx, t); err != nil {
				return
			}
		}
		calls := client.New(client.Options{
			HTTP: b.agent.client, Endpoint: p.Endpoint, Header: b.agent.header(t), Extensions: t.Extensions, Reserve: stream.AtMost(maxCanceled),
		})
		_, _ = calls.Cancel(ctx, &a2a.CancelRequest{TaskID: l.task, Tenant: t.Tenant}) // the answer changes nothing
	}()
}

// Check determines the endpoint, from the agent's card, if no endpoint is in use. It returns
// nil if the agent offers an interface that the backend supports. Otherwise, it returns the
// error with which a turn would fail: a *backend.TurnError or the cause of ctx.
func (b *Backend) Check(ctx context.Context) error {
	_, _, err := b.agent.endpoint(ctx, &backend.Turn{})
	return err
}
