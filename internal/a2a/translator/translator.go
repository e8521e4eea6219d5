// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package translator serves remote agents to the agent's container through the gateway.
// It serves every version of the protocol, even if the remote agent supports only one of
// them. It has its own bindings, engine and backend, and the backend calls the remote
// agents.
//
// A link is the combination of a remote agent and a credential, and of the user for whom it is called if the agent needs a token of its users.
// The Authorization header of a caller is sent to the origin of its agent only. It is part of no task and no log,
// and it is dropped with the link. The owner of a link's tasks depends on the credential,
// so callers see only the tasks of their own credential. Remote agents receive no
// information about the sidecar.
//
// A Translator allocates nothing before its first use.
package translator

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"sync"
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
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/memoryshare"
)

// Limits of all remote agents together. One agent has at most half of the links, the requests and the turns, and three quarters of the
// memory for cards: an agent that does not answer must not stop calls of others.
const (
	// maxLinks is the maximum number of links. A link that was not used for idleAfter is closed.
	// Each user for whom an agent is called with a token of the user has a link.
	maxLinks  = 128
	idleAfter = 5 * time.Minute
	// maxRequests is the maximum number of open requests, including streams.
	maxRequests = 256
	// maxTurns is the maximum number of running turns, and maxQueued the maximum number of
	// messages that wait for a turn. queueTimeout is how long a message waits.
	maxTurns     = 128
	maxQueued    = 64
	queueTimeout = 5 * time.Second
	// maxTasks is the maximum number of tasks in memory.
	maxTasks = 1000
	// maxDeduplicated is the maximum number of messages that deduplication remembers.
	maxDeduplicated = 512
)

// keepAlive is the interval at which a comment is sent in a stream without events.
const keepAlive = 10 * time.Second

// Options configure a Translator. All fields but Policy, Protected, Proxy, Roots, Certificate, PresentsTo and
// Unrecognized are required.
type Options struct {
	// Policy lists the allowed addresses of remote agents. Nil allows no address.
	Policy *egress.Policy
	// Protected are the targets that no policy allows. Nil protects none.
	Protected *egress.Protected
	// Proxy returns the proxy for public https servers, nil for none. If Proxy is nil, there is none.
	Proxy func() *egress.Proxy
	// Roots returns the trusted certificate authorities. If Roots or its result is nil, the
	// authorities of the system are trusted.
	Roots func() *x509.CertPool
	// Certificate is the certificate of the sidecar itself for the hosts of PresentsTo, if they ask for one. The certificate in the
	// credential of an agent has precedence. If Certificate is nil, there is none.
	Certificate func(ctx context.Context) (*tls.Certificate, error)
	PresentsTo  func(host string) bool
	// Limits bound requests and responses.
	Limits *httpcall.Limits
	// Memory has the budgets for the cards, tasks and turns of remote agents. Events is the budget
	// of the events that are being read.
	Memory *memoryshare.Shares
	Events *limit.Budget
	// Working is called at the start of each request.
	Working func()
	// Unrecognized is called for each turn that failed because the sidecar could not read
	// the response of the remote agent. It may be nil.
	Unrecognized func()
	Log          *slog.Logger
	Now          func() time.Time
}

// Translator implements gateway.Remotes.
type Translator struct {
	options Options
	// closing waits for the links that are being closed.
	closing sync.WaitGroup

	mu sync.Mutex
	// open is the number of open requests, and openTo that of each agent.
	open   int
	openTo map[string]int
	policy *egress.Policy
	// core is nil until the first use. links are the open links.
	core  *core
	links map[address]*link
	// cards is the total size of the cards of the open links, in bytes.
	cards int
	// sweeper closes idle links. It is nil while there are no links.
	sweeper  *time.Timer
	draining bool
}

var _ gateway.Remotes = (*Translator)(nil)

// core contains the parts that all links share.
type core struct {
	guard  *egress.Guard
	engine *engine.Engine
	// secret is the key of the hashes of credentials in the owners of tasks.
	secret []byte
}

// address identifies a link.
type address struct {
	name, url, credential string
	// user is the user for whom the agent is called with a token of the user, "" for none.
	user string
}

// link is the combination of a remote agent, a credential and a user.
type link struct {
	address
	agent *gateway.Remote
	owner a2a.Owner
	card  *card.Card
	// transport sends the requests of backend.
	transport *transport
	backend   *upstream.Backend
	bindings  bindings

	// uses is the number of requests and turns that use the link. idleSince is when the last
	// use ended. Translator.mu guards both, and dropped.
	uses      int
	idleSince time.Time
	// dropped is true if the link is no longer in Translator.links. The link is closed when
	// its last use ends.
	dropped bool
}

// bindings serve the requests for one link.
type bindings struct {
	rpc  *jsonrpc.Handler
	rest *rest.Handler
}

// New returns a Translator.
func New(o Options) *Translator {
	return &Translator{options: o, policy: o.Policy, openTo: map[string]int{}}
}

// Swap replaces the policy. It applies to the next connection of each link.
func (t *Translator) Swap(p *egress.Policy) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.swap(p)
}

// Reconnect lets later requests use new connections. The former ones close when their requests have ended.
func (t *Translator) Reconnect() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.swap(t.policy)
}

// swap replaces the policy, and with it the connections. t.mu must be held.
func (t *Translator) swap(p *egress.Policy) {
	t.policy = p
	if t.core != nil {
		t.core.guard.Swap(p)
	}
	for _, l := range t.links {
		l.transport.drop()
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

// use increments the number of uses of a link.
func (t *Translator) use(l *link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l.uses++
}

// release decrements the number of uses of a link. The last release of a dropped link
// closes it.
func (t *Translator) release(l *link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l.idleSince = t.options.Now()
	l.uses--
	if l.uses == 0 && l.dropped {
		t.closing.Go(l.close)
	}
}

// close closes the connections of a link that is not used.
func (l *link) close() {
	l.backend.Close()
	l.transport.drop()
}

// makeRoom drops the links that were idle for longest (LRU) until there is room for one
// more link of an agent with a card of the given size in bytes. An agent has at most half of the links and three quarters of the bytes of
// cards, but always one link. It returns false if there is no room because all links are in use. t.mu must be held.
func (t *Translator) makeRoom(agent string, card int) bool {
	for {
		isFull, of := t.isFull(agent, card)
		if !isFull {
			return true
		}
		var oldest *link
		for _, l := range t.links {
			if l.uses == 0 && (of == "" || l.name == of) && (oldest == nil || l.idleSince.Before(oldest.idleSince)) {
				oldest = l
			}
		}
		if oldest == nil {
			return false
		}
		t.drop(oldest)
	}
}

// isFull reports whether there is no room for one more link of an agent. A link of the agent named of must then be dropped; "" for a
// link of any agent. t.mu must be held.
func (t *Translator) isFull(agent string, card int) (isFull bool, of string) {
	links := 0
	cards := 0
	for _, l := range t.links {
		if l.name == agent {
			links++
			cards += len(l.agent.Card)
		}
	}
	memory := int(t.options.Memory.Cards)
	if links > 0 && (links >= maxLinks/2 || cards+card > memory/4*3) {
		return true, agent
	}
	return len(t.links) >= maxLinks || t.cards+card > memory && len(t.links) > 0, ""
}

// drop removes a link from the open links, and closes it when it is no longer in use.
// t.mu must be held.
func (t *Translator) drop(l *link) {
	delete(t.links, l.address)
	t.cards -= len(l.agent.Card)
	l.dropped = true
	if l.uses == 0 {
		t.closing.Go(l.close)
	}
	if len(t.links) == 0 && t.sweeper != nil {
		t.sweeper.Stop()
		t.sweeper = nil
	}
}

// sweep drops the links that were idle for idleAfter, and schedules the next sweep.
func (t *Translator) sweep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.options.Now()
	next := idleAfter
	for _, l := range t.links {
		switch idle := now.Sub(l.idleSince); {
		case l.uses > 0:
		case idle >= idleAfter:
			t.drop(l)
		default:
			next = min(next, idleAfter-idle)
		}
	}
	if t.sweeper != nil {
		t.sweeper.Reset(next)
	}
}
