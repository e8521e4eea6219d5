// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package translator serves agents that run elsewhere to the agent beside the
// sidecar, in every version of the protocol, whatever one they speak: behind
// the gateway stands an engine of its own, whose backend calls them.
//
// A link is one agent as one credential reaches it. What the caller shows as
// its Authorization goes to the origin of that agent and nowhere else, is part
// of no task and no log, and is gone with the link. The link's owner owns its
// tasks, so what was done with one credential does not exist for another.
// Nothing is shown to the agent of who the sidecar is.
//
// Until the first use there is nothing but the Translator itself.
package translator

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway"
	"github.com/a2a-operator/a2a-operator/internal/a2a/http1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

// keepAlive is that of all streams.
const keepAlive = 15 * time.Second

// What all agents that run elsewhere take together.
const (
	// maxLinks bounds the links, maxCards the cards that they hold, and idleAfter
	// is how long one is kept that nobody uses.
	maxLinks  = 64
	maxCards  = 8 << 20
	idleAfter = 5 * time.Minute
	// maxRequests bounds those that are answered at a time, streams too.
	maxRequests = 256
	// maxTurns bounds the turns that run, maxQueued those that wait, for
	// queueTimeout at most.
	maxTurns     = 128
	maxQueued    = 64
	queueTimeout = 5 * time.Second
	// maxTasks and maxBytes bound the tasks.
	maxTasks = 1000
	maxBytes = 32 << 20
	// maxIdempotent bounds the messages that are known again.
	maxIdempotent = 512
)

// Options are what a Translator works with. All fields but Roots are required.
type Options struct {
	// Policy is where agents may be. Without one there are none.
	Policy *egress.Policy
	// Roots returns whom to trust; nil, and a nil pool, are those of the system.
	Roots func() *x509.CertPool
	// Limits bound requests and answers.
	Limits *httpcall.Limits
	// Working is told of each request.
	Working func()
	// Unrecognized is called for each turn that failed because the remote agent
	// sent something that is not understood. Nil means that nothing is called.
	Unrecognized func()
	Log          *slog.Logger
	Now          func() time.Time
}

// Translator implements gateway.Remotes.
type Translator struct {
	options  Options
	requests atomic.Int64
	// closing waits for the links that were let go.
	closing sync.WaitGroup

	mu     sync.Mutex
	policy *egress.Policy
	// core is nil until the first use, and links are those that are open.
	core  *core
	links map[address]*link
	cards int
	// sweeper closes links that nobody uses; nil while there are none.
	sweeper  *time.Timer
	draining bool
}

var _ gateway.Remotes = (*Translator)(nil)

// core is what all links share.
type core struct {
	guard  *egress.Guard
	engine *engine.Engine
	// secret makes owners that tell nothing of a credential.
	secret []byte
}

// New returns a translator that has done nothing yet.
func New(o Options) *Translator { return &Translator{options: o, policy: o.Policy} }

// Swap replaces the policy.
func (t *Translator) Swap(p *egress.Policy) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.policy = p
	if t.core != nil {
		t.core.guard.Swap(p)
	}
}

// ServeRemote implements gateway.Remotes.
func (t *Translator) ServeRemote(w http.ResponseWriter, r *http.Request, agent *gateway.Remote, base string) {
	t.options.Working()
	defer t.requests.Add(-1)
	if t.requests.Add(1) > maxRequests {
		Deny(w, r, a2a.Busy("Too many requests to agents that run elsewhere are open"))
		return
	}
	credentials := r.Header.Values("Authorization")
	if len(credentials) > 1 {
		Deny(w, r, &a2a.Error{Reason: a2a.ReasonInvalidRequest, Message: "There must be one Authorization header"})
		return
	}
	l, err := t.open(agent, r.Header.Get("Authorization"))
	if err != nil {
		t.options.Log.WarnContext(r.Context(), "refuse request to remote agent", "agent", agent.Namespace+"/"+agent.Name, "error", err)
		Deny(w, r, a2a.ErrorOf(err))
		return
	}
	defer t.release(l)
	l.serve(w, r, base)
}

// start makes what all links share. t.mu is held.
func (t *Translator) start() error {
	if t.core != nil {
		return nil
	}
	c := &core{
		guard:  egress.New(egress.Options{Policy: t.policy, Roots: t.options.Roots, Cleartext: http1.Wrap}),
		secret: make([]byte, 32),
	}
	_, _ = rand.Read(c.secret) // it never fails
	var err error
	c.engine, err = engine.New(engine.Options{
		Store:   memory.New(memory.Options{MaxTasks: maxTasks, MaxBytes: maxBytes, Now: t.options.Now}),
		Backend: linked{t},
		Turns: func() engine.TurnLimits {
			return engine.TurnLimits{Max: maxTurns, MaxPerPrincipal: maxTurns, MaxQueued: maxQueued, QueueTimeout: queueTimeout}
		},
		MaxDeduplicated: maxIdempotent,
		Log:             t.options.Log,
		Now:             t.options.Now,
	})
	if err != nil {
		return fmt.Errorf("start engine for remote agents: %w", err)
	}
	t.core, t.links = c, map[address]*link{}
	return nil
}

// Running is the number of turns that run.
func (t *Translator) Running() int {
	t.mu.Lock()
	c := t.core
	t.mu.Unlock()
	if c == nil {
		return 0
	}
	return c.engine.Running()
}

// Drain refuses new requests, waits for the tasks that run, and ends the
// streams; when ctx ends first, what still runs is failed.
func (t *Translator) Drain(ctx context.Context) error {
	t.mu.Lock()
	t.draining = true
	c := t.core
	t.mu.Unlock()
	if c == nil {
		return nil
	}
	if err := c.engine.Drain(ctx); err != nil {
		return fmt.Errorf("drain tasks of remote agents: %w", err)
	}
	return nil
}

// Close ends all links, after Drain.
func (t *Translator) Close() {
	t.mu.Lock()
	t.draining = true
	for _, l := range t.links {
		t.drop(l)
	}
	c := t.core
	t.mu.Unlock()
	t.closing.Wait()
	if c != nil {
		c.guard.CloseIdleConnections()
	}
}
