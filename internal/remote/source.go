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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/observed"
)

const (
	// workers is how many cards are read at the same time. An agent that hangs
	// holds one of them for readTimeout.
	workers = 8
	// readTimeout bounds one look at an agent, with all the places of its card.
	readTimeout = 10 * time.Second
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
type Source struct {
	options Options
	queue   workqueue.TypedRateLimitingInterface[types.NamespacedName]
	changes chan Change

	mu     sync.Mutex
	agents map[types.NamespacedName]*agent
}

// agent is what is known of one.
type agent struct {
	remote a2av1alpha1.AgentRemote
	// known is nil until the first look has ended. It is never changed.
	known *observed.Remote
}

var _ manager.LeaderElectionRunnable = (*Source)(nil)

// New returns a Source that looks at nothing until it is started.
func New(options Options) *Source {
	return &Source{
		options: options,
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](retryFirst, retryMost)),
		changes: make(chan Change, 1),
		agents:  map[types.NamespacedName]*agent{},
	}
}

// NeedLeaderElection is true: one operator looks, and writes down what it sees.
func (s *Source) NeedLeaderElection() bool { return true }

// Changes has an element whenever something else is known of an Agent.
func (s *Source) Changes() <-chan Change { return s.changes }

// Of returns what is known of a remote agent, nil when nothing is yet, and has
// it looked at from now on. What was known under another spec counts for
// nothing.
func (s *Source) Of(a *a2av1alpha1.Agent) *observed.Remote {
	key := client.ObjectKeyFromObject(a)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.agents[key]; known != nil && reflect.DeepEqual(known.remote, *a.Spec.Remote) {
		return known.known
	}
	s.agents[key] = &agent{remote: *a.Spec.Remote.DeepCopy()}
	s.queue.Forget(key)
	s.queue.Add(key)
	return nil
}

// Start looks at agents until the context ends.
func (s *Source) Start(ctx context.Context) error {
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for s.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	s.queue.ShutDown()
	all.Wait()
	return nil
}

// next looks at one agent, and reports false when there will be none any more.
func (s *Source) next(ctx context.Context) bool {
	key, over := s.queue.Get()
	if over {
		return false
	}
	defer s.queue.Done(key)
	a := &a2av1alpha1.Agent{}
	err := s.options.Agents.Get(ctx, key, a)
	switch {
	case err == nil && a.Spec.Remote != nil && !a.Spec.Suspend && a.DeletionTimestamp.IsZero():
	case err == nil, apierrors.IsNotFound(err):
		s.forget(key)
		return true
	default:
		log.FromContext(ctx).Error(err, "cannot read Agent", "agent", key)
		s.queue.AddRateLimited(key)
		return true
	}
	known, err := s.look(ctx, a)
	if err != nil {
		if ctx.Err() == nil {
			log.FromContext(ctx).Info("cannot read the card of a remote agent", "agent", key, "reason", known.Failure.Reason, "error", err.Error())
		}
		s.queue.AddRateLimited(key)
	} else {
		s.queue.Forget(key)
		s.queue.AddAfter(key, wait.Jitter(interval(a.Spec.Remote), jitter))
	}
	if ctx.Err() == nil && s.learn(key, a.Spec.Remote, known) {
		select {
		case s.changes <- Change{Object: key}:
		case <-ctx.Done():
		}
	}
	return true
}

// learn keeps what was seen, and reports whether it is news. A card that was
// read stays while its agent cannot be reached.
func (s *Source) learn(key types.NamespacedName, remote *a2av1alpha1.AgentRemote, seen *observed.Remote) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.agents[key]
	if a == nil || !reflect.DeepEqual(a.remote, *remote) {
		// The spec has changed under the look; the next one is due already.
		return false
	}
	if seen.Failure != nil && a.known != nil {
		seen.Card, seen.Elsewhere = a.known.Card, a.known.Elsewhere
	}
	if a.known != nil && reflect.DeepEqual(a.known, seen) {
		return false
	}
	a.known = seen
	return true
}

// forget is for an Agent that is gone, suspended or no remote one any more.
func (s *Source) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.agents, key)
	s.queue.Forget(key)
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
