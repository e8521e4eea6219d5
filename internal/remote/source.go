// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package remote keeps the cards of agents that run elsewhere.
//
// Cards are read on a schedule of their own, never in a reconcile: who
// reconciles takes what was read last. A connection goes to the origin that the
// Agent names and to no other, through a guard of addresses, and so do
// credentials. The package is the only one that reads a Secret. It decides
// nothing about Agents and writes nothing.
package remote

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
)

const (
	// workers is how many cards are read at the same time in each lane.
	workers = 32
	// promptTimeout bounds a look at an agent that is not known to be slow, and
	// readTimeout one at an agent that is, each with all the places of its card.
	promptTimeout = 2 * time.Second
	readTimeout   = 10 * time.Second
	// retryFirst and retryMost are how soon a failed look is repeated: the pause
	// doubles.
	retryFirst = time.Second
	retryMost  = 5 * time.Minute
	// jitter spreads the looks at agents that came at once.
	jitter = 0.1
	// defaultInterval is that of the API.
	defaultInterval = 5 * time.Minute
)

// Change names an Agent of which something else is known now.
type Change = event.TypedGenericEvent[types.NamespacedName]

// Options are what a Source works with.
type Options struct {
	// Agents reads Agents, from the cache.
	Agents client.Reader
	// Secrets gets a Secret by name, from the API server: nothing of a Secret is
	// kept.
	Secrets client.Reader
	// Guard makes the connections. Its error for a target that is not allowed is
	// egress.ErrDenied.
	Guard http.RoundTripper
}

// Source knows the cards of remote agents.
//
// An agent is looked at in one of two lanes. Who does not answer within
// promptTimeout is looked at again in the patient one, and stays there until an
// answer comes as soon: agents that hang, however many, wait for each other and
// hold up nobody else.
type Source struct {
	options         Options
	prompt, patient *lane
	// failures are how often each was looked at in vain.
	failures workqueue.TypedRateLimiter[types.NamespacedName]
	changes  chan Change

	mu     sync.Mutex
	agents map[types.NamespacedName]*agent
}

// lane is who is to be looked at, and for how long.
type lane struct {
	queue   workqueue.TypedDelayingInterface[types.NamespacedName]
	timeout time.Duration
}

func newLane(timeout time.Duration) *lane {
	return &lane{queue: workqueue.NewTypedDelayingQueue[types.NamespacedName](), timeout: timeout}
}

// agent is what is known of one.
type agent struct {
	remote a2av1alpha1.AgentRemote
	// lane is where it is looked at. It stands in the other's queue when it has
	// changed since, and is passed over there.
	lane *lane
	// known is nil until the first look has ended. It is never changed.
	known *clusterstate.Remote
}

var _ manager.LeaderElectionRunnable = (*Source)(nil)

// New returns a Source that looks at nothing until it is started.
func New(options Options) *Source {
	return &Source{
		options:  options,
		prompt:   newLane(promptTimeout),
		patient:  newLane(readTimeout),
		failures: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](retryFirst, retryMost),
		changes:  make(chan Change, 1),
		agents:   map[types.NamespacedName]*agent{},
	}
}

// NeedLeaderElection is true: one operator looks, and writes down what it sees.
func (s *Source) NeedLeaderElection() bool { return true }

// Changes has an element whenever something else is known of an Agent.
func (s *Source) Changes() <-chan Change { return s.changes }

// Of returns what is known of a remote agent, nil when nothing is yet, and has
// it looked at from now on. What was known under another spec counts for
// nothing.
func (s *Source) Of(a *a2av1alpha1.Agent) *clusterstate.Remote {
	key := client.ObjectKeyFromObject(a)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.agents[key]; known != nil && reflect.DeepEqual(known.remote, *a.Spec.Remote) {
		return known.known
	}
	s.agents[key] = &agent{remote: *a.Spec.Remote.DeepCopy(), lane: s.prompt}
	s.failures.Forget(key)
	s.prompt.queue.Add(key)
	return nil
}

// Start looks at agents until the context ends.
func (s *Source) Start(ctx context.Context) error {
	var all sync.WaitGroup
	for _, l := range []*lane{s.prompt, s.patient} {
		for range workers {
			all.Go(func() {
				for s.next(ctx, l) {
				}
			})
		}
	}
	<-ctx.Done()
	s.prompt.queue.ShutDown()
	s.patient.queue.ShutDown()
	all.Wait()
	return nil
}

// next looks at one agent of a lane, and reports false when there will be none
// any more.
func (s *Source) next(ctx context.Context, l *lane) bool {
	key, over := l.queue.Get()
	if over {
		return false
	}
	defer l.queue.Done(key)
	known := s.in(l, key)
	if known == nil {
		return true
	}
	a, err := s.wanted(ctx, key)
	switch {
	case err != nil:
		log.FromContext(ctx).Error(err, "cannot read Agent", "agent", key)
		l.queue.AddAfter(key, s.failures.When(key))
		return true
	case a == nil:
		s.forget(ctx, key)
		return true
	}
	bounded, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	soon, late := context.WithTimeout(ctx, promptTimeout)
	defer late()
	seen, err := s.look(bounded, a)
	slow := soon.Err() != nil
	if ctx.Err() != nil {
		return true
	}
	if slow && l == s.prompt {
		s.schedule(key, known, s.patient, 0)
		return true
	}
	after := s.pause(key, a, err)
	if err != nil {
		log.FromContext(ctx).Info("cannot read the card of a remote agent", "agent", key, "reason", seen.Failure.Reason, "error", err.Error())
	}
	if slow {
		s.schedule(key, known, s.patient, after)
	} else {
		s.schedule(key, known, s.prompt, after)
	}
	if s.learn(key, a.Spec.Remote, seen) {
		select {
		case s.changes <- Change{Object: key}:
		case <-ctx.Done():
		}
	}
	return true
}

// in is what is known of an agent that is looked at in a lane, nil for one that
// is not.
func (s *Source) in(l *lane, key types.NamespacedName) *agent {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.agents[key]; a != nil && a.lane == l {
		return a
	}
	return nil
}

// wanted returns the Agent of a name, nil when there is nothing to look at.
func (s *Source) wanted(ctx context.Context, key types.NamespacedName) (*a2av1alpha1.Agent, error) {
	a := &a2av1alpha1.Agent{}
	err := s.options.Agents.Get(ctx, key, a)
	if err == nil && a.Spec.Remote != nil && !a.Spec.Suspend && a.DeletionTimestamp.IsZero() {
		return a, nil
	}
	return nil, client.IgnoreNotFound(err)
}

// pause is how soon to look again, after a look that failed or did not.
func (s *Source) pause(key types.NamespacedName, a *a2av1alpha1.Agent, err error) time.Duration {
	if err != nil {
		return s.failures.When(key)
	}
	s.failures.Forget(key)
	return wait.Jitter(interval(a.Spec.Remote), jitter)
}

// schedule has an agent looked at again, unless it was given another spec
// meanwhile: then it is scheduled already.
func (s *Source) schedule(key types.NamespacedName, known *agent, l *lane, after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.agents[key] != known {
		return
	}
	known.lane = l
	l.queue.AddAfter(key, after)
}

// learn keeps what was seen, and reports whether it is news. A card that was
// read stays while its agent cannot be reached.
func (s *Source) learn(key types.NamespacedName, remote *a2av1alpha1.AgentRemote, seen *clusterstate.Remote) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.agents[key]
	if a == nil || !reflect.DeepEqual(a.remote, *remote) {
		// The spec has changed under the look; the next one is due already.
		return false
	}
	if seen.Failure != nil && a.known != nil {
		seen.Card, seen.OmittedAddresses = a.known.Card, a.known.OmittedAddresses
	}
	if a.known != nil && reflect.DeepEqual(a.known, seen) {
		return false
	}
	a.known = seen
	return true
}

// forget is for an Agent that is gone, suspended or no remote one any more.
// Nobody asks for it while that is looked at once more, so that one that was
// asked for again meanwhile is not lost.
func (s *Source) forget(ctx context.Context, key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, err := s.wanted(ctx, key); a != nil || err != nil {
		if known := s.agents[key]; known != nil {
			known.lane.queue.Add(key)
		}
		return
	}
	delete(s.agents, key)
	s.failures.Forget(key)
}

func interval(remote *a2av1alpha1.AgentRemote) time.Duration {
	d, err := time.ParseDuration(string(remote.RefreshInterval))
	if err != nil || d <= 0 {
		return defaultInterval
	}
	return d
}

// credential returns the header that shows who asks, "" for none.
func (s *Source) credential(ctx context.Context, a *a2av1alpha1.Agent) (name, value string, err error) {
	c := a.Spec.Remote.Credentials
	if c == nil {
		return "", "", nil
	}
	secret := &corev1.Secret{}
	if err := s.options.Secrets.Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: c.SecretRef.Name}, secret); err != nil {
		return "", "", fmt.Errorf("get Secret %s/%s: %w", a.Namespace, c.SecretRef.Name, err)
	}
	return header(c, secret.Data[c.SecretRef.Key])
}
