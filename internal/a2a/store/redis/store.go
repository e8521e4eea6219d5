// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/kit/fairslots"
)

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
		state = number(a2a.StateUnknown)
		place = positionOf(time.Time{})
	}
	token := string(tokenText(n.Token))
	args := []any{
		digest(string(n.Owner)), digest(n.ContextID), n.TaskID,
		len(n.Events), token, encoded, state, place,
		string(n.Owner), n.ContextID, number(n.Dialect),
		millis(s.options.Retention), s.options.MaxTasks, millis(s.options.keyTTL()), string(n.Replica), t.descriptor,
		t.message, t.claim, principalOf(n.Key), s.options.MaxBytes, millis(s.options.endedTTL()), shareOf(n.Owner),
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
			s.options.Observer.Refused()
			return store.ErrFull
		case answer == 3:
			return store.ErrNoLease
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	l := s.cache.replace(s, n.Key)
	dropMemories(l.initialize(fold, &n, token, len(encoded)))
	return l, nil
}

// Open implements store.Store. The returned log has all events that Redis had stored before
// the call.
func (s *Store) Open(ctx context.Context, k store.Key) (store.Log, error) {
	for {
		l := s.cache.get(s, k)
		switch err := l.sync(ctx); {
		case err == nil:
			return l, nil
		case errors.Is(err, store.ErrRolledBack): // the log has left the cache
		default:
			s.cache.discard(l)
			return nil, err
		}
	}
}

// Open returns a store. It makes no connection; later calls return an error if Redis does
// not answer.
func Open(o Options) (*Store, error) {
	o.setDefaults()
	client, err := o.Server.dial(o.Timeout)
	if err != nil {
		return nil, err
	}
	s := &Store{
		options: o, scripts: newScripts(), cache: newCache(o.CacheBytes),
		loads: fairslots.New[string](fairslots.Options{Slots: 1, PerTenant: 1, Waiting: maxLoads}),
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
func (s *Store) EncodedBytes() int64 { return s.cache.encodings.Bytes() }
