// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redis stores tasks in Redis or Valkey, from 7.0 on, for several replicas
// and across restarts. docs/explanation/task-store.md describes the keys and the format.
//
// The process keeps each log that it writes or follows in memory, too: the fold, and the
// newest records, which all subscribers share. The process does not read back its own
// appends. One subscription for all logs notifies the process of the appends of other
// processes.
//
// Every call is bounded in time. During an outage, the store retries a call within that
// bound. Idempotency tokens ensure that a write does not happen twice.
package redis

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/kit/fairslots"
)

// Store implements store.Store.
type Store struct {
	options  Options
	scripts  *scripts
	calls    *caller
	cache    cache
	follower *follower
	// loads has a slot for a large read of a task.
	loads *fairslots.Slots[string]
}

// maxLoads is how many large reads of tasks may wait.
const maxLoads = 1024

var _ store.Store = (*Store)(nil)

// log is a log in Redis. It keeps its fold and newest records in memory, until the cache
// drops this memory.
type log struct {
	store *Store
	key   store.Key
	// name is the name of the task in keys.
	name string
	// charged is the number of bytes that the cache counts for the log, and cacheEntry the
	// place of the log in cache.used, nil while the log keeps nothing in memory. cache.mu
	// guards both.
	charged    int64
	cacheEntry *list.Element

	mu        sync.Mutex
	contextID string
	// fold is the task up to the event numbered seq; nil when the memory was
	// dropped.
	fold *store.Fold
	seq  uint64
	// records are the newest records of the log. The last one has the number seq.
	records     []*a2a.Record
	recordBytes int
	// foldedUpTo is the number of the last event in the fold that Redis has, and
	// unfolded counts the bytes of the events after it.
	foldedUpTo uint64
	unfolded   int
	// indeterminate counts the reasons to read the log again before its next use: appends
	// whose outcome is unknown, conflicts, and losses of the server (distrust). resolved is
	// the value of indeterminate when the log was last read.
	indeterminate, resolved uint64
	// wroteLast is true while the last append was by this process.
	wroteLast bool
	// lastToken is the token of the append that ends at seq.
	lastToken string
	// ended is store.ErrNotFound once the task does not exist any more, and
	// store.ErrRolledBack once the server has lost events that the log had.
	ended    error
	snapshot *a2a.Record
	watchers []*watcher
	room     store.Room
}

// watcher is a function with an identity, by which the end of a watch finds it.
type watcher struct{ wake func() }

// cache has the logs that this process uses or may use again. It bounds their memory (LRU):
// the least recently used logs drop their memory, and read from Redis again when they
// are used.
type cache struct {
	limit     int64
	encodings store.Encodings

	mu    sync.Mutex
	logs  map[store.Key]*log
	bytes int64
	// used has the logs that hold memory, the least recently used first.
	used *list.List
}

// follower keeps the watched logs up to date with the appends of other replicas,
// and signals messages in inboxes. It uses one subscription, and starts with the
// first watched log or inbox.
type follower struct {
	store      *Store
	ctx        context.Context //nolint:containedctx // it lasts as long as the follower
	cancel     context.CancelFunc
	goroutines sync.WaitGroup
	// work has a value when there is something for maintain to do.
	work chan struct{}

	mu      sync.Mutex
	started bool
	// watchedLogs has the logs of each name.
	watchedLogs map[string]map[*log]struct{}
	// unsubscribed contains the names without a subscription, with the time at which
	// the follower will subscribe to each. toUnsubscribe contains the names that no
	// longer need a subscription.
	unsubscribed  map[string]time.Time
	toUnsubscribe map[string]bool
	// stale has the logs that must be read.
	stale map[*log]struct{}
	// inboxSignals has a channel for each inbox, by the name of its channel in
	// Redis.
	inboxSignals map[string]chan struct{}
	// subscribedInboxes are the inboxes that have a subscription.
	subscribedInboxes map[string]bool
}
