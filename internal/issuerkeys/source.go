// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package issuerkeys keeps the public keys with which the cluster's ServiceAccount
// tokens are verified.
//
// It reads the API server's OpenID configuration and key set, both of which
// are public, and nothing else. It does not verify tokens.
package issuerkeys

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
)

const (
	// refreshPeriod and refreshJitter are how often the keys are read: between
	// three and four minutes.
	refreshPeriod = 3 * time.Minute
	refreshJitter = 0.33
	// retryPeriod is how soon a failed read is tried again, at first. It
	// doubles up to refreshPeriod.
	retryPeriod = time.Second
	// readTimeout bounds one read.
	readTimeout = 10 * time.Second
)

// The paths at which an API server publishes its issuer and its keys.
const (
	configurationPath = "/.well-known/openid-configuration"
	keysPath          = "/openid/v1/jwks"
)

// Getter gets a document from the API server.
type Getter interface {
	Get(ctx context.Context, path string) ([]byte, error)
}

// Change tells that the issuer is another one, or has other keys.
type Change = event.TypedGenericEvent[*clusterstate.Issuer]

// Source keeps the issuer's keys fresh while it runs, and the last good ones
// when they cannot be read.
type Source struct {
	getter  Getter
	current atomic.Pointer[clusterstate.Issuer]
	changes chan Change
	tried   chan struct{}
	trying  sync.Once
}

var _ manager.LeaderElectionRunnable = (*Source)(nil)

// New returns a Source that knows nothing until it is started.
func New(getter Getter) *Source {
	// One pending change is enough: who is told reads what is current.
	return &Source{getter: getter, changes: make(chan Change, 1), tried: make(chan struct{})}
}

// Current is the issuer that was read last, nil until it was read once.
func (s *Source) Current() *clusterstate.Issuer {
	return s.current.Load()
}

// Changes has an element whenever Current has changed.
func (s *Source) Changes() <-chan Change {
	return s.changes
}

// Tried is closed once the keys were read, or could not be. Before that, the
// lack of them says nothing.
func (s *Source) Tried() <-chan struct{} {
	return s.tried
}

// NeedLeaderElection is false, so that a new leader knows the keys.
func (s *Source) NeedLeaderElection() bool { return false }

// Start reads the keys until the context ends.
func (s *Source) Start(ctx context.Context) error {
	retry := newBackoff()
	for {
		pause := wait.Jitter(refreshPeriod, refreshJitter)
		if err := s.refresh(ctx); err != nil {
			log.FromContext(ctx).Error(err, "cannot read the keys of the ServiceAccount issuer; the last good ones stay")
			pause = retry.Step()
		} else {
			retry = newBackoff()
		}
		s.trying.Do(func() { close(s.tried) })
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

func newBackoff() wait.Backoff {
	return wait.Backoff{Duration: retryPeriod, Factor: 2, Jitter: refreshJitter, Steps: 9, Cap: refreshPeriod}
}

// refresh reads the issuer once and tells of a change.
func (s *Source) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	configuration, err := s.getter.Get(ctx, configurationPath)
	if err != nil {
		return fmt.Errorf("get %s: %w", configurationPath, err)
	}
	keys, err := s.getter.Get(ctx, keysPath)
	if err != nil {
		return fmt.Errorf("get %s: %w", keysPath, err)
	}
	next, err := parse(configuration, keys)
	if err != nil {
		return err
	}
	// Who reads it knows by the pointer that nothing has changed.
	if last := s.current.Load(); last != nil && equal(last, next) {
		return nil
	}
	s.current.Store(next)
	select {
	case s.changes <- Change{Object: next}:
	default:
	}
	return nil
}
