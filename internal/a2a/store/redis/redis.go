// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redis keeps tasks in Redis or Valkey, from 7.0 on, for several
// replicas and across restarts. docs/adr/0015 tells what is stored and how.
//
// A log that this process writes or follows is also in its memory: folded, and
// with records that all subscribers here share. What it appended it never reads
// back; what others append it learns by one connection, however many follow.
//
// Every call is bounded. One that meets an outage is tried again within its
// bound, and the scripts see to it that nothing is done twice.
package redis

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Options are what a store works with. Zero means the default.
type Options struct {
	// Server and Prefix are required. The prefix begins every key and holds a
	// hash tag, such as "a2a:{team/echo}:": replicas of one agent share it, and
	// no other agent has it.
	Server Server
	Prefix string
	// MaxTasks bounds the number of tasks, and of conversations, 10,000 by default.
	MaxTasks int
	// Retention is how long a task is kept that has ended, 1 h by default.
	Retention time.Duration
	// MaxLogEvents and MaxLogBytes bound the log of one task: 16,384 events and
	// 16 MiB by default. MaxTaskBytes bounds its fold, 32 MiB by default.
	MaxLogEvents, MaxLogBytes, MaxTaskBytes int
	// CacheBytes bounds what this process keeps of tasks, by estimate, 32 MiB by
	// default. Encodings may take half of it beside.
	CacheBytes int64
	// Timeout bounds a call, 2 s by default. Patience bounds each of the two phases
	// of an append, reading and writing, with all its attempts, 1 s by default. It
	// is short because the caller holds a lock; the engine retries without it.
	Timeout, Patience time.Duration
	// Observer is told of calls; nil for none.
	Observer Observer
	// Log is told when followers lose their connection.
	Log *slog.Logger
	// Now is the clock. What has to be the same for all replicas goes by the
	// clock of Redis.
	Now func() time.Time
}

// Observer is told how calls end, for metrics. Its methods must not block.
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
	setDefault(&o.Patience, time.Second)
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

// quiet is the least time to live of every key after its last change. Only keys of
// agents that were deleted go without a change for so long. A change renews the time
// to live only if more than spare of it has passed, to save writes (live in
// prelude.lua).
const (
	quiet = 30 * 24 * time.Hour
	spare = 24 * time.Hour
)

// keep returns the time to live of keys. It exceeds Retention by spare, so that a
// task that has ended stays for as long as it can be read.
func (o *Options) keep() time.Duration { return max(quiet, o.Retention+spare) }

// Store implements store.Store.
type Store struct {
	options  Options
	scripts  *scripts
	calls    *caller
	cache    cache
	follower *follower
}

var _ store.Store = (*Store)(nil)

// Open returns a store. It makes no connection: whether Redis serves is found
// out by the first call, and by each one anew.
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

// Close ends the connections. No other method may run then.
func (s *Store) Close() error {
	s.follower.close()
	return s.calls.close()
}

// Bytes returns the estimate that CacheBytes bounds, and EncodedBytes what the
// encodings of events take beside.
func (s *Store) Bytes() int64 { return s.cache.size() }

// EncodedBytes returns what the encodings of events take.
func (s *Store) EncodedBytes() int64 { return s.cache.encodings.bytes.Load() }

// Create implements store.Store.
func (s *Store) Create(ctx context.Context, k store.Key, o store.Origin, events []a2a.Event) (store.Log, error) {
	return s.create(ctx, k, o, events, claim{})
}

func (s *Store) create(ctx context.Context, k store.Key, o store.Origin, events []a2a.Event, c claim) (*log, error) {
	fold := store.NewFold(k.TaskID, o)
	fold.Number(events)
	encoded := writeEvents(home{k.TaskID, o.ContextID}, events, nil)
	state, place := statusOf(events)
	if state == "" {
		state, place = number(a2a.StateUnknown), placeOf(time.Time{})
	}
	args := []any{
		digest(string(k.Owner)), digest(o.ContextID), k.TaskID,
		len(events), token(), encoded, state, place,
		string(k.Owner), o.ContextID, number(o.Dialect),
		millis(s.options.Retention), s.options.MaxTasks, millis(s.options.keep()), c.replica, c.brief,
		c.message, c.stands,
	}
	// A client whose task is refused may ask again: there is nothing to wait for.
	answer, err := s.tried(ctx, s.options.Timeout, s.scripts.create, len(encoded), args)
	switch {
	case err != nil:
		return nil, err
	case answer == 1:
		return nil, store.ErrExists
	case answer == 2:
		return nil, store.ErrFull
	}
	l := s.cache.replace(s, k)
	victims := l.begin(fold, o.ContextID, events, len(encoded))
	shed(victims)
	return l, nil
}

// Open implements store.Store. What the log tells is at least as new as the call.
func (s *Store) Open(ctx context.Context, k store.Key) (store.Log, error) {
	return s.open(ctx, k)
}

func (s *Store) open(ctx context.Context, k store.Key) (*log, error) {
	l := s.cache.get(s, k)
	if err := l.sync(ctx); err != nil {
		s.cache.discard(l)
		return nil, err
	}
	return l, nil
}

// tried runs a script that answers a number, again while an outage lasts.
func (s *Store) tried(ctx context.Context, patience time.Duration, what *script, size int, args []any) (answer int64, err error) {
	err = persist(ctx, patience, func(ctx context.Context) error {
		reply, err := s.calls.pipe(ctx, what, size, args...)
		if err != nil {
			return err
		}
		answer, err = integer(reply)
		return err
	})
	return answer, err
}

func millis(d time.Duration) int64 { return d.Milliseconds() }

func number[T ~uint8](v T) string { return strconv.Itoa(int(v)) }
