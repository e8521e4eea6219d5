// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"slices"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/registry/text"
)

const (
	// batchTime bounds the time for which a batch waits for reads, after the first snapshot. A read that takes longer goes on beside the next
	// batches, and its namespace has no turn until then. An agent that takes long to read therefore delays the changes of other namespaces
	// by about this time.
	batchTime = 20 * time.Millisecond
	// batchBytes bounds a batch in bytes that its update holds for its readers. The last agents may exceed it. A reader that takes each update
	// within a few times batchInterval is therefore never behind by MaxHeld.
	batchBytes = MaxHeld / 8
	// parallelReads is the number of changed agents from which the feed reads them in parallel.
	parallelReads = 256
	// stalledTime is the time without the end of a read after which the batch begins another one beside those that run, so that reads which
	// take long do not use up the time of the batch.
	stalledTime = batchTime / 10
	// maxLeft is the number of namespaces with a read that a batch has left, from which no other one begins of a namespace whose reads take
	// long, because the processors are for requests, too.
	maxLeft = 2
	// maxBeside is the number of reads that may run beside one for each processor. Whether the first read of a namespace takes long is not
	// known before. Up to maxBeside namespaces whose reads take long therefore leave a place for the others.
	maxBeside = 8
	// readTimeout bounds the read of an agent from the API server. If it has passed, the reads of the namespace that follow in the same batch
	// fail at once if they need the API server, so that the other agents of the namespace need not wait for each of them. In the first batch,
	// those of all namespaces do.
	readTimeout = 5 * time.Second
	// manyBytes is the size of an entry from which its words are found beside the batches, too.
	manyBytes = 8 << 10
)

// reading is an agent that the feed has read. words are those of a large entry, if the vocabulary lacked some of them. isLate is true if
// the read failed because its time was over.
type reading struct {
	change Change
	words  []text.Word
	err    error
	isLate bool
}

// batch is what the feed has read for one snapshot: the agents, the differences from the last snapshot with the bytes that they hold, the
// words of large entries, and the agents that could not be read.
type batch struct {
	feed    *Feed
	read    []turn
	changes []Change
	held    int
	words   map[Key][]text.Word
	failed  []Key
	// isWhole is true for the first batch, which has all agents.
	isWhole bool
	// running is the number of reads of this batch that have not ended. late has the namespaces with a read for which readTimeout has passed.
	running int
	late    map[string]struct{}
}

// readAll reads agents in turn until batchTime has passed or the batch has batchBytes, or all if isWhole is true, and adds what the reads of
// earlier batches have read. It leaves the reads that have not ended by then. The changes are sorted by key.
func (f *Feed) readAll(ctx context.Context, last *Snapshot, asOf Revision, isWhole bool) *batch {
	b := &batch{feed: f, words: make(map[Key][]text.Word), late: make(map[string]struct{}), isWhole: isWhole}
	var over <-chan time.Time
	workers := 1
	if !isWhole {
		over = time.After(batchTime)
	}
	if f.turns.len() >= parallelReads {
		workers = cap(f.readings) - maxBeside
	}
	atOnce := workers
	stalled := time.NewTicker(stalledTime)
	defer stalled.Stop()
	for _, r := range f.ended {
		b.note(r)
	}
	f.ended = nil
	for isOver := false; !isOver; {
		for b.running < atOnce && (isWhole || b.held < batchBytes) && f.canBegin(workers) {
			b.begin(ctx, f.turns.next().key, last, asOf)
		}
		if b.running == 0 { // nothing is left to wait for, apart from reads of earlier batches
			select {
			case r := <-f.readings:
				b.note(r)
			default:
				isOver = true
			}
			continue
		}
		select {
		case r := <-f.readings:
			b.note(r)
			stalled.Reset(stalledTime)
		case <-stalled.C:
			atOnce = max(atOnce, b.running+1)
		case <-over:
			isOver = true
		}
	}
	f.turns.leave()
	slices.SortFunc(b.changes, func(a, b Change) int { return a.Key.compare(b.Key) })
	return b
}

// canBegin reports whether another read may begin. Only one that is the first of its namespace begins if workers already run.
func (f *Feed) canBegin(workers int) bool {
	return len(f.turns.running) < cap(f.readings) && f.turns.canBegin(workers)
}

// begin reads an agent on a goroutine of its own.
func (b *batch) begin(ctx context.Context, key Key, last *Snapshot, asOf Revision) {
	b.running++
	f := b.feed
	isWhole := b.isWhole
	timeout := readTimeout
	if _, isLate := b.late[key.Namespace]; isLate || isWhole && len(b.late) > 0 {
		timeout = 0
	}
	f.readers.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		c := Change{Key: key, Before: last.Get(key)}
		var err error
		c.After, err = f.read(ctx, key, c.Before, asOf)
		r := reading{change: c, err: err, isLate: err != nil && ctx.Err() != nil}
		if !isWhole && c.hasNewWords() && len(c.After.body) > manyBytes && f.vocabulary.lacks(c.After) {
			c.After.eachWord(func(w text.Word) { r.words = append(r.words, w) })
		}
		f.readings <- r // there is room for all reads
	})
}

// note adds what was read of an agent. After an error, the entry may be nil or outdated.
func (b *batch) note(r reading) {
	t, isOwn := b.feed.turns.done(r.change.Key)
	b.read = append(b.read, t)
	if isOwn {
		b.running--
	}
	if r.err != nil {
		b.feed.log.Error(r.err, "failed to read an agent for the registry", "namespace", r.change.Key.Namespace, "name", r.change.Key.Name)
		b.failed = append(b.failed, r.change.Key)
		if r.isLate {
			b.late[r.change.Key.Namespace] = struct{}{}
		}
	}
	if r.change.After == r.change.Before || r.err != nil && r.change.After == nil {
		return
	}
	b.changes = append(b.changes, r.change)
	b.held += r.change.heldBytes()
	if r.words != nil {
		b.words[r.change.Key] = r.words
	}
}
