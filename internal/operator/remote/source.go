// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package remote reads the cards of remote agents and the discovery documents of issuers on a schedule, and gets the
// credentials of remote agents for the operator and for sidecars.
//
// A reconcile never waits for a remote agent or an issuer: it uses the result of the last read. The package sends requests
// and credentials only to the origin that the Agent names, and client secrets only to the token endpoint that it names,
// through the address guard (package egress). No other package reads Secrets that Agents name. The package writes no object.
package remote

import (
	"context"
	"crypto/tls"
	"net/http"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/kit/fairslots"
	"github.com/a2a-operator/a2a-operator/internal/operator/fairqueue"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

const (
	// workers is the number of concurrent reads of each worker pool.
	workers = 32
	// retryFirst and retryMost are the first and the longest delay between attempts after failed reads
	// (exponential backoff).
	retryFirst = time.Second
	retryMost  = 5 * time.Minute
	// jitter is the largest random addition to a refresh interval, as a fraction of the interval. It spreads
	// the reads of agents that were created at the same time.
	jitter = 0.1
	// defaultInterval is the default of spec.remote.refreshInterval.
	defaultInterval = 5 * time.Minute
	// discoveryInterval is the interval at which the discovery document of an issuer is read.
	discoveryInterval = 10 * time.Minute
	// staleAfter is the time after the due date of the next read within which a read must succeed. Afterwards,
	// the card counts as stale. Within this time, the operator retries failed reads.
	staleAfter = time.Hour
)

// Change is the event that the result of an Agent has changed. It contains the name of the Agent.
type Change = event.TypedGenericEvent[types.NamespacedName]

// Options are the dependencies of a Source.
type Options struct {
	// Agents reads Agents from the cache.
	Agents client.Reader
	// Credentials gets the credentials of remote agents.
	Credentials *Credentials
	// Guard sends the requests. It returns egress.ErrDenied for an address to which the operator
	// must not connect.
	Guard http.RoundTripper
	// Present returns a transport with a client certificate, which refuses the same addresses as Guard.
	Present func(*tls.Certificate) http.RoundTripper
	// CertificateHosts are the hosts that get the client certificate of the calling sidecar.
	CertificateHosts sidecarconfig.CertificateHosts
	// Clock returns the time of reads.
	Clock clock.PassiveClock
}

// Source reads the cards of remote agents and the discovery documents of issuers, and stores the last result of each agent.
//
// It has a normal and a slow worker pool. An agent whose read takes longer than normalTimeout moves to the slow
// pool, and returns to the normal pool after a faster read. Agents that do not respond therefore delay only the
// agents of the slow pool, regardless of their number. A Source is safe for concurrent use.
type Source struct {
	agents       client.Reader
	reader       cardReader
	clock        clock.PassiveClock
	normal, slow *pool
	// failures counts the failed reads of each agent for the backoff.
	failures workqueue.TypedRateLimiter[types.NamespacedName]
	changes  chan Change

	mu      sync.Mutex
	entries map[types.NamespacedName]*entry
}

// pool is a queue of agents whose cards are due, with the timeout of each read. The agents of one
// namespace never use all its workers.
type pool struct {
	queue   workqueue.TypedDelayingInterface[reconcile.Request]
	timeout time.Duration
}

// newParsing returns the slot of cardReader.parsing. All workers may wait for it, also if all of them have Agents of one
// namespace.
func newParsing() *fairslots.Slots[string] {
	return fairslots.New[string](fairslots.Options{Slots: 1, PerTenant: 1, Waiting: 4 * workers})
}

func newPool(timeout time.Duration) *pool {
	return &pool{queue: fairqueue.New(workers)("", nil), timeout: timeout}
}

func (p *pool) add(agent types.NamespacedName, after time.Duration) {
	p.queue.AddAfter(reconcile.Request{NamespacedName: agent}, after)
}

// entry is the state of one agent.
type entry struct {
	document document
	// pool is the pool that reads the agent. If the queue of the other pool still contains the agent's key, that
	// pool skips the key.
	pool *pool
	// result is nil until the first read has ended. It is immutable.
	result *state.Remote
	// succeeded is the time of the last successful read, or the zero time if there was none.
	succeeded time.Time
}

// document is what the operator reads for an Agent: the card of a remote agent, or the discovery document of an issuer. It is zero
// for an Agent that needs neither.
type document struct {
	remote *a2av1alpha1.AgentRemote
	issuer string
}

func documentOf(a *a2av1alpha1.Agent) document {
	return document{remote: a.Spec.Remote, issuer: state.DiscoveredIssuer(a)}
}

func (d document) isZero() bool { return d.remote == nil && d.issuer == "" }

func (d document) interval() time.Duration {
	if d.remote == nil {
		return discoveryInterval
	}
	interval, err := time.ParseDuration(string(d.remote.RefreshInterval))
	if err != nil || interval <= 0 {
		return defaultInterval
	}
	return interval
}

var _ manager.LeaderElectionRunnable = (*Source)(nil)

// New returns a Source that reads nothing until Start is called.
func New(options Options) *Source {
	return &Source{
		agents:   options.Agents,
		reader:   cardReader{credentials: options.Credentials, guard: options.Guard, present: options.Present, certificateHosts: options.CertificateHosts, parsing: newParsing()},
		clock:    options.Clock,
		normal:   newPool(normalTimeout),
		slow:     newPool(slowTimeout),
		failures: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](retryFirst, retryMost),
		changes:  make(chan Change, 1),
		entries:  map[types.NamespacedName]*entry{},
	}
}

// NeedLeaderElection returns true: only the leader reads cards, because only the leader writes them
// into ConfigMaps.
func (s *Source) NeedLeaderElection() bool { return true }

// Changes returns the channel that receives every Agent whose result has changed.
func (s *Source) Changes() <-chan Change { return s.changes }

// LastRead returns the result of the last read of a remote agent's card, or of an issuer's discovery document. If spec.remote or the
// issuer is new or has changed, LastRead schedules a read, and returns nil until this read has ended.
func (s *Source) LastRead(a *a2av1alpha1.Agent) *state.Remote {
	key := client.ObjectKeyFromObject(a)
	wanted := documentOf(a)
	s.mu.Lock()
	defer s.mu.Unlock()
	if current := s.entries[key]; current != nil && reflect.DeepEqual(current.document, wanted) {
		return current.result
	}
	wanted.remote = wanted.remote.DeepCopy()
	s.entries[key] = &entry{document: wanted, pool: s.normal}
	s.failures.Forget(key)
	s.normal.add(key, 0)
	return nil
}

// LastResult returns the result of the last read of an Agent's document, nil for none. It is for an Agent whose spec the
// operator does not apply: the document is read as the spec of the last LastRead says.
func (s *Source) LastResult(key types.NamespacedName) *state.Remote {
	s.mu.Lock()
	defer s.mu.Unlock()
	if current := s.entries[key]; current != nil {
		return current.result
	}
	return nil
}

// AgentDeleted drops the cached credentials of a deleted Agent, and schedules the removal of its entry. Without this call, the
// entry stays until the next read is due, after up to spec.remote.refreshInterval.
func (s *Source) AgentDeleted(key types.NamespacedName) {
	s.reader.credentials.agentDeleted(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if current := s.entries[key]; current != nil {
		// The worker that takes the key from the queue finds no Agent, and removes the entry.
		current.pool.add(key, 0)
	}
}

// Start reads cards until ctx is canceled.
func (s *Source) Start(ctx context.Context) error {
	var all sync.WaitGroup
	for _, p := range []*pool{s.normal, s.slow} {
		for range workers {
			all.Go(func() {
				for s.next(ctx, p) {
				}
			})
		}
	}
	<-ctx.Done()
	s.normal.queue.ShutDown()
	s.slow.queue.ShutDown()
	all.Wait()
	return nil
}

// next takes the next agent from the queue of a pool and reads its card. It returns false after the
// shutdown of the queue.
func (s *Source) next(ctx context.Context, p *pool) bool {
	request, over := p.queue.Get()
	if over {
		return false
	}
	defer p.queue.Done(request)
	key := request.NamespacedName
	current := s.entryIn(p, key)
	if current == nil {
		return true
	}
	a, err := s.wanted(ctx, key)
	switch {
	case err != nil:
		log.FromContext(ctx).Error(err, "could not read Agent", "agent", key)
		p.add(key, s.failures.When(key))
		return true
	case a == nil:
		s.forget(ctx, key)
		return true
	}
	bounded, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	normal, cancelNormal := context.WithTimeout(ctx, normalTimeout)
	defer cancelNormal()
	result, err := s.read(bounded, a, current.document)
	slow := normal.Err() != nil
	if ctx.Err() != nil {
		return true
	}
	if slow && p == s.normal {
		s.schedule(key, current, s.slow, 0)
		return true
	}
	after := s.delay(key, current.document, err)
	if err != nil {
		log.FromContext(ctx).Info("could not read the card of a remote agent, or the discovery document of an issuer", "agent", key, "reason", result.Failure.Reason, "error", err.Error())
	}
	if slow {
		s.schedule(key, current, s.slow, after)
	} else {
		s.schedule(key, current, s.normal, after)
	}
	if s.record(key, current.document, result) {
		select {
		case s.changes <- Change{Object: key}:
		case <-ctx.Done():
		}
	}
	return true
}

// read reads a document. The spec of the Agent may have changed since LastRead, and the operator may not apply the change.
func (s *Source) read(ctx context.Context, a *a2av1alpha1.Agent, d document) (*state.Remote, error) {
	if d.remote == nil {
		return readDiscovery(ctx, s.reader.guard, d.issuer)
	}
	a.Spec.Remote = d.remote
	return s.reader.readCard(ctx, a)
}

// entryIn returns the entry of an agent if the given pool reads the agent, or nil otherwise.
func (s *Source) entryIn(p *pool, key types.NamespacedName) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.entries[key]; a != nil && a.pool == p {
		return a
	}
	return nil
}

// wanted returns the Agent with the given name, or nil if nothing must be read for it, because the Agent is deleted or
// suspended, or needs no document.
func (s *Source) wanted(ctx context.Context, key types.NamespacedName) (*a2av1alpha1.Agent, error) {
	a := &a2av1alpha1.Agent{}
	err := s.agents.Get(ctx, key, a)
	if err == nil && !documentOf(a).isZero() && !a.Spec.Suspend && a.DeletionTimestamp.IsZero() {
		return a, nil
	}
	return nil, client.IgnoreNotFound(err)
}

// delay returns the time until the next read. err is the error of the last read.
func (s *Source) delay(key types.NamespacedName, d document, err error) time.Duration {
	if err != nil {
		return s.failures.When(key)
	}
	s.failures.Forget(key)
	return wait.Jitter(d.interval(), jitter)
}

// schedule enqueues the next read of an agent in p, which becomes the pool of the agent. It does nothing if
// LastRead has replaced the entry after a change of the spec, because LastRead has then enqueued a read.
func (s *Source) schedule(key types.NamespacedName, current *entry, p *pool, after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries[key] != current {
		return
	}
	current.pool = p
	p.add(key, after)
}

// record stores the result of a read, and reports whether it differs from the stored result. The result of a
// failed read keeps the card or the flows of the earlier read.
func (s *Source) record(key types.NamespacedName, read document, result *state.Remote) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.entries[key]
	if a == nil || !reflect.DeepEqual(a.document, read) {
		// The spec changed during the read, and LastRead has enqueued another read.
		return false
	}
	if result.Failure == nil {
		a.succeeded = s.clock.Now()
	}
	if result.Failure != nil && a.result != nil {
		result.Card = a.result.Card
		result.Flows = a.result.Flows
		result.OmittedAddresses = a.result.OmittedAddresses
		result.ReplacedAddress = a.result.ReplacedAddress
		result.CredentialsMismatch = a.result.CredentialsMismatch
	}
	if a.result != nil && reflect.DeepEqual(a.result, result) {
		return false
	}
	a.result = result
	return true
}

// LastSuccess returns the time of the last successful read of an Agent's card, and the time from
// which the card counts as stale. The next read is due after spec.remote.refreshInterval plus a
// random jitter. The card counts as stale from staleAfter after the latest possible due time,
// unless a read succeeds before. LastSuccess returns zero times if there was no successful read.
func (s *Source) LastSuccess(key types.NamespacedName) (read, stale time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.entries[key]
	if a == nil || a.succeeded.IsZero() {
		return time.Time{}, time.Time{}
	}
	latest := time.Duration(float64(a.document.interval()) * (1 + jitter))
	return a.succeeded, a.succeeded.Add(latest + staleAfter)
}

// forget removes the entry of an Agent that is deleted or suspended, or needs no document any more. It reads the Agent again
// under the lock: if the Agent needs one again, a concurrent LastRead may have made the entry, and forget keeps
// it.
func (s *Source) forget(ctx context.Context, key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, err := s.wanted(ctx, key); a != nil || err != nil {
		if current := s.entries[key]; current != nil {
			current.pool.add(key, 0)
		}
		return
	}
	delete(s.entries, key)
	s.failures.Forget(key)
}
