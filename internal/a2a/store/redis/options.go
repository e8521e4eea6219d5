// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"log/slog"
	"strconv"
	"time"
)

// Options configure a store. The zero value of a field means its default.
type Options struct {
	// Server and Prefix are required. The prefix begins every key and contains a hash
	// tag, such as "a2a:{team/echo}:". The replicas of one agent share the prefix, and no
	// other agent has the same one.
	Server Server
	Prefix string
	// MaxTasks bounds the number of tasks, and of conversations, 10,000 by default. In a full
	// store, a creation evicts a task of the principal with the largest share of MaxTasks or of
	// MaxBytes. Create returns store.ErrFull if every task that may be evicted belongs to a
	// principal with a smaller share than the creating one.
	MaxTasks int
	// MaxBytes bounds the bytes of tasks in Redis, 256 MiB by default. One principal may use three
	// quarters. A task counts in steps of 4 KiB, with 2 KiB for its keys. A creation or an append
	// that needs more bytes evicts tasks of the principal with the largest share of MaxTasks or
	// MaxBytes, and returns store.ErrFull if that is not enough. In addition, conversations may
	// use an eighth of MaxBytes, and push configurations a quarter.
	MaxBytes int64
	// MaxPushes bounds the number of push configurations, 10,000 by default.
	MaxPushes int
	// Retention is how long a finished task is kept, 1 h by default.
	Retention time.Duration
	// MaxLogEvents and MaxLogBytes bound the log of one task: 16,384 events and
	// 16 MiB by default. MaxTaskBytes bounds its fold, 32 MiB by default.
	MaxLogEvents, MaxLogBytes, MaxTaskBytes int
	// CacheBytes bounds the memory of tasks in this process, by estimate, 32 MiB by
	// default. In addition, cached encodings may use half of CacheBytes.
	CacheBytes int64
	// Timeout bounds one call, and a creation with all its attempts, 2 s by default.
	// AppendTimeout bounds an append, including the read before it and all attempts, 1 s by
	// default. Write.RetryFor replaces the bound of a creation or an append.
	Timeout, AppendTimeout time.Duration
	// Observer observes calls; nil for none.
	Observer Observer
	// Log receives lost and restored subscriptions, and messages in the inbox that cannot be
	// decoded. Nil discards them.
	Log *slog.Logger
	// Now is the clock of this process, time.Now by default. Leases, claims and the retention
	// of tasks use the clock of Redis.
	Now func() time.Time
}

// Observer receives the results of calls, for metrics and health. Its methods must not
// block.
type Observer interface {
	// Called receives the duration and the error of each call. The error is store.ErrFull
	// if the server has no memory left for new data (OOM). Such a server still accepts other
	// calls.
	Called(took time.Duration, err error)
	// HasRoom is called after each renewal of a lease if the server accepts new data.
	HasRoom()
	// Refused is called when a creation or an append returns store.ErrFull because the tasks have
	// reached Options.MaxTasks or MaxBytes, or the share of their principal.
	Refused()
	// Stored is called after each renewal of a lease with the counted bytes of all tasks.
	Stored(bytes int64)
}

type unobserved struct{}

func (unobserved) Called(time.Duration, error) {}

func (unobserved) HasRoom() {}

func (unobserved) Refused() {}

func (unobserved) Stored(int64) {}

func (o *Options) setDefaults() {
	setDefault(&o.MaxTasks, 10_000)
	setDefault(&o.MaxBytes, 256<<20)
	setDefault(&o.MaxPushes, 10_000)
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

// minKeyTTL is the least time to live, after their last change, of the keys of tasks that have not ended
// and of the keys without contents, such as the sets of ids. To save writes, a change renews the time to live
// only if more than keyTTLSlack of it has passed (live in prelude.lua). endedMargin is the time for which Redis keeps the
// contents of an ended task longer than Retention, if no replica removes them.
const (
	minKeyTTL   = 30 * 24 * time.Hour
	keyTTLSlack = 24 * time.Hour
	endedMargin = time.Hour
)

// keyTTL returns the time to live of keys. It exceeds Retention by keyTTLSlack, so
// that a finished task can be read for its whole retention.
func (o *Options) keyTTL() time.Duration { return max(minKeyTTL, o.Retention+keyTTLSlack) }

// endedTTL returns the time to live of the contents of an ended task: its log, its push configurations, and the
// conversation, unless another task of the conversation waits for its client.
func (o *Options) endedTTL() time.Duration { return o.Retention + endedMargin }

func millis(d time.Duration) int64 { return d.Milliseconds() }

func number[T ~uint8](v T) string { return strconv.Itoa(int(v)) }
