// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// maxRemovals bounds the removals (tombstones) that a replica stores for readers that resume.
const maxRemovals = 8192

// Change is the difference of one agent between two snapshots. Before is nil for a new
// agent, and After is nil for a removed agent.
type Change struct {
	Key           Key
	Before, After *Entry
}

// Unchanged reports whether the JSON of the agent is the same before and after.
func (c *Change) Unchanged() bool {
	return c.Before != nil && c.After != nil && c.Before.digest == c.After.digest
}

// SameVisibility reports whether the same callers see the agent before and after.
func (c *Change) SameVisibility() bool {
	return c.Before != nil && c.After != nil && c.Before.Visibility == c.After.Visibility
}

// Removal records that an agent with a Visibility was removed, or that its Visibility was
// lowered, at or before a revision (tombstone).
type Removal struct {
	Key        Key
	Visibility access.Visibility
	Revision   Revision
}

// isRemoved reports whether an agent does not exist any more (now is nil), or has a lower
// Visibility than before.
func isRemoved(now *Entry, before access.Visibility) bool {
	return now == nil || now.Visibility < before
}

// Update is a snapshot with the changes since the previous snapshot. Updates form a linked
// list, which readers follow (change feed). The garbage collector frees the updates that no
// reader needs.
type Update struct {
	Snapshot *Snapshot
	// Changes are sorted by key.
	Changes []Change
	// removals are the latest removals, the oldest first. They are complete after the revision
	// since. resumable is false while the feed may have missed removals.
	removals  []Removal
	since     Revision
	resumable bool
	// revision is the latest revision at which Snapshot was current.
	revision atomic.Pointer[Revision]
	next     *Update
	ready    chan struct{}
	// Total is the number of changes in all updates up to this one.
	Total uint64

	encodeOnce sync.Once
	encoded    any
}

// Encoded returns the result of encode. It calls encode once, and returns the same result to
// all readers.
func (u *Update) Encoded(encode func() any) any {
	u.encodeOnce.Do(func() { u.encoded = encode() })
	return u.encoded
}

// Ready returns a channel that is closed when Next may be called.
func (u *Update) Ready() <-chan struct{} { return u.ready }

// Next returns the following update. The caller must call it only after Ready is closed, or
// if Subscription.Take has returned a later update.
func (u *Update) Next() *Update { return u.next }

// Revision returns the latest revision at which the snapshot was current.
func (u *Update) Revision() Revision { return *u.revision.Load() }

// Since returns the entries that may have changed since a revision, and the agents that
// were removed or whose Visibility was lowered since then, with the highest Visibility that
// each one had. Both are in the order of keys. The reader may already have some of these
// changes. ok is false if this replica cannot determine the changes, because it started
// later, missed removals or does not store them any more, or if this replica has not reached
// the revision.
func (u *Update) Since(r Revision) (changed []*Entry, removed []Removal, ok bool) {
	if !u.resumable || !r.Includes(u.since) || !u.Revision().Includes(r) {
		return nil, nil, false
	}
	for e := range u.Snapshot.since(r) {
		changed = append(changed, e)
	}
	for i := len(u.removals) - 1; i >= 0; i-- {
		removal := &u.removals[i]
		// The reader may have seen the revision of a removal on a replica that had not
		// processed the removal yet.
		if r != removal.Revision && r.Includes(removal.Revision) {
			break
		}
		if isRemoved(u.Snapshot.Get(removal.Key), removal.Visibility) {
			removed = append(removed, *removal)
		}
	}
	slices.SortFunc(removed, func(a, b Removal) int {
		return cmp.Or(a.Key.compare(b.Key), cmp.Compare(b.Visibility, a.Visibility))
	})
	return changed, slices.CompactFunc(removed, func(a, b Removal) bool { return a.Key == b.Key }), true
}
