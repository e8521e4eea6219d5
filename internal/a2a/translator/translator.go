// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package translator serves remote agents to the agent's container through the gateway,
// in every version of the protocol, whichever version the remote agent speaks. It has
// bindings, an engine and a backend of its own, which calls the remote agents.
//
// A link is a remote agent as one credential reaches it. The Authorization of a caller
// is sent to the origin of that agent and nowhere else; it is part of no task and no log,
// and it is dropped with the link. The owner of the tasks of a link depends on the
// credential, so callers see the tasks of their own credential only. A remote agent learns
// nothing about the sidecar.
//
// A Translator allocates nothing before its first use.
package translator

import (
	"crypto/x509"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/upstream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/jsonrpc"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/rest"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway"
)

// Bounds of all remote agents together.
const (
	// maxLinks bounds the links, and maxCards the bytes of their cards. A link that is
	// not used for idleAfter is closed.
	maxLinks  = 64
	maxCards  = 8 << 20
	idleAfter = 5 * time.Minute
	// maxRequests bounds the concurrent requests, including streams.
	maxRequests = 256
	// maxTurns bounds the running turns, maxQueued the messages that wait for a turn, and
	// queueTimeout how long each waits.
	maxTurns     = 128
	maxQueued    = 64
	queueTimeout = 5 * time.Second
	// maxTasks and maxBytes bound the tasks.
	maxTasks = 1000
	maxBytes = 32 << 20
	// maxDeduplicated bounds the messages that deduplication remembers.
	maxDeduplicated = 512
)

// keepAlive is the time between two comments on a silent stream.
const keepAlive = 15 * time.Second

// Options configure a Translator. All fields but Policy, Roots and Unrecognized are
// required.
type Options struct {
	// Policy lists the allowed addresses of remote agents. Nil allows none.
	Policy *egress.Policy
	// Roots returns the trusted certificate authorities. If it or its result is nil, those
	// of the system are trusted.
	Roots func() *x509.CertPool
	// Limits bound requests and responses.
	Limits *httpcall.Limits
	// Working is called for each request.
	Working func()
	// Unrecognized is called for each turn that failed because the sidecar could not read
	// what the remote agent sent. Nil calls nothing.
	Unrecognized func()
	Log          *slog.Logger
	Now          func() time.Time
}

// Translator implements gateway.Remotes.
type Translator struct {
	options  Options
	requests atomic.Int64
	// closing counts the links that are being closed.
	closing sync.WaitGroup

	mu     sync.Mutex
	policy *egress.Policy
	// core is nil until the first use. links are the open links.
	core  *core
	links map[address]*link
	// cards is the size of the cards of the links.
	cards int
	// sweeper closes idle links; nil while there are no links.
	sweeper  *time.Timer
	draining bool
}

var _ gateway.Remotes = (*Translator)(nil)

// core has the parts that all links share.
type core struct {
	guard  *egress.Guard
	engine *engine.Engine
	// secret keys the hashes of credentials in owners.
	secret []byte
}

// address identifies a link.
type address struct {
	name, url, credential string
}

// link is a remote agent as one credential reaches it.
type link struct {
	address
	agent    *gateway.Remote
	owner    a2a.Owner
	card     *card.Card
	backend  *upstream.Backend
	bindings bindings

	// uses counts the requests and turns that use the link, and idleSince is when the
	// last one ended. Translator.mu guards both, and dropped.
	uses      int
	idleSince time.Time
	// dropped is true if the link is not in Translator.links any more. It is closed when
	// its last use ends.
	dropped bool
}

// bindings serve the requests for one link.
type bindings struct {
	rpc  *jsonrpc.Handler
	rest *rest.Handler
}

// New returns a Translator.
func New(o Options) *Translator { return &Translator{options: o, policy: o.Policy} }

// Swap replaces the policy. It applies to the next connection of each link.
func (t *Translator) Swap(p *egress.Policy) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.policy = p
	if t.core != nil {
		t.core.guard.Swap(p)
	}
}

// Running returns the number of running turns.
func (t *Translator) Running() int {
	t.mu.Lock()
	c := t.core
	t.mu.Unlock()
	if c == nil {
		return 0
	}
	return c.engine.Running()
}
