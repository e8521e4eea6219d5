// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package health tracks the dependencies of a sidecar. A dependency is something outside
// of the sidecar's process that the sidecar needs, such as the task store, certificates
// and the keys of a token issuer.
//
// The part of the sidecar that uses a dependency records each success and failure. The
// Tracker determines whether the pod is ready, exports the metric, and creates the health
// report, which the Reporter sends to the registry. The Tracker itself opens no
// connections.
package health

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// State is the state of a dependency.
type State string

// The states.
const (
	// Pending means that the dependency has not been tried yet.
	Pending State = "pending"
	// Healthy means that the dependency can be used as configured.
	Healthy State = "healthy"
	// NeverReached means that the dependency does not respond or cannot serve now, and that
	// this process has never used it.
	NeverReached State = "never_reached"
	// Lost means that the dependency does not respond or cannot serve now, and that this
	// process has used it before.
	Lost State = "lost"
	// Wrong means that the dependency cannot be used until it or the configuration is
	// changed. For example, a file is missing, or a server refuses the credential.
	Wrong State = "wrong"
)

// Status is the state of a dependency and its cause.
type Status struct {
	State State
	// Cause and Message are the reason why the dependency is not healthy.
	Cause   sidecarconfig.HealthCause
	Message string
	// Reached is true if the dependency was healthy at any time in this process.
	Reached bool
}

// Options configure how a dependency is tracked.
type Options struct {
	// Blocks reports whether a status other than Healthy makes the pod unready. It is called
	// for each readiness probe. If it is nil, the dependency never makes the pod unready.
	Blocks func(Status) bool
	// LostAfter is how long a healthy dependency must fail, without a success in between,
	// until its status is no longer Healthy. 0 means that the first failure changes the
	// status.
	LostAfter time.Duration
}

// Tracker tracks the dependencies of one sidecar. Its methods are safe for concurrent
// use.
type Tracker struct {
	now func() time.Time
	// changed has an element if the report may have changed since the last receive.
	changed chan struct{}
	states  *prometheus.GaugeVec

	mu  sync.Mutex
	all []*Dependency
	// signatures are the signatures of the card. They are nil if the card is not signed.
	signatures *sidecarconfig.CardSignatures
}

// Dependency is one dependency of a Tracker.
type Dependency struct {
	tracker *Tracker
	name    sidecarconfig.Dependency
	options Options

	// The tracker's mutex guards the following fields. failing is when the dependency began
	// to fail. It is zero while the dependency does not fail.
	status  Status
	failing time.Time
	removed bool
}

// New returns a Tracker without dependencies. now is the clock.
func New(now func() time.Time) *Tracker {
	return &Tracker{now: now, changed: make(chan struct{}, 1), states: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "a2a_dependency_state",
		Help: "Present state of a dependency of the sidecar, always 1. States: pending, healthy, never_reached, lost and wrong. The cause of a failure is that of the report.",
	}, []string{"dependency", "state", "cause"})}
}

// Add adds a dependency. Its first state is Pending.
func (t *Tracker) Add(name sidecarconfig.Dependency, o Options) *Dependency {
	d := &Dependency{tracker: t, name: name, options: o, status: Status{State: Pending}}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, d)
	d.show()
	return d
}

// Remove removes a dependency that the configuration no longer names.
func (t *Tracker) Remove(d *Dependency) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.all, d); i >= 0 {
		t.all = slices.Delete(t.all, i, i+1)
		d.removed = true
		t.states.DeletePartialMatch(prometheus.Labels{"dependency": string(d.name)})
		t.signal()
	}
}

// Succeeded records that the dependency was used successfully.
func (d *Dependency) Succeeded() {
	t := d.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	d.failing = time.Time{}
	d.change(Status{State: Healthy, Cause: sidecarconfig.CauseHealthy, Reached: true})
}

// Failf records that an attempt to use the dependency failed. A healthy dependency stays
// Healthy until it has failed for Options.LostAfter. The message is truncated to
// sidecarconfig.MaxHealthMessage bytes. Control characters in it become spaces.
func (d *Dependency) Failf(cause sidecarconfig.HealthCause, format string, args ...any) {
	t := d.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if d.failing.IsZero() {
		d.failing = now
	}
	if d.status.State == Healthy && now.Sub(d.failing) < d.options.LostAfter {
		return
	}
	next := Status{State: Wrong, Cause: cause, Message: sidecarconfig.OneLine(fmt.Sprintf(format, args...)), Reached: d.status.Reached}
	if unreachable(cause) {
		next.State = NeverReached
		if next.Reached {
			next.State = Lost
		}
	}
	d.change(next)
}

// unreachable reports whether a failure with this cause may end without a change of the
// configuration.
func unreachable(cause sidecarconfig.HealthCause) bool {
	switch cause {
	case sidecarconfig.CauseNameResolution, sidecarconfig.CauseRefused, sidecarconfig.CauseTimedOut, sidecarconfig.CauseConnection, sidecarconfig.CauseNotServing,
		sidecarconfig.CauseFull:
		return true
	default:
		return false
	}
}

// change sets the status. The tracker's mutex must be held.
func (d *Dependency) change(next Status) {
	if d.removed {
		return
	}
	former := d.status
	d.status = next
	if former.State != next.State || former.Cause != next.Cause {
		d.show()
	}
	if former.State != next.State || former.Cause != next.Cause || former.Message != next.Message {
		d.tracker.signal()
	}
}

func (t *Tracker) signal() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// Status returns the status of the dependency.
func (d *Dependency) Status() Status {
	d.tracker.mu.Lock()
	defer d.tracker.mu.Unlock()
	return d.status
}

// Failing reports whether the last attempt failed. A dependency that was healthy before
// can be failing and still have the state Healthy, until it has failed for
// Options.LostAfter.
func (d *Dependency) Failing() bool {
	d.tracker.mu.Lock()
	defer d.tracker.mu.Unlock()
	return !d.failing.IsZero()
}

// Changed returns a channel that has an element when the result of Report may have
// changed.
func (t *Tracker) Changed() <-chan struct{} { return t.changed }

// Ready returns nil if no dependency makes the pod unready (Options.Blocks). Otherwise it
// returns an error that names the first dependency that does.
func (t *Tracker) Ready() error {
	for _, d := range t.list() {
		status := d.Status()
		if status.State == Healthy || d.options.Blocks == nil || !d.options.Blocks(status) {
			continue
		}
		if status.State == Pending {
			return fmt.Errorf("%s: not tried yet", d.name)
		}
		return fmt.Errorf("%s: %s: %s", d.name, status.Cause, status.Message)
	}
	return nil
}

// failing reports whether a dependency with the name has failed since its last success.
func (t *Tracker) failing(name sidecarconfig.Dependency) bool {
	return slices.ContainsFunc(t.list(), func(d *Dependency) bool { return d.name == name && d.Failing() })
}

func (t *Tracker) list() []*Dependency {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.all)
}

// Pending reports whether any dependency is still Pending.
func (t *Tracker) Pending() bool {
	return slices.ContainsFunc(t.list(), func(d *Dependency) bool { return d.Status().State == Pending })
}

// SetCardSignatures sets the card's signatures in the next reports. Nil means none. s
// must not be modified afterwards.
func (t *Tracker) SetCardSignatures(s *sidecarconfig.CardSignatures) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.signatures = s
	t.signal()
}

// Report returns the dependencies that are neither Healthy nor Pending, in the order of
// sidecarconfig.Dependencies, and the signatures of the card.
func (t *Tracker) Report() sidecarconfig.HealthReport {
	t.mu.Lock()
	defer t.mu.Unlock()
	report := sidecarconfig.HealthReport{Dependencies: []sidecarconfig.DependencyHealth{}, CardSignatures: t.signatures}
	for _, name := range sidecarconfig.Dependencies {
		for _, d := range t.all {
			if d.name != name || d.status.State == Healthy || d.status.State == Pending {
				continue
			}
			report.Dependencies = append(report.Dependencies, sidecarconfig.DependencyHealth{
				Dependency: d.name, Cause: d.status.Cause, Message: d.status.Message,
			})
			break
		}
	}
	return report
}

// Describe implements prometheus.Collector.
func (t *Tracker) Describe(to chan<- *prometheus.Desc) { t.states.Describe(to) }

// Collect implements prometheus.Collector. The mutex ensures that a scrape sees exactly
// one state of each dependency.
func (t *Tracker) Collect(to chan<- prometheus.Metric) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.states.Collect(to)
}

// show updates the metric of the dependency. The tracker's mutex must be held.
func (d *Dependency) show() {
	d.tracker.states.DeletePartialMatch(prometheus.Labels{"dependency": string(d.name)})
	cause := d.status.Cause
	if cause == sidecarconfig.CauseHealthy {
		cause = ""
	}
	d.tracker.states.WithLabelValues(string(d.name), string(d.status.State), string(cause)).Set(1)
}
