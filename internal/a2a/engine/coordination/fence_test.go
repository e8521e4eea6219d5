// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package coordination_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine/coordination"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// unreachable is a store that does not answer while down is true.
type unreachable struct {
	store.Member
	down atomic.Bool
}

func (u *unreachable) Renew(ctx context.Context, lease time.Duration) ([]store.Key, error) {
	if u.down.Load() {
		return nil, store.ErrUnavailable
	}
	return u.Member.Renew(ctx, lease)
}

func (u *unreachable) Create(ctx context.Context, n store.NewTask) (log store.Log, err error) {
	ctx, cancel := context.WithTimeout(ctx, n.RetryFor)
	defer cancel()
	err = store.RetryWrite(ctx, n.Repeat, func() (err error) {
		if u.down.Load() {
			return store.ErrUnavailable
		}
		log, err = u.Member.Create(ctx, n)
		return err
	})
	return log, err
}

func (u *unreachable) Open(ctx context.Context, k store.Key) (store.Log, error) {
	log, err := u.Member.Open(ctx, k)
	return &unreachableLog{log, u}, err
}

type unreachableLog struct {
	store.Log
	store *unreachable
}

func (l *unreachableLog) Append(ctx context.Context, a store.Append) (seq uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.RetryFor)
	defer cancel()
	err = store.RetryWrite(ctx, a.Repeat, func() (err error) {
		if l.store.down.Load() {
			return store.ErrUnavailable
		}
		seq, err = l.Log.Append(ctx, a)
		return err
	})
	return seq, err
}

// stopping is a host whose StopRuns calls stopRuns. A takeover lasts for takeover.
type stopping struct {
	coordination.Host
	stopRuns func(ctx context.Context)
	takeover time.Duration
}

func (stopping) Active() []store.Key            { return nil }
func (stopping) Draining() bool                 { return false }
func (s stopping) StopRuns(ctx context.Context) { s.stopRuns(ctx) }

func (s stopping) TakeOver(ctx context.Context, _ store.Key) error {
	select {
	case <-time.After(s.takeover):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// After the writes are interrupted, a run may still append before it is canceled. This
// append must not hold the lock of the task until after the end of the lease.
func TestFencedReplicaRetriesNoWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease = 9 * time.Second
		member := &unreachable{Member: storetest.NewMemory(memory.Options{}).Join("a")}
		c := coordination.NewShared(member, coordination.Options{
			Lease: lease, RetryFor: time.Minute, FenceRuns: func() bool { return true }, ClaimWindow: func() time.Duration { return time.Minute }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		})
		key := store.Key{Owner: "owner", TaskID: "t"}
		var stopped time.Time
		var appendErr, createErr error
		c.Start(stopping{stopRuns: func(ctx context.Context) {
			log, err := member.Open(ctx, key)
			if err == nil {
				_, appendErr = c.Append(ctx, log, store.Append{After: 1, Events: message(), Hold: store.Keep, Write: store.Write{RetryFor: time.Minute}})
				_, createErr = c.Create(ctx, store.NewTask{Key: key, Events: message(), Write: store.Write{RetryFor: time.Minute}}, c.Term())
			}
			stopped = time.Now()
		}})
		synctest.Wait()
		log, err := c.Create(t.Context(), store.NewTask{Key: key, Events: message()}, c.Term())
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		member.down.Store(true)
		time.Sleep(2 * lease)
		synctest.Wait()
		if after := stopped.Sub(began); stopped.IsZero() || after >= lease {
			t.Errorf("runs stopped %s after the last renewal, want less than %s", after, lease)
		}
		if !errors.Is(appendErr, store.ErrIndeterminate) || !errors.Is(createErr, store.ErrUnavailable) || !c.Fenced() {
			t.Errorf("fenced %v: Append() error = %v, Create() error = %v", c.Fenced(), appendErr, createErr)
		}
		member.down.Store(false)
		time.Sleep(lease)
		if _, err := c.Append(t.Context(), log, store.Append{After: 1, Events: message(), Hold: store.Keep}); err != nil || c.Fenced() {
			t.Errorf("fenced %v after a renewal: Append() error = %v", c.Fenced(), err)
		}
		c.Stop(t.Context())
	})
}

func message() []a2a.Event {
	return []a2a.Event{{Message: &a2a.Message{ID: "m", Role: a2a.RoleUser}}}
}

// unleased is a store that does not renew leases while down is true.
type unleased struct {
	store.Member
	down atomic.Bool
}

func (u *unleased) Renew(ctx context.Context, lease time.Duration) ([]store.Key, error) {
	if u.down.Load() {
		return nil, store.ErrUnavailable
	}
	return u.Member.Renew(ctx, lease)
}

// Other replicas take over the tasks of a replica without a lease, so such a replica creates
// no task.
func TestReplicaCreatesNoTaskBeforeItsFirstLease(t *testing.T) {
	for name, fence := range map[string]bool{"Fail": false, "Retry": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				member := &unleased{Member: storetest.NewMemory(memory.Options{}).Join("a")}
				member.down.Store(true)
				c := coordination.NewShared(member, coordination.Options{
					Lease: 9 * time.Second, RetryFor: time.Minute, FenceRuns: func() bool { return fence }, ClaimWindow: func() time.Duration { return time.Minute }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
				})
				c.Start(stopping{stopRuns: func(context.Context) {}})
				defer c.Stop(context.Background())
				synctest.Wait()
				n := store.NewTask{Key: store.Key{Owner: "owner", TaskID: "t"}, Events: message()}
				early := c.Term()
				if _, err := c.Create(t.Context(), n, early); !errors.Is(err, store.ErrUnavailable) || !c.Fenced() {
					t.Errorf("fenced %v: Create() error = %v, want ErrUnavailable", c.Fenced(), err)
				}
				member.down.Store(false)
				time.Sleep(time.Second)
				if _, err := c.Create(t.Context(), n, early); !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("Create() of the earlier term: error = %v, want ErrUnavailable", err)
				}
				if _, err := c.Create(t.Context(), n, c.Term()); err != nil || c.Fenced() {
					t.Errorf("fenced %v after a renewal: Create() error = %v", c.Fenced(), err)
				}
			})
		})
	}
}

// The takeover of many large tasks takes longer than a lease. The replica still renews its own lease, and its turns continue.
func TestTakeoverDelaysNoRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease = 9 * time.Second
		stores := storetest.NewMemory(memory.Options{})
		dead := stores.Join("dead")
		if _, err := dead.Renew(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"t1", "t2", "t3"} {
			if _, err := dead.Create(t.Context(), store.NewTask{Key: store.Key{Owner: "owner", TaskID: id}, Events: message(), Write: store.Write{Replica: dead.Self()}}); err != nil {
				t.Fatal(err)
			}
		}
		c := coordination.NewShared(stores.Join("a"), coordination.Options{
			Lease: lease, RetryFor: time.Minute, FenceRuns: func() bool { return true }, ClaimWindow: func() time.Duration { return time.Minute }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		})
		c.Start(stopping{takeover: lease, stopRuns: func(context.Context) { t.Error("the replica stops its runs") }})
		time.Sleep(6 * lease)
		synctest.Wait()
		if c.Fenced() {
			t.Error("the replica has lost its lease")
		}
		c.Stop(t.Context())
	})
}
