// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
)

const (
	// batchInterval is the time for which the feed collects changes. A burst of any
	// size causes one snapshot per interval.
	batchInterval = 20 * time.Millisecond
	// retryInterval is the time after which the feed reads an agent again that it
	// could not read.
	retryInterval = time.Second
)

// Feed makes snapshots from notifications about changed agents. It keeps only the
// keys of changed agents and reads their state when it makes a snapshot, so the
// order and the number of notifications do not matter.
type Feed struct {
	// read returns the present entry of an agent, nil if it is gone. last is its entry
	// in the last snapshot.
	read    func(ctx context.Context, key Key, last *Entry) (*Entry, error)
	current atomic.Pointer[Snapshot]
	log     logr.Logger

	mu    sync.Mutex
	dirty map[Key]struct{}
	wake  chan struct{}
}

// NewFeed returns a Feed that reads agents by read.
func NewFeed(read func(context.Context, Key, *Entry) (*Entry, error), log logr.Logger) *Feed {
	return &Feed{read: read, log: log, dirty: make(map[Key]struct{}), wake: make(chan struct{}, 1)}
}

// Current returns the latest snapshot, nil before the first one.
func (f *Feed) Current() *Snapshot { return f.current.Load() }

// Touch marks agents as changed. It never blocks.
func (f *Feed) Touch(keys ...Key) {
	f.mu.Lock()
	for _, key := range keys {
		f.dirty[key] = struct{}{}
	}
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Run publishes snapshots until ctx ends, the first one at once.
func (f *Feed) Run(ctx context.Context) {
	f.publish(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		}
		if !wait(ctx, batchInterval) {
			return
		}
		f.publish(ctx)
	}
}

func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// publish makes the next snapshot from all changed agents.
func (f *Feed) publish(ctx context.Context) {
	f.mu.Lock()
	dirty := f.dirty
	f.dirty = make(map[Key]struct{})
	f.mu.Unlock()

	last := f.current.Load()
	if last == nil {
		last = &Snapshot{}
	}
	changes := make(map[Key]*Entry, len(dirty))
	var failed []Key
	for key := range dirty {
		was := last.Get(key)
		is, err := f.read(ctx, key, was)
		switch {
		case err != nil:
			f.log.Error(err, "failed to read an agent for the registry", "namespace", key.Namespace, "name", key.Name)
			failed = append(failed, key)
		case is != was:
			changes[key] = is
		}
	}
	f.current.Store(last.With(changes))
	if len(failed) > 0 {
		time.AfterFunc(retryInterval, func() { f.Touch(failed...) })
	}
}
