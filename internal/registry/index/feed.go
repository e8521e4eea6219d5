// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

const (
	// batchInterval is how long the feed collects changes before it makes a snapshot. A burst of
	// changes of any size therefore causes at most one snapshot in each interval.
	batchInterval = 20 * time.Millisecond
	// retryInterval is the time after which the feed reads an agent again if a read
	// failed.
	retryInterval = time.Second
	// missedQuiet is the least time for which readers cannot resume after an informer has lost its
	// watch. During this time, a notification does not prove that the informer is up to date: it
	// may be older than a removal that the informer missed.
	missedQuiet = 10 * time.Second
)

// ReadFunc returns the present entry of an agent, or nil if the agent does not exist. last is the
// agent's entry in the last snapshot, or nil. asOf is a revision that the cache includes. If
// ReadFunc returns an error with an entry, the card of the entry may be outdated. If it returns an
// error without an entry, the state of the agent is unknown.
type ReadFunc func(ctx context.Context, key Key, last *Entry, asOf Revision) (*Entry, error)

// Feed makes snapshots from notifications that agents have changed. It stores only the keys of
// these agents, and reads the agents when it makes a snapshot, so that the order and the number of
// notifications do not matter (level-triggered). Run may be called only once. The other methods are
// safe for concurrent use.
type Feed struct {
	read    ReadFunc
	clock   clock.PassiveClock
	log     logr.Logger
	current atomic.Pointer[Snapshot]
	// subscriptions has the latest update, and the subscriptions of the readers of updates.
	subscriptions subscriptions
	// readings receives what the readers have read, the goroutines that read agents. ended are the readings for the next batch.
	readings chan reading
	readers  sync.WaitGroup
	ended    []reading
	// unread are the agents whose last read failed. vocabulary has the terms and words of all entries. turns are the changed agents that
	// were not read yet, and lost the former visibilities of those that are withdrawn. taken is the revision of the last batch. Only
	// publish uses them, except that readers ask the vocabulary what it lacks.
	unread     map[Key]struct{}
	vocabulary vocabulary
	turns      turns
	lost       map[Key]access.Visibility
	taken      Revision

	mu    sync.Mutex
	dirty map[Key]struct{}
	// withdrawn has the agents among the dirty ones that were deleted or became less visible. The
	// value is the highest visibility that the agent had.
	withdrawn map[Key]access.Visibility
	// seen is the highest revision of all notifications. missedAgents and missedConfigMaps are true
	// while the feed possibly does not know all removals of the kind. Each becomes false at the
	// first notification that advances the revision of the kind when more than missedQuiet has
	// passed since missedAt, the last time at which an informer lost its watch.
	seen             Revision
	missedAgents     bool
	missedConfigMaps bool
	missedAt         time.Time
	// dirtySince is the time of the first notification since the last batch, zero for none.
	dirtySince time.Time
	advanced   chan struct{}
	wake       chan struct{}
}

// NewFeed returns a Feed that reads agents by calling read.
func NewFeed(read ReadFunc, c clock.PassiveClock, log logr.Logger) *Feed {
	return &Feed{
		read: read, clock: c, log: log, missedAgents: true, missedConfigMaps: true, wake: make(chan struct{}, 1), advanced: make(chan struct{}),
		dirty: make(map[Key]struct{}), withdrawn: make(map[Key]access.Visibility), unread: make(map[Key]struct{}),
		lost: make(map[Key]access.Visibility), readings: make(chan reading, runtime.GOMAXPROCS(0)+maxBeside),
	}
}

// Current returns the latest snapshot, nil before the first one.
func (f *Feed) Current() *Snapshot { return f.current.Load() }

// Latest returns the latest update, nil before the first one.
func (f *Feed) Latest() *Update { return f.subscriptions.latest.Load() }

// Subscribe returns a subscription for a reader that already has the state of the latest update. It
// must not be called before the first update. The caller must close the subscription. behind is called once, on another
// goroutine, if the reader is behind by more than MaxHeld bytes.
func (f *Feed) Subscribe(i Interest, behind func()) *Subscription {
	return f.subscriptions.subscribe(i, behind)
}

// Touch marks agents as changed at a revision. A component of the revision is 0 if it is unknown.
// Touch never blocks.
func (f *Feed) Touch(at Revision, keys ...Key) {
	f.mu.Lock()
	for _, key := range keys {
		f.dirty[key] = struct{}{}
	}
	before := f.seen
	f.seen = f.seen.Max(at)
	// Notifications before the first snapshot describe the initial state. They do not show that the
	// watch has advanced.
	if f.current.Load() != nil && f.clock.Since(f.missedAt) > missedQuiet {
		f.missedAgents = f.missedAgents && f.seen.Agents == before.Agents
		f.missedConfigMaps = f.missedConfigMaps && f.seen.ConfigMaps == before.ConfigMaps
	}
	if f.dirtySince.IsZero() {
		f.dirtySince = f.clock.Now()
	}
	f.mu.Unlock()
	f.awaken()
}

// awaken makes Run publish after batchInterval.
func (f *Feed) awaken() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Missed marks agents as changed at an unknown time, because an informer has lost its watch and
// missed a deletion or a change. Readers cannot resume until notifications that come more than
// missedQuiet later have advanced the revisions of both kinds.
func (f *Feed) Missed(keys ...Key) {
	f.mu.Lock()
	f.missedAgents = true
	f.missedConfigMaps = true
	f.missedAt = f.clock.Now()
	f.mu.Unlock()
	f.Touch(Revision{}, keys...)
}

// Withdrawn marks agents as changed at a revision, because they were deleted or their visibility
// was lowered. before is the former visibility.
func (f *Feed) Withdrawn(at Revision, before access.Visibility, keys ...Key) {
	f.mu.Lock()
	for _, key := range keys {
		f.withdrawn[key] = max(f.withdrawn[key], before)
	}
	f.mu.Unlock()
	f.Touch(at, keys...)
}

// Run publishes snapshots until ctx ends. It publishes the first one at once.
func (f *Feed) Run(ctx context.Context) {
	defer f.readers.Wait()
	f.publish(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		case r := <-f.readings:
			f.ended = append(f.ended, r)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(batchInterval):
		}
		f.publish(ctx)
	}
}

// AwaitRevision waits for a snapshot that includes a revision, and returns the snapshot. If ctx
// ends before, it returns false.
func (f *Feed) AwaitRevision(ctx context.Context, r Revision) (*Snapshot, bool) {
	return f.AwaitRevisionOf(ctx, "", r)
}

// AwaitRevisionOf is AwaitRevision for a snapshot that includes the revision of a namespace, or of all for "".
func (f *Feed) AwaitRevisionOf(ctx context.Context, namespace string, r Revision) (*Snapshot, bool) {
	for {
		f.mu.Lock()
		advanced := f.advanced
		f.mu.Unlock()
		if s := f.current.Load(); s != nil && s.RevisionOf(namespace).Includes(r) {
			return s, true
		}
		select {
		case <-advanced:
		case <-ctx.Done():
			return nil, false
		}
	}
}

// pending is what notifications have reported since the last batch or, without keys, what a batch has read.
type pending struct {
	keys      []Key
	withdrawn map[Key]access.Visibility
	revision  Revision
	resumable bool
	since     time.Time
}

func (f *Feed) take() pending {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := pending{revision: f.seen, resumable: !f.missedAgents && !f.missedConfigMaps, since: f.dirtySince, withdrawn: f.withdrawn}
	for key := range f.dirty {
		p.keys = append(p.keys, key)
	}
	f.dirty = make(map[Key]struct{})
	f.withdrawn = make(map[Key]access.Visibility)
	f.dirtySince = time.Time{}
	slices.SortFunc(p.keys, Key.compare)
	return p
}

// enqueue adds the agents of p to those that have to be read.
func (f *Feed) enqueue(p pending) {
	for _, key := range p.keys {
		f.turns.add(turn{key: key, before: f.taken, since: p.since})
	}
	for key, before := range p.withdrawn {
		f.lost[key] = max(f.lost[key], before)
	}
	f.taken = p.revision
}

// publish reads changed agents, for batchTime except for the first snapshot, and publishes the next snapshot and update.
func (f *Feed) publish(ctx context.Context) {
	work := f.take()
	f.enqueue(work)
	last := f.current.Load()
	first := last == nil
	if first {
		last = &Snapshot{}
	}
	done := f.readAll(ctx, last, work.revision, first)
	work.withdrawn = make(map[Key]access.Visibility)
	for _, t := range done.read {
		delete(f.unread, t.key)
		// An agent that changed again while it was read has its removal when it is read again.
		if before, isLost := f.lost[t.key]; isLost && !f.turns.waits(t.key) {
			work.withdrawn[t.key] = before
			delete(f.lost, t.key)
		}
		if work.since.IsZero() || t.since.Before(work.since) {
			work.since = t.since
		}
	}
	for _, key := range done.failed {
		f.unread[key] = struct{}{}
	}
	next := last.With(done.changes)
	next.words = f.vocabulary.after(done.changes, done.words)
	next.taken = work.revision
	next.behind = f.turns.behind(work.revision)
	for key := range f.unread { // the namespace is not up to date, so its revision must not advance
		next.behind[key.Namespace] = last.RevisionOf(key.Namespace)
	}
	next.revision = next.taken
	for _, r := range next.behind {
		next.revision = next.revision.min(r)
	}
	if failed := done.failed; len(failed) > 0 {
		time.AfterFunc(retryInterval, func() { f.Touch(Revision{}, failed...) })
	}
	if f.canBegin(1) { // those who subscribe have batchInterval for this batch
		f.awaken()
	}
	f.append(next, done.changes, work)
	f.current.Store(next)
	f.mu.Lock()
	close(f.advanced)
	f.advanced = make(chan struct{})
	f.mu.Unlock()
	agentsGauge.Set(float64(next.size))
	termsGauge.Set(float64(len(f.vocabulary.counts)))
	snapshotTime.Set(float64(f.clock.Now().UnixNano()) / 1e9)
	if !first && !work.since.IsZero() {
		updateDelay.Observe(f.clock.Since(work.since).Seconds())
	}
}

// append appends an update to the linked list. If nothing has changed, it only advances the
// revision of the latest update.
func (f *Feed) append(s *Snapshot, changes []Change, work pending) {
	latest := f.subscriptions.latest.Load()
	if latest != nil && len(changes) == 0 && len(work.withdrawn) == 0 && latest.resumable == work.resumable {
		latest.revision.Store(&s.revision)
		return
	}
	u := &Update{Snapshot: s, Changes: changes, resumable: work.resumable, since: work.revision, ready: make(chan struct{})}
	u.revision.Store(&s.revision)
	if latest == nil {
		u.Changes = nil // no reader has the state before
		f.subscriptions.latest.Store(u)
		return
	}
	u.Total = latest.Total + uint64(len(changes))
	u.Bytes = latest.Bytes + uint64(s.copied) // a size is not negative
	for i := range changes {
		u.Bytes += uint64(changes[i].heldBytes()) // a size is not negative
	}
	if latest.resumable {
		u.since = latest.since
		u.removals = latest.removals
	}
	// The slices of earlier updates share the array to which append adds. They end before the added
	// elements.
	for i := range changes {
		if before := changes[i].Before; before != nil && isRemoved(changes[i].After, before.Visibility) {
			u.removals = append(u.removals, Removal{Key: changes[i].Key, Visibility: before.Visibility, Revision: work.revision})
		}
	}
	// The revision of s may be older than a removal, while s lacks other changes. A withdrawn agent that s lacks, or has with a lower
	// visibility, gets a removal at the revision of the batch, even if changes does not contain the agent. That happens in two cases. Either the
	// cache showed a deletion before its notification arrived: an earlier snapshot has then removed
	// the agent, at an earlier revision than on other replicas. Or only another replica has ever
	// shown the agent.
	for _, key := range slices.SortedFunc(maps.Keys(work.withdrawn), Key.compare) {
		if before := work.withdrawn[key]; isRemoved(s.Get(key), before) {
			u.removals = append(u.removals, Removal{Key: key, Visibility: before, Revision: work.revision})
		}
	}
	if n := len(u.removals); n > maxRemovals {
		forgotten := u.removals[n-maxRemovals/2-1].Revision
		forgotten.Agents++
		u.since = u.since.Max(forgotten)
		u.removals = slices.Clone(u.removals[n-maxRemovals/2:])
	}
	f.subscriptions.follow(latest, u)
}

// Metrics of the index. All feeds of a process share them.
var (
	agentsGauge = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "a2a_registry_agents",
		Help: "Agents in the index of the registry.",
	})
	termsGauge = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "a2a_registry_terms",
		Help: "Distinct terms in the index of the registry.",
	})
	snapshotTime = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "a2a_registry_snapshot_timestamp_seconds",
		Help: "Time of the last snapshot of the index, which follows a change in the cluster.",
	})
	updateDelay = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "a2a_registry_update_delay_seconds",
		Help:    "Time from the first change of a batch to the snapshot that includes it.",
		Buckets: []float64{.025, .05, .1, .25, .5, 1, 2.5, 10},
	})
)

// Collectors returns the metrics of the index.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{agentsGauge, termsGauge, snapshotTime, updateDelay}
}
