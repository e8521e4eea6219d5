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

// heldBytes returns about how many bytes a change holds in memory for readers that have not processed it: the former
// entry, and the encoded events.
func (c *Change) heldBytes() (bytes int) {
	if before := c.Before; before != nil {
		bytes += entryBytes + len(before.body) + len(before.terms)*termBytes
		// Otherwise, the entry after the change has the same text.
		if c.After == nil || before.Revision.ConfigMaps != c.After.Revision.ConfigMaps {
			bytes += len(before.source.Text)
		}
	}
	if c.After != nil {
		bytes += 2 * len(c.After.body)
	}
	return bytes
}

// The sizes of an entry without its parts and of a term, in bytes.
const (
	entryBytes = 256
	termBytes  = 8
)

// SameVisibility reports whether the Visibility of the agent is the same before and after the
// change.
func (c *Change) SameVisibility() bool {
	return c.Before != nil && c.After != nil && c.Before.Visibility == c.After.Visibility
}

// Removal is a tombstone: an agent with the Visibility was removed, or its Visibility was
// lowered, at or before the Revision.
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
// list, which readers follow (change feed). When no reader needs an update any more, the
// garbage collector frees it.
type Update struct {
	Snapshot *Snapshot
	// Changes are sorted by key.
	Changes []Change
	// removals are the latest removals, the oldest first. They include all removals after the
	// revision since. resumable is false while the feed has possibly missed removals.
	removals  []Removal
	since     Revision
	resumable bool
	// revision is the latest revision at which Snapshot was up to date.
	revision atomic.Pointer[Revision]
	next     *Update
	ready    chan struct{}
	// Total is the number of changes in all updates up to this one, and Bytes is about how many bytes of memory these
	// updates hold for a reader that has processed none of them.
	Total, Bytes uint64

	encodeOnce sync.Once
	encoded    any
}

// Encoded returns the result of encode. Only the first call for an update calls encode. All
// readers receive the same result.
func (u *Update) Encoded(encode func() any) any {
	u.encodeOnce.Do(func() { u.encoded = encode() })
	return u.encoded
}

// Ready returns a channel that is closed when there is a next update.
func (u *Update) Ready() <-chan struct{} { return u.ready }

// Next returns the next update. It must be called only after Ready is closed, or after
// Subscription.Take has returned a later update.
func (u *Update) Next() *Update { return u.next }

// Revision returns the latest revision at which the snapshot was up to date.
func (u *Update) Revision() Revision { return *u.revision.Load() }

// Since returns the changes since a revision, in the order of keys: the entries that may have
// changed, and the agents that were removed or whose Visibility was lowered, each with the
// highest Visibility that it had. The reader may already have some of these changes. ok is
// false if this replica cannot determine the changes: it started later, missed removals, does
// not store them any more, or has not reached the revision yet.
func (u *Update) Since(r Revision) (changed []*Entry, removed []Removal, ok bool) {
	if !u.resumable || !r.Includes(u.since) || !u.Revision().Includes(r) {
		return nil, nil, false
	}
	for e := range u.Snapshot.since(r) {
		changed = append(changed, e)
	}
	for i := len(u.removals) - 1; i >= 0; i-- {
		removal := &u.removals[i]
		// For an equal revision, the removal is included: the reader may have reached the
		// revision on a replica that had not processed the removal yet.
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
