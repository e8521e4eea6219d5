// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redis stores tasks in Redis or Valkey, from 7.0 on, for several replicas
// and across restarts. docs/adr/0015 describes the keys and the format.
//
// A log that this process writes or follows is also in its memory: its fold, and
// records that all its subscribers share. The process does not read back its own
// appends. One subscription tells it what others append, for all logs together.
//
// Every call is bounded in time. The store retries outages within that bound, and
// idempotency tokens prevent that a write happens twice.
package redis

import (
	"cmp"
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Options configure a store. Zero means the default.
type Options struct {
	// Server and Prefix are required. The prefix begins every key and contains a
	// hash tag, such as "a2a:{team/echo}:". The replicas of one agent share it, and
	// no other agent has it.
	Server Server
	Prefix string
	// MaxTasks bounds the number of tasks, and of conversations, 10,000 by default.
	MaxTasks int
	// Retention is how long a finished task is kept, 1 h by default.
	Retention time.Duration
	// MaxLogEvents and MaxLogBytes bound the log of one task: 16,384 events and
	// 16 MiB by default. MaxTaskBytes bounds its fold, 32 MiB by default.
	MaxLogEvents, MaxLogBytes, MaxTaskBytes int
	// CacheBytes bounds the memory of tasks in this process, by estimate, 32 MiB by
	// default. Encodings may take half of it in addition.
	CacheBytes int64
	// Timeout bounds a call, and a creation with all its attempts, 2 s by default.
	// AppendTimeout bounds an append, reading and writing with all their attempts, 1 s
	// by default. Write.RetryFor takes the place of either bound.
	Timeout, AppendTimeout time.Duration
	// Observer observes calls; nil for none.
	Observer Observer
	// Log gets the losses of the subscription.
	Log *slog.Logger
	// Now is the clock. Times that replicas share use the clock of Redis.
	Now func() time.Time
}

// Observer gets the duration and the error of each call, for metrics. Its methods
// must not block.
type Observer interface {
	Called(took time.Duration, err error)
}

type unobserved struct{}

func (unobserved) Called(time.Duration, error) {}

func (o *Options) setDefaults() {
	setDefault(&o.MaxTasks, 10_000)
	setDefault(&o.Retention, time.Hour)
	setDefault(&o.MaxLogEvents, 16_384)
	setDefault(&o.MaxLogBytes, 16<<20)
	setDefault(&o.MaxTaskBytes, 32<<20)
	setDefault(&o.CacheBytes, 32<<20)
	setDefault(&o.Timeout, 2*time.Second)
	setDefault(&o.AppendTimeout, time.Second)
	if o.Observer == nil {
		o.Observer = unobserved{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the default of an injected clock
	}
}

func setDefault[T int | int64 | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}

// minKeyTTL is the least time to live of every key after its last change. Only keys
// of deleted agents go unchanged for that long. A change renews the time to live
// only when more than keyTTLSlack of it has passed, to save writes (live in
// prelude.lua).
const (
	minKeyTTL   = 30 * 24 * time.Hour
	keyTTLSlack = 24 * time.Hour
)

// keyTTL returns the time to live of keys. It exceeds Retention by keyTTLSlack, so
// that a finished task can be read for its whole retention.
func (o *Options) keyTTL() time.Duration { return max(minKeyTTL, o.Retention+keyTTLSlack) }

// Store implements store.Store.
type Store struct {
	options  Options
	scripts  *scripts
	calls    *caller
	cache    cache
	follower *follower
}

var _ store.Store = (*Store)(nil)

// Open returns a store. It makes no connection: each call finds out whether Redis
// answers.
func Open(o Options) (*Store, error) {
	o.setDefaults()
	client, err := o.Server.dial(o.Timeout)
	if err != nil {
		return nil, err
	}
	s := &Store{
		options: o, scripts: newScripts(), cache: newCache(o.CacheBytes),
		calls: &caller{client: client, prefix: o.Prefix, timeout: o.Timeout, observer: o.Observer, now: o.Now},
	}
	s.follower = newFollower(s)
	return s, nil
}

// Close closes the connections. No other method may run at the same time or later.
func (s *Store) Close() error {
	s.follower.close()
	return s.calls.close()
}

// Bytes returns the estimate that CacheBytes bounds.
func (s *Store) Bytes() int64 { return s.cache.size() }

// EncodedBytes returns the bytes of the encodings of events.
func (s *Store) EncodedBytes() int64 { return s.cache.encodings.bytes.Load() }

// Create implements store.Store. Options.Timeout, or Write.RetryFor, bounds it with all
// its attempts.
func (s *Store) Create(ctx context.Context, n store.NewTask) (store.Log, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(n.RetryFor, s.options.Timeout))
	defer cancel()
	var t turn
	if n.Replica != "" {
		var err error
		if t, err = encodeTurn(n.Turn); err != nil {
			return nil, err
		}
	}
	fold := store.NewFold(n.TaskID, n.Origin)
	fold.AssignIndexes(n.Events)
	encoded := writeEvents(taskIDs{n.TaskID, n.ContextID}, n.Events, nil)
	state, place := statusOf(n.Events)
	if state == "" {
		state, place = number(a2a.StateUnknown), positionOf(time.Time{})
	}
	args := []any{
		digest(string(n.Owner)), digest(n.ContextID), n.TaskID,
		len(n.Events), tokenText(n.Token), encoded, state, place,
		string(n.Owner), n.ContextID, number(n.Dialect),
		millis(s.options.Retention), s.options.MaxTasks, millis(s.options.keyTTL()), string(n.Replica), t.descriptor,
		t.message, t.claim,
	}
	err := store.RetryWrite(ctx, n.Repeat, func() error {
		reply, err := s.calls.pipelined(ctx, s.scripts.create, len(encoded), args...)
		if err != nil {
			return err
		}
		switch answer, err := integer(reply); {
		case err != nil:
			return err
		case answer == 1:
			return store.ErrExists
		case answer == 2:
			return store.ErrFull
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	l := s.cache.replace(s, n.Key)
	dropMemories(l.initialize(fold, n.ContextID, n.Events, len(encoded)))
	return l, nil
}

// Open implements store.Store. What the log tells is at least as new as the call.
func (s *Store) Open(ctx context.Context, k store.Key) (store.Log, error) {
	l := s.cache.get(s, k)
	if err := l.sync(ctx); err != nil {
		s.cache.discard(l)
		return nil, err
	}
	return l, nil
}

// count runs a script that returns a number, with retries for Options.Timeout. The
// script does no harm when it runs twice.
func (s *Store) count(ctx context.Context, what *script, size int, args []any) (n int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	err = store.Retry(ctx, func() error {
		reply, err := s.calls.pipelined(ctx, what, size, args...)
		if err != nil {
			return err
		}
		n, err = integer(reply)
		return err
	})
	return n, err
}

func millis(d time.Duration) int64 { return d.Milliseconds() }

func number[T ~uint8](v T) string { return strconv.Itoa(int(v)) }
