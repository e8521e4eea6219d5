// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

const (
	// patienceOfOwn is how long a log that this process wrote last goes without a
	// subscription: most turns are over by then, and who appends is here.
	patienceOfOwn = 100 * time.Millisecond
	// silence is how long a subscription may say nothing before it is asked
	// whether it is still there.
	silence = 5 * time.Second
	// readers bounds the logs that are read at once.
	readers = 8
)

// follower learns what others append to the logs that somebody here watches,
// by one subscription. It starts with the first of them.
type follower struct {
	store  *Store
	ctx    context.Context //nolint:containedctx // it is the life of the follower
	cancel context.CancelFunc
	work   sync.WaitGroup
	// kick says that there is something to do.
	kick chan struct{}

	mu      sync.Mutex
	started bool
	// watched are the logs of each name, and since when.
	watched map[string]map[*log]struct{}
	// due are the names that have no subscription yet; ended those that need none
	// any more.
	due   map[string]time.Time
	ended map[string]bool
	// behind are logs that have to be read.
	behind map[*log]struct{}
	// bells ring when there is mail; their channels are not those of logs.
	bells map[string]chan struct{}
	// rung are those that have a subscription.
	rung map[string]bool
}

func newFollower(s *Store) *follower {
	f := &follower{
		store: s, kick: make(chan struct{}, 1), watched: map[string]map[*log]struct{}{},
		due: map[string]time.Time{}, ended: map[string]bool{}, behind: map[*log]struct{}{},
		bells: map[string]chan struct{}{}, rung: map[string]bool{},
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

func (f *follower) close() {
	f.cancel()
	f.work.Wait()
}

// add follows a log from now on.
func (f *follower) add(l *log, own bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx.Err() != nil {
		return
	}
	logs := f.watched[l.name]
	if logs == nil {
		logs = map[*log]struct{}{}
		f.watched[l.name] = logs
		if f.ended[l.name] {
			delete(f.ended, l.name) // it still is subscribed
			f.behind[l] = struct{}{}
		} else {
			at := f.store.options.Now()
			if own {
				at = at.Add(patienceOfOwn)
			}
			f.due[l.name] = at
		}
	}
	logs[l] = struct{}{}
	f.start()
	f.tell()
}

// remove ends that.
func (f *follower) remove(l *log) {
	f.mu.Lock()
	defer f.mu.Unlock()
	logs := f.watched[l.name]
	delete(logs, l)
	delete(f.behind, l)
	if len(logs) > 0 || logs == nil {
		return
	}
	delete(f.watched, l.name)
	if _, due := f.due[l.name]; due {
		delete(f.due, l.name)
		return
	}
	f.ended[l.name] = true
	f.tell()
}

// look has a log read, if somebody watches it.
func (f *follower) look(l *log) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, watched := f.watched[l.name][l]; watched {
		f.behind[l] = struct{}{}
		f.tell()
	}
}

// bell returns what rings when something is published to a channel, and when
// something may have been missed.
func (f *follower) bell(channel string) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if rings := f.bells[channel]; rings != nil {
		return rings
	}
	rings := make(chan struct{}, 1)
	f.bells[channel] = rings
	if f.ctx.Err() == nil {
		f.start()
		f.tell()
	}
	return rings
}

// start needs mu.
func (f *follower) start() {
	if f.started {
		return
	}
	f.started = true
	subscription := f.store.calls.client.Subscribe(f.ctx, f.channel(""))
	f.work.Go(func() { f.listen(subscription) })
	f.work.Go(func() { f.tend(subscription) })
}

func (f *follower) tell() {
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

func (f *follower) channel(name string) string { return f.store.options.Prefix + "e:" + name }

// listen takes what the subscription says. A connection that is lost is made
// anew, and then says of each name that it is subscribed to it: what was missed
// is read then.
func (f *follower) listen(subscription *redis.PubSub) {
	// Who listens hears of the end by the end of the connection.
	stop := context.AfterFunc(f.ctx, func() { _ = subscription.Close() })
	defer stop()
	wait, silent, lost := store.FirstRetry, 0, false
	for f.ctx.Err() == nil {
		said, err := subscription.ReceiveTimeout(f.ctx, silence)
		if err == nil {
			if lost {
				f.store.options.Log.InfoContext(f.ctx, "redis tells of other replicas again")
			}
			wait, silent, lost = store.FirstRetry, 0, false
			f.hear(said)
			continue
		}
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() && silent == 0 {
			silent++
			if subscription.Ping(f.ctx) == nil {
				continue
			}
		}
		if f.ctx.Err() != nil {
			break
		}
		if silent > 0 {
			// Nobody answered: the connection is one only by name.
			silent = 0
			_ = subscription.Unsubscribe(f.ctx, f.channel("none")) // a write that fails ends it
		}
		if !lost {
			lost = true
			f.store.options.Log.WarnContext(f.ctx, "redis tells nothing of other replicas", "error", err)
		}
		pause(f.ctx, wait)
		wait = min(2*wait, store.LastRetry)
	}
}

func (f *follower) hear(said any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch m := said.(type) {
	case *redis.Subscription:
		if m.Kind == "subscribe" {
			f.ring(m.Channel)
			f.behindAll(strings.TrimPrefix(m.Channel, f.channel("")), 0)
		}
	case *redis.Message:
		f.ring(m.Channel)
		seq, _ := strconv.ParseUint(m.Payload, 10, 64) // "" is of a task that is gone
		f.behindAll(strings.TrimPrefix(m.Channel, f.channel("")), seq)
	}
}

// ring needs mu.
func (f *follower) ring(channel string) {
	select {
	case f.bells[channel] <- struct{}{}:
	default:
	}
}

// behindAll has those logs of a name read that do not know of an event; 0 is
// any. It needs mu.
func (f *follower) behindAll(name string, seq uint64) {
	for l := range f.watched[name] {
		if seq > 0 && l.knows(seq) {
			continue
		}
		f.behind[l] = struct{}{}
		f.tell()
	}
}

func (l *log) knows(seq uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fold != nil && l.seq >= seq
}

// tend keeps the subscription and the logs up to date.
func (f *follower) tend(subscription *redis.PubSub) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	wait := store.FirstRetry
	for {
		select {
		case <-f.ctx.Done():
			return
		case <-f.kick:
		case <-timer.C:
		}
		begin, end, behind, next := f.take()
		// What cannot be written now is told again with the next connection.
		if len(begin) > 0 {
			_ = subscription.Subscribe(f.ctx, begin...)
		}
		if len(end) > 0 {
			_ = subscription.Unsubscribe(f.ctx, end...)
		}
		if f.read(behind) {
			wait = store.FirstRetry
		} else {
			pause(f.ctx, wait)
			wait = min(2*wait, store.LastRetry)
			f.tell()
		}
		timer.Reset(next)
	}
}

// take returns what there is to do, and when there is more.
func (f *follower) take() (begin, end []string, behind []*log, next time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next = time.Hour
	now := f.store.options.Now()
	for name, at := range f.due {
		if in := at.Sub(now); in > 0 {
			next = min(next, in)
			continue
		}
		begin = append(begin, f.channel(name))
		delete(f.due, name)
	}
	for channel := range f.bells {
		if !f.rung[channel] {
			f.rung[channel] = true
			begin = append(begin, channel)
		}
	}
	for name := range f.ended {
		end = append(end, f.channel(name))
		delete(f.ended, name)
	}
	for l := range f.behind {
		behind = append(behind, l)
		delete(f.behind, l)
	}
	return begin, end, behind, next
}

// read reads logs. It reports whether all could be read; the others stay
// behind.
func (f *follower) read(behind []*log) bool {
	var reading sync.WaitGroup
	places := make(chan struct{}, readers)
	var failed sync.Map
	for _, l := range behind {
		places <- struct{}{}
		reading.Go(func() {
			defer func() { <-places }()
			if err := l.follow(f.ctx); err != nil {
				failed.Store(l, true)
			}
		})
	}
	reading.Wait()
	all := true
	failed.Range(func(key, _ any) bool {
		all = false
		f.look(key.(*log)) //nolint:forcetypeassert // nothing else is stored
		return true
	})
	return all
}

// follow brings a log up to date, or wakes those who read it from Redis.
func (l *log) follow(ctx context.Context) error {
	l.mu.Lock()
	inMemory := l.fold != nil
	if !inMemory {
		l.wake()
	}
	gone := l.gone
	l.mu.Unlock()
	if gone || !inMemory {
		return nil
	}
	if err := l.sync(ctx); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
