// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// batchTime bounds the time in which a batch begins to read agents, after the first snapshot. The rest are read in the next batches, in
	// turn by namespace. Agents that take long to read therefore delay the changes of other namespaces by about two such times.
	batchTime = 20 * time.Millisecond
	// batchBytes bounds a batch in bytes that its update holds for its readers. The last agent may exceed it. A reader that takes each update
	// within a few times batchInterval is therefore never behind by MaxHeld.
	batchBytes = MaxHeld / 8
	// parallelReads is the number of changed agents from which the feed reads them in parallel.
	parallelReads = 256
	// readTimeout bounds the reads of a batch from the API server. Until these reads end, readers
	// of the feed see no change of any agent.
	readTimeout = 5 * time.Second
)

// batch is what the feed has read for one snapshot: the agents, the differences from the last snapshot with the bytes that they hold, and
// the agents that could not be read.
type batch struct {
	feed *Feed
	// isWhole is true for the first batch, which has all agents.
	isWhole bool
	// began is when batchTime began. isLate is true once readTimeout has passed.
	began  time.Time
	isLate bool

	mu      sync.Mutex
	read    []turn
	changes []Change
	held    int
	failed  []Key
}

// readAll reads agents in turn until the batch has batchBytes or batchTime has passed, or all if isWhole is true. It reads at least one. If
// the API server does not answer in readTimeout, the reads that need it fail, and the others have batchTime again. The changes are sorted
// by key.
func (f *Feed) readAll(ctx context.Context, last *Snapshot, asOf Revision, isWhole bool) *batch {
	workers := 1
	if f.turns.len() >= parallelReads {
		workers = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	b := &batch{feed: f, isWhole: isWhole, began: f.clock.Now()}
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for key, ok := b.next(ctx); ok; key, ok = b.next(ctx) {
				change := Change{Key: key, Before: last.Get(key)}
				var err error
				change.After, err = f.read(ctx, key, change.Before, asOf)
				b.note(change, err)
			}
		})
	}
	group.Wait()
	slices.SortFunc(b.changes, func(a, b Change) int { return a.Key.compare(b.Key) })
	return b
}

// next returns the agent whose turn is next. It returns false at the end of the batch.
func (b *batch) next(ctx context.Context) (key Key, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ctx.Err() != nil && !b.isLate {
		b.isLate = true
		b.began = b.feed.clock.Now()
	}
	isFull := len(b.read) > 0 && (b.held >= batchBytes || b.feed.clock.Since(b.began) >= batchTime)
	if b.feed.turns.len() == 0 || isFull && !b.isWhole {
		return Key{}, false
	}
	t := b.feed.turns.next()
	b.read = append(b.read, t)
	return t.key, true
}

// note adds what was read of an agent. After an error, change.After may be nil or outdated.
func (b *batch) note(change Change, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.feed.log.Error(err, "failed to read an agent for the registry", "namespace", change.Key.Namespace, "name", change.Key.Name)
		b.failed = append(b.failed, change.Key)
	}
	if change.After == change.Before || err != nil && change.After == nil {
		return
	}
	b.changes = append(b.changes, change)
	b.held += change.heldBytes()
}
