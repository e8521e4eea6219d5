// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
)

const (
	// gatherTime is how long changes are gathered before they become visible
	// together: a burst of any size costs one snapshot per gatherTime.
	gatherTime = 20 * time.Millisecond
	// retryTime is how long an agent that could not be read waits.
	retryTime = time.Second
)

// feed turns names of agents that changed into snapshots. It remembers only
// which agents to look at again, so no order or number of events can make it
// miss the last state.
type feed struct {
	// read returns the agent's entry as it is now, nil when it is gone. It is
	// given the entry of the last snapshot.
	read    func(ctx context.Context, key Key, last *Entry) (*Entry, error)
	current atomic.Pointer[Snapshot]
	log     logr.Logger

	mu    sync.Mutex
	dirty map[Key]struct{}
	wake  chan struct{}
}

func newFeed(read func(context.Context, Key, *Entry) (*Entry, error), log logr.Logger) *feed {
	return &feed{read: read, log: log, dirty: make(map[Key]struct{}), wake: make(chan struct{}, 1)}
}

// touch says that an agent may have changed. It never blocks.
func (f *feed) touch(keys ...Key) {
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

// run publishes snapshots until ctx ends. Nothing is published before the
// first call of run.
func (f *feed) run(ctx context.Context) {
	f.publish(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		}
		if !wait(ctx, gatherTime) {
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

// publish makes the next snapshot from all that changed.
func (f *feed) publish(ctx context.Context) {
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
			f.log.Error(err, "read agent for the registry", "namespace", key.Namespace, "name", key.Name)
			failed = append(failed, key)
		case is != was:
			changes[key] = is
		}
	}
	f.current.Store(last.With(changes))
	if len(failed) > 0 {
		time.AfterFunc(retryTime, func() { f.touch(failed...) })
	}
}
