// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package polledfile follows the content of a mounted file. The content of a file that cannot be used does not
// replace the former content. Every replica of the manager reads the file.
package polledfile

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Interval is the interval between two reads of the file.
const Interval = 10 * time.Second

// Source provides the content of a file. Its methods are safe for concurrent use. A nil Source has no
// content and never changes.
type Source[T any] struct {
	config  Config[T]
	current atomic.Pointer[T]
	changes chan event.TypedGenericEvent[*T]
	// failure is the text of the last error, which is logged once.
	failure string
}

// Config configures a Source. All fields are required.
type Config[T any] struct {
	// File is the file, and Content names its content, for logs.
	File, Content string
	// Read returns the content, or nil if there is none. last is the content that is in use. Read returns last
	// if nothing has changed. After an error, last stays in use.
	Read func(last *T) (*T, error)
	// Refused is 1 while Read returns an error, and otherwise 0.
	Refused prometheus.Gauge
	Log     logr.Logger
}

var _ manager.LeaderElectionRunnable = (*Source[string])(nil)

// New returns a Source that has read the file. It returns the error of Read.
func New[T any](config Config[T]) (*Source[T], error) {
	s := &Source[T]{config: config, changes: make(chan event.TypedGenericEvent[*T], 1)}
	return s, s.reload()
}

// Current returns the content, or nil if there is none. The pointer is the same until the content changes.
func (s *Source[T]) Current() *T {
	if s == nil {
		return nil
	}
	return s.current.Load()
}

// Changes returns a channel that receives an event after Current has changed. Several changes may cause
// only one event.
func (s *Source[T]) Changes() <-chan event.TypedGenericEvent[*T] {
	if s == nil {
		return make(chan event.TypedGenericEvent[*T])
	}
	return s.changes
}

// NeedLeaderElection returns false: replicas that do not lead read the file as well, so that a new leader
// has the content at once.
func (s *Source[T]) NeedLeaderElection() bool { return false }

// Start reads the file at each Interval until the context ends.
func (s *Source[T]) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(context.Context) {
		if err := s.reload(); err != nil && err.Error() != s.failure {
			s.failure = err.Error()
			s.config.Log.Error(err, s.config.Content+" refused; the former content stays in use", "file", s.config.File)
		}
	}, Interval)
	return nil
}

// reload reads the file and uses its content.
func (s *Source[T]) reload() error {
	last := s.current.Load()
	next, err := s.config.Read(last)
	if err != nil {
		s.config.Refused.Set(1)
		return err
	}
	s.failure = ""
	s.config.Refused.Set(0)
	if next == last {
		return nil
	}
	s.current.Store(next)
	// If an event is pending, no second one is needed: its receiver calls Current.
	select {
	case s.changes <- event.TypedGenericEvent[*T]{Object: next}:
	default:
	}
	return nil
}
