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
	"cmp"
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
	// Timeout bounds a call, and a creation with all its attempts, 2 s by default.
	// AppendTimeout bounds an append, reading and writing with all their attempts, 1 s
	// by default. Write.RetryFor takes the place of either bound.
	Timeout, AppendTimeout time.Duration
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
	fold.Number(n.Events)
	encoded := writeEvents(home{n.TaskID, n.ContextID}, n.Events, nil)
	state, place := statusOf(n.Events)
	if state == "" {
		state, place = number(a2a.StateUnknown), placeOf(time.Time{})
	}
	args := []any{
		digest(string(n.Owner)), digest(n.ContextID), n.TaskID,
		len(n.Events), tokenText(n.Token), encoded, state, place,
		string(n.Owner), n.ContextID, number(n.Dialect),
		millis(s.options.Retention), s.options.MaxTasks, millis(s.options.keep()), string(n.Replica), t.descriptor,
		t.message, t.claim,
	}
	err := store.RetryWrite(ctx, n.Repeat, func() error {
		reply, err := s.calls.pipe(ctx, s.scripts.create, len(encoded), args...)
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
	shed(l.begin(fold, n.ContextID, n.Events, len(encoded)))
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
		reply, err := s.calls.pipe(ctx, what, size, args...)
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
