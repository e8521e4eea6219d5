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
	// ownLogDelay is the delay of the subscription to a log whose last append was by this
	// process. Most turns end within this time, so that the log needs no subscription.
	ownLogDelay = 100 * time.Millisecond
	// pingAfter is the time without a message after which the subscription is
	// pinged.
	pingAfter = 5 * time.Second
	// maxConcurrentReads bounds the logs that are read at once.
	maxConcurrentReads = 8
)

func newFollower(s *Store) *follower {
	f := &follower{
		store: s, work: make(chan struct{}, 1), watchedLogs: map[string]map[*log]struct{}{},
		unsubscribed: map[string]time.Time{}, toUnsubscribe: map[string]bool{}, stale: map[*log]struct{}{},
		inboxSignals: map[string]chan struct{}{}, subscribedInboxes: map[string]bool{},
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

func (f *follower) close() {
	f.cancel()
	f.goroutines.Wait()
}

// add starts to follow a log. If own is true, the last append was by this process, and the
// subscription begins after ownLogDelay.
func (f *follower) add(l *log, own bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx.Err() != nil {
		return
	}
	logs := f.watchedLogs[l.name]
	if logs == nil {
		logs = map[*log]struct{}{}
		f.watchedLogs[l.name] = logs
		if f.toUnsubscribe[l.name] {
			delete(f.toUnsubscribe, l.name) // the name still has a subscription
			f.stale[l] = struct{}{}
		} else {
			at := f.store.options.Now()
			if own {
				at = at.Add(ownLogDelay)
			}
			f.unsubscribed[l.name] = at
		}
	}
	logs[l] = struct{}{}
	f.start()
	f.wakeUp()
}

// remove stops following a log.
func (f *follower) remove(l *log) {
	f.mu.Lock()
	defer f.mu.Unlock()
	logs := f.watchedLogs[l.name]
	delete(logs, l)
	delete(f.stale, l)
	if len(logs) > 0 || logs == nil {
		return
	}
	delete(f.watchedLogs, l.name)
	if _, due := f.unsubscribed[l.name]; due {
		delete(f.unsubscribed, l.name)
		return
	}
	f.toUnsubscribe[l.name] = true
	f.wakeUp()
}

// refresh marks a log as stale, if it is watched.
func (f *follower) refresh(l *log) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, watched := f.watchedLogs[l.name][l]; watched {
		f.stale[l] = struct{}{}
		f.wakeUp()
	}
}

// inboxSignal returns a channel that receives a value when an inbox may have a message:
// after a notification, and after the subscription was restored.
func (f *follower) inboxSignal(channel string) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if rings := f.inboxSignals[channel]; rings != nil {
		return rings
	}
	rings := make(chan struct{}, 1)
	f.inboxSignals[channel] = rings
	if f.ctx.Err() == nil {
		f.start()
		f.wakeUp()
	}
	return rings
}

// start starts the goroutines once. mu is held.
func (f *follower) start() {
	if f.started {
		return
	}
	f.started = true
	subscription := f.store.calls.client.Subscribe(f.ctx, f.channel(""))
	f.goroutines.Go(func() { f.listen(subscription) })
	f.goroutines.Go(func() { f.maintain(subscription) })
}

func (f *follower) wakeUp() {
	select {
	case f.work <- struct{}{}:
	default:
	}
}

func (f *follower) channel(name string) string { return f.store.options.Prefix + "e:" + name }

// listen receives from the subscription. The client restores a lost connection, and the
// server then confirms each channel again. listen reads the logs of these channels,
// because a notification may have been lost.
func (f *follower) listen(subscription *redis.PubSub) {
	// Closing the connection ends ReceiveTimeout.
	stop := context.AfterFunc(f.ctx, func() { _ = subscription.Close() })
	defer stop()
	wait := store.FirstRetry
	silent := 0
	lost := false
	for f.ctx.Err() == nil {
		said, err := subscription.ReceiveTimeout(f.ctx, pingAfter)
		if err == nil {
			if lost {
				f.store.options.Log.InfoContext(f.ctx, "subscription to other replicas restored")
			}
			wait = store.FirstRetry
			silent = 0
			lost = false
			f.receive(said)
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
			// The server did not answer the ping: the connection is dead.
			silent = 0
			_ = subscription.Unsubscribe(f.ctx, f.channel("none")) // the failed write makes the client reconnect
		}
		if !lost {
			lost = true
			f.store.options.Log.WarnContext(f.ctx, "subscription to other replicas lost; retrying", "error", err)
		}
		store.Sleep(f.ctx, wait)
		wait = min(2*wait, store.LastRetry)
	}
}

func (f *follower) receive(said any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch m := said.(type) {
	case *redis.Subscription:
		if m.Kind == "subscribe" {
			f.signalInbox(m.Channel)
			f.markStale(strings.TrimPrefix(m.Channel, f.channel("")), 0)
		}
	case *redis.Message:
		f.signalInbox(m.Channel)
		seq, _ := strconv.ParseUint(m.Payload, 10, 64) // "" is the payload for a removed task
		f.markStale(strings.TrimPrefix(m.Channel, f.channel("")), seq)
	}
}

// signalInbox signals a message in an inbox. mu is held.
func (f *follower) signalInbox(channel string) {
	select {
	case f.inboxSignals[channel] <- struct{}{}:
	default:
	}
}

// markStale marks as stale the logs of a name that lack the event numbered seq. If seq is 0,
// it marks all logs of the name. mu is held.
func (f *follower) markStale(name string, seq uint64) {
	for l := range f.watchedLogs[name] {
		if seq > 0 && l.knows(seq) {
			continue
		}
		f.stale[l] = struct{}{}
		f.wakeUp()
	}
}

func (l *log) knows(seq uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fold != nil && l.seq >= seq
}

// maintain keeps the subscription and the logs up to date.
func (f *follower) maintain(subscription *redis.PubSub) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	wait := store.FirstRetry
	for {
		select {
		case <-f.ctx.Done():
			return
		case <-f.work:
		case <-timer.C:
		}
		begin, end, behind, next := f.nextWork()
		// A subscription that fails now is sent again with the next connection.
		if len(begin) > 0 {
			_ = subscription.Subscribe(f.ctx, begin...)
		}
		if len(end) > 0 {
			_ = subscription.Unsubscribe(f.ctx, end...)
		}
		if f.refreshAll(behind) {
			wait = store.FirstRetry
		} else {
			store.Sleep(f.ctx, wait)
			wait = min(2*wait, store.LastRetry)
			f.wakeUp()
		}
		timer.Reset(next)
	}
}

// nextWork returns the names to subscribe to and to unsubscribe from, the logs to read,
// and the time until there is more work.
func (f *follower) nextWork() (begin, end []string, behind []*log, next time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next = time.Hour
	now := f.store.options.Now()
	for name, at := range f.unsubscribed {
		if in := at.Sub(now); in > 0 {
			next = min(next, in)
			continue
		}
		begin = append(begin, f.channel(name))
		delete(f.unsubscribed, name)
	}
	for channel := range f.inboxSignals {
		if !f.subscribedInboxes[channel] {
			f.subscribedInboxes[channel] = true
			begin = append(begin, channel)
		}
	}
	for name := range f.toUnsubscribe {
		end = append(end, f.channel(name))
		delete(f.toUnsubscribe, name)
	}
	for l := range f.stale {
		behind = append(behind, l)
		delete(f.stale, l)
	}
	return begin, end, behind, next
}

// refreshAll reads the logs behind, at most maxConcurrentReads at once. It returns false if it
// could not read all of them, and marks the unread logs as stale.
func (f *follower) refreshAll(behind []*log) bool {
	var reading sync.WaitGroup
	places := make(chan struct{}, maxConcurrentReads)
	var failed sync.Map
	for _, l := range behind {
		places <- struct{}{}
		reading.Go(func() {
			defer func() { <-places }()
			if err := l.refresh(f.ctx); err != nil {
				failed.Store(l, true)
			}
		})
	}
	reading.Wait()
	all := true
	failed.Range(func(key, _ any) bool {
		all = false
		f.refresh(key.(*log)) // the map holds only logs
		return true
	})
	return all
}

// refresh reads the new events of a log that is in memory. If the log is not in memory,
// it wakes the watchers, which read from Redis.
func (l *log) refresh(ctx context.Context) error {
	l.mu.Lock()
	inMemory := l.fold != nil
	if !inMemory {
		l.wake()
	}
	ended := l.ended != nil
	l.mu.Unlock()
	if ended || !inMemory {
		return nil //nolint:nilerr // a log that has ended is read no more
	}
	if err := l.sync(ctx); !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrRolledBack) {
		return err
	}
	return nil
}
