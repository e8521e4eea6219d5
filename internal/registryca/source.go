// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registryca reads the certificate authorities with which sidecars verify the certificate
// of the registry. Every replica of the manager reads them from a mounted file.
package registryca

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/boundedfile"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
)

const (
	// pollInterval is the interval between two reads of the file.
	pollInterval = 10 * time.Second
	// maxFile bounds the size of the file, in bytes, because the sidecar configuration of every
	// Agent contains the file's content.
	maxFile = 64 << 10
	// overlap is how long the former content of the file stays in use in addition to the new
	// content, because the registry serves its former certificate until sidecars have the new
	// authorities. The overlap also applies if the former or the new file is missing or empty.
	overlap = time.Hour
)

// Change is the event that Current has changed.
type Change = event.TypedGenericEvent[*clusterstate.RegistryCA]

// Source provides the PEM certificates of a file. Its methods are safe for concurrent use.
// A nil Source has no authorities and never changes.
type Source struct {
	file    string
	clock   clock.PassiveClock
	log     logr.Logger
	current atomic.Pointer[clusterstate.RegistryCA]
	changes chan Change
	// known is true after the first successful read. read is the last usable content of the file,
	// "" if it has no certificates. former is the content before the last change. It stays in use
	// until formerEnd, which is zero if no former content is in use.
	known        bool
	read, former string
	formerEnd    time.Time
	// failure is the text of the last error. Start logs an error only if its text differs from
	// failure.
	failure string
}

var _ manager.LeaderElectionRunnable = (*Source)(nil)

// New returns a Source that has read the file. If the file is missing or empty, there are no
// certificates, and sidecars verify the registry with their own authorities. New returns an error
// if the content of the file is not usable. The manager must not start then: with no authorities,
// its sidecars would not trust the registry any more.
func New(file string, c clock.PassiveClock, log logr.Logger) (*Source, error) {
	s := &Source{file: file, clock: c, log: log, changes: make(chan Change, 1)}
	return s, s.reload()
}

// Current returns the authorities, or nil if there are none. The pointer is the same until the
// authorities change.
func (s *Source) Current() *clusterstate.RegistryCA {
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
// new leader has the authorities at once.
func (s *Source) NeedLeaderElection() bool { return false }

// Start reads the file every ten seconds until the context ends.
func (s *Source) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(context.Context) {
		if err := s.reload(); err != nil && err.Error() != s.failure {
			s.failure = err.Error()
			s.log.Error(err, "authorities of the registry refused; the former ones stay in use", "file", s.file)
		}
	}, pollInterval)
	return nil
}

// reload reads the file and uses its content. If the content is not usable, reload returns the
// reason, and the former content stays in use.
func (s *Source) reload() error {
	read, err := read(s.file)
	if err != nil {
		refused.Set(1)
		return err
	}
	s.failure = ""
	refused.Set(0)
	now := s.clock.Now()
	if s.known && read != s.read {
		s.former, s.formerEnd = s.read, now.Add(overlap)
	}
	s.known, s.read = true, read
	if !now.Before(s.formerEnd) {
		s.former, s.formerEnd = "", time.Time{}
	}
	next, last := s.authorities(), s.current.Load()
	if next == last || next != nil && last != nil && *next == *last {
		return nil
	}
	s.current.Store(next)
	event := []any{"file", s.file, "present", s.read != ""}
	if !s.formerEnd.IsZero() {
		event = append(event, "formerUntil", s.formerEnd.UTC())
	}
	s.log.Info("authorities of the registry changed", event...)
	// If an event is pending, no second one is needed: its receiver calls Current.
	select {
	case s.changes <- Change{Object: next}:
	default:
	}
	return nil
}

// authorities returns the content of the file and, until formerEnd, the former content. It
// returns nil if neither has certificates.
func (s *Source) authorities() *clusterstate.RegistryCA {
	switch {
	case s.formerEnd.IsZero() && s.read == "":
		return nil
	case s.formerEnd.IsZero():
		return &clusterstate.RegistryCA{PEM: s.read}
	case s.read == "" || s.former == "":
		return &clusterstate.RegistryCA{PEM: s.read + s.former, Additional: true}
	case strings.Contains(s.read, s.former):
		return &clusterstate.RegistryCA{PEM: s.read}
	default:
		return &clusterstate.RegistryCA{PEM: s.read + s.former}
	}
}

// read returns the certificates in a file, or "" for a missing or empty file.
func read(name string) (string, error) {
	text, err := boundedfile.Read(name, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read authorities: %w", err)
	}
	if text = bytes.TrimSpace(text); len(text) == 0 { // the ca.crt in a Secret of a public issuer is empty
		return "", nil
	}
	if _, err := egress.ParseAuthorities(text); err != nil {
		return "", fmt.Errorf("read authorities: %s %w", name, err)
	}
	return string(text) + "\n", nil
}

var refused = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "a2a_registry_ca_refused",
	Help: "Whether the file with the authorities of the registry is refused (1), so that sidecars keep the former ones, or not (0).",
})

// Register registers the metric, which all Sources of a process share.
func Register(r prometheus.Registerer) error {
	err := r.Register(refused)
	if _, again := errors.AsType[prometheus.AlreadyRegisteredError](err); again {
		return nil
	}
	return err
}
