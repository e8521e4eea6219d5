// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memory stores tasks in this process: bounded by number, bytes and age,
// and lost when the process ends.
//
// It starts no goroutine. Calls remove expired tasks. When room is needed, they evict
// tasks of the owner that uses most of the store: finished tasks first, then tasks that
// wait for their client. Among these, they evict tasks without a watcher before others,
// and old tasks before new ones. They never evict a task with a running turn.
package memory

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Store implements store.Store.
type Store struct {
	options Options
	// bytes is the sum of the charges of all logs.
	bytes     atomic.Int64
	encodings store.Encodings

	mu   sync.Mutex
	logs map[store.Key]*log
	// owners has the logs of each owner, in no order.
	owners map[a2a.Owner][]*log
	// finished and idle have the tasks that may be evicted, the oldest first.
	finished, idle list.List
	// paused has the idle logs of each conversation.
	paused map[store.Conversation][]*log
	// accounts has the account of each principal, and shares the share of each a2a.Owner.Share. heaviest is the account with
	// the largest weight among those that noteGrowth has compared, or nil. maxShareBytes bounds the bytes
	// of one share.
	accounts      map[string]*account
	shares        map[string]*share
	heaviest      *account
	maxShareBytes int64
	conversations conversations
}

var _ store.Store = (*Store)(nil)

// New returns an empty store.
func New(options Options) *Store {
	options.setDefaults()
	s := &Store{options: options, logs: map[store.Key]*log{}, owners: map[a2a.Owner][]*log{}, accounts: map[string]*account{}, shares: map[string]*share{}, paused: map[store.Conversation][]*log{}}
	s.maxShareBytes = options.MaxBytes / 4 * 3
	s.encodings.Limit = options.MaxBytes / 4
	s.conversations = newConversations(options.MaxTasks, options.MaxBytes/8)
	return s
}

// account contains the usage of one principal, in all its tenants. Store.mu guards all
// fields but bytes.
type account struct {
	principal string
	share     *share
	tasks     int
	bytes     atomic.Int64
	// finished and idle are the tasks of the store's lists that belong to the
	// principal, in the same order.
	finished, idle list.List
}

// share contains the usage of the accounts of one a2a.Owner.Share. Store.mu guards all fields but bytes.
type share struct {
	name     string
	tasks    int
	bytes    atomic.Int64
	accounts map[*account]struct{}
}

type log struct {
	store   *Store
	key     store.Key
	account *account
	place   evictionPlace
	// ownerIndex is the index of the log among the logs of its owner. Store.mu guards it.
	ownerIndex int
	// pausedIn is the conversation whose paused tasks contain this one; nil for none.
	// Store.mu guards it.
	pausedIn *store.Conversation

	mu   sync.Mutex
	fold *store.Fold
	// records are the newest records of the log. The last one has the number seq.
	records     []*a2a.Record
	seq         uint64
	recordBytes int
	// journal has the entries of the journal, and journalBytes their size.
	journal      [][]byte
	journalBytes int
	// charge is the number of bytes that the store counts for this log.
	charge  int64
	removed bool
	// snapshot is the last returned snapshot; nil after the next event.
	snapshot *a2a.Record
	watchers []*watcher
	room     store.Room
	// creationToken is the token of the creation. written contains the appends that have a
	// token and whose last record is still in the log.
	creationToken store.Token
	written       []written
}

// written is an append that has a token.
type written struct {
	last  uint64
	token store.Token
}

// watcher is a function with an identity, by which unwatch finds it.
type watcher struct{ wake func() }

// evictionPlace is the position of a log in the lists of eviction. Store.mu guards
// it.
type evictionPlace struct {
	queue *list.List
	at    *list.Element
	// own is the list of the account, and ownAt is the position in it.
	own   *list.List
	ownAt *list.Element
	since time.Time
}
