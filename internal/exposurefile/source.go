// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exposurefile reads the rules of package exposurerules from a mounted file. Every replica
// of the manager reads them.
package exposurefile

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/a2a-operator/a2a-operator/internal/boundedfile"
	"github.com/a2a-operator/a2a-operator/internal/exposurerules"
)

const (
	// pollInterval is the interval between two reads of the file.
	pollInterval = 10 * time.Second
	// maxFile bounds the size of the file, in bytes. A ConfigMap is not larger.
	maxFile = 1 << 20
)

// Change is the event that Current has changed.
type Change = event.TypedGenericEvent[*exposurerules.Rules]

// Source provides the rules of a file. Its methods are safe for concurrent use. A nil Source has
// no rules and never changes.
type Source struct {
	file    string
	log     logr.Logger
	current atomic.Pointer[exposurerules.Rules]
	changes chan Change
	// text is the content of the file with the rules of current. failure is the text of the last
	// error, which is logged once.
	text, failure string
}

var _ manager.LeaderElectionRunnable = (*Source)(nil)

// New returns a Source that has read the file. It returns an error if the file is missing or has a
// mistake. The manager must not start then, because it would delete the routes of all Agents.
func New(file string, log logr.Logger) (*Source, error) {
	s := &Source{file: file, log: log, changes: make(chan Change, 1)}
	return s, s.reload()
}

// Current returns the rules, or nil if there are none. The pointer is the same until the rules
// change.
func (s *Source) Current() *exposurerules.Rules {
	if s == nil {
		return nil
	}
	return s.current.Load()
}

// Changes returns a channel that receives a Change after Current has changed. Several changes may
// cause only one element.
func (s *Source) Changes() <-chan Change {
	if s == nil {
		return make(chan Change)
	}
	return s.changes
}

// NeedLeaderElection returns false: replicas that do not lead read the file as well, so that a
// new leader has the rules at once.
func (s *Source) NeedLeaderElection() bool { return false }

// Start reads the file every ten seconds until the context ends.
func (s *Source) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(context.Context) {
		if err := s.reload(); err != nil && err.Error() != s.failure {
			s.failure = err.Error()
			s.log.Error(err, "rules of exposure refused; the former ones stay in use", "file", s.file)
		}
	}, pollInterval)
	return nil
}

// reload reads the file and uses its rules. If the file is missing or has a mistake, reload returns
// the reason, and the former rules stay in use.
func (s *Source) reload() error {
	rules, text, err := read(s.file)
	if err != nil {
		refused.Set(1)
		return err
	}
	s.failure = ""
	refused.Set(0)
	if s.current.Load() != nil && text == s.text {
		return nil
	}
	s.text = text
	s.current.Store(rules)
	s.log.Info("rules of exposure changed", "file", s.file)
	// If an event is pending, no second one is needed: its receiver calls Current.
	select {
	case s.changes <- Change{Object: rules}:
	default:
	}
	return nil
}

func read(file string) (*exposurerules.Rules, string, error) {
	text, err := boundedfile.Read(file, maxFile)
	if err != nil {
		return nil, "", fmt.Errorf("read rules of exposure: %w", err)
	}
	rules, err := exposurerules.Parse(text)
	if err != nil {
		return nil, "", fmt.Errorf("read rules of exposure: %s %w", file, err)
	}
	return rules, string(text), nil
}

var refused = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "a2a_exposure_file_refused",
	Help: "Whether the file with the rules of exposure is refused (1), so that the former rules stay in use, or not (0).",
})

// Register registers the metric, which all Sources of a process share.
func Register(r prometheus.Registerer) error {
	err := r.Register(refused)
	if _, again := errors.AsType[prometheus.AlreadyRegisteredError](err); again {
		return nil
	}
	return err
}
