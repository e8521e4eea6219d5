// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// undecodable has, besides its configurations, one that cannot be decoded.
type undecodable struct{ store.SharedPushStore }

func (u undecodable) Unfinished(ctx context.Context, yield func(store.Push) bool) error {
	if err := u.SharedPushStore.Unfinished(ctx, yield); err != nil {
		return err
	}
	return errors.New("unknown format")
}

// forgotten returns a task with a push configuration of a replica that the store has forgotten.
func (b *fixture) forgotten(t *testing.T) *task {
	t.Helper()
	former := b.replica("a")
	task := b.task("t1")
	if _, err := former.SetPush(t.Context(), &a2a.SetPushRequest{Owner: task.key.Owner, Config: a2a.PushConfig{
		Dialect: a2a.DialectV10, TaskID: "t1", URL: hook,
	}}); err != nil {
		t.Fatal(err)
	}
	former.stop()
	if err := former.member.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(24 * time.Hour)
	if dead, err := b.tasks.Join("b").Dead(t.Context()); err != nil || len(dead) > 0 {
		t.Fatalf("Dead() = %v, %v, want none", dead, err)
	}
	return task
}

func TestDeliveriesOfAForgottenReplicaContinueDespiteADamagedConfiguration(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		b.stop()
		task := b.forgotten(t)
		b.options.Configs = undecodable{b.configs}
		later := b.replica("b")
		defer later.stop()
		task.setState(a2a.StateWorking)
		for range 200 {
			time.Sleep(3 * time.Second)
			b.renew(later)
		}
		later.wantSent(t, 1)
	})
}

// onceTasks is a store whose first call of Open fails.
type onceTasks struct {
	store.Store
	failed *atomic.Bool
}

func (d onceTasks) Open(ctx context.Context, k store.Key) (store.Log, error) {
	if d.failed.CompareAndSwap(false, true) {
		return nil, errNetwork
	}
	return d.Store.Open(ctx, k)
}

// The first attempt adopts the configuration, and then cannot open the task.
func TestTakeoverFromAForgottenReplicaThatFailedIsRepeated(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		b.stop()
		task := b.forgotten(t)
		b.options.Tasks = onceTasks{b.tasks, new(atomic.Bool)}
		later := b.replica("b")
		defer later.stop()
		task.setState(a2a.StateWorking)
		for range 200 {
			time.Sleep(3 * time.Second)
			b.renew(later)
		}
		later.wantSent(t, 1)
	})
}

// failingConfigs is a store that cannot list the configurations while fail is true.
type failingConfigs struct {
	store.SharedPushStore
	fail *atomic.Bool
}

func (u failingConfigs) Unfinished(ctx context.Context, yield func(store.Push) bool) error {
	if u.fail.Load() {
		return errNetwork
	}
	return u.SharedPushStore.Unfinished(ctx, yield)
}

// The first search for forgotten replicas fails, and the second finds none. An hour later, a takeover
// from a dead replica fails.
func TestEachOutageOfTheTakeoverIsLogged(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		b.stop()
		var text strings.Builder
		var fail atomic.Bool
		fail.Store(true)
		b.options.Log = slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
		b.options.Configs = failingConfigs{b.configs, &fail}
		other := b.replica("x")
		later := b.replica("b")
		defer later.stop()
		synctest.Wait()
		other.stop()
		fail.Store(false)
		for range 1200 {
			time.Sleep(3 * time.Second)
			b.renew(later)
			b.renew(other)
		}
		text.Reset()
		fail.Store(true)
		for range 100 {
			time.Sleep(3 * time.Second)
			b.renew(later)
		}
		if !strings.Contains(text.String(), "not taken over") {
			t.Errorf("the failure is not logged: %q", text.String())
		}
	})
}

// The lease of a living replica ends while another replica looks for forgotten replicas. The replica
// renews its lease after the other one has read it.
func TestDeliveriesOfAReplicaThatRenewsItsLeaseLateStay(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		b.stop()
		living := b.replica("a")
		defer living.stop()
		task := b.task("t1")
		if _, err := living.SetPush(t.Context(), &a2a.SetPushRequest{Owner: task.key.Owner, Config: a2a.PushConfig{
			Dialect: a2a.DialectV10, TaskID: "t1", URL: hook,
		}}); err != nil {
			t.Fatal(err)
		}
		options := b.options
		calls := 0
		options.Member = renewingLease{slowLease{b.tasks.Join("b"), &calls}, func() { b.renew(living) }}
		other, err := push.New(options)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := other.Resume(ctx); err != nil {
			t.Fatalf("Resume() error = %v", err)
		}
		task.setState(a2a.StateWorking)
		living.wantSent(t, 1)
		_ = other.Drain(ctx)
	})
}

// partialConfigs is a store whose first list of configurations ends after the first of them, with
// an error.
type partialConfigs struct {
	store.SharedPushStore
	failed *atomic.Bool
}

func (p partialConfigs) Unfinished(ctx context.Context, yield func(store.Push) bool) error {
	if !p.failed.CompareAndSwap(false, true) {
		return p.SharedPushStore.Unfinished(ctx, yield)
	}
	err := p.SharedPushStore.Unfinished(ctx, func(c store.Push) bool {
		yield(c)
		return false
	})
	if err != nil {
		return err
	}
	return store.ErrUnavailable
}

// The second of two forgotten replicas is not in the list.
func TestSearchForForgottenReplicasIsRepeatedAfterAPartialList(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		b.stop()
		tasks := []*task{b.forgotten(t), b.task("t2")}
		if _, err := b.configs.Put(t.Context(), store.Push{
			Task: tasks[1].key, Config: a2a.PushConfig{ID: "a", Dialect: a2a.DialectV10, TaskID: "t2", URL: hook}, Acked: 2, Replica: "c/1",
		}); err != nil {
			t.Fatal(err)
		}
		b.options.Configs = partialConfigs{b.configs, new(atomic.Bool)}
		later := b.replica("b")
		defer later.stop()
		for _, each := range tasks {
			each.setState(a2a.StateWorking)
		}
		time.Sleep(8 * time.Second)
		later.wantSent(t, 2)
	})
}

// forgettingLease is a lease whose store lists a dead replica only once.
type forgettingLease struct {
	push.Member
	dead  store.Replica
	calls *int
}

func (l forgettingLease) Dead(context.Context) ([]store.Replica, error) {
	if *l.calls++; *l.calls <= 2 {
		return []store.Replica{l.dead}, nil
	}
	return nil, nil
}

func (forgettingLease) Alive(context.Context, store.Replica) (bool, error) { return false, nil }

// The hour after which the store forgets a dead replica ends while another replica waits before the
// takeover.
func TestDeliveriesOfAReplicaThatIsForgottenBeforeTheTakeoverContinue(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		b.stop()
		former := b.replica("a")
		task := b.task("t1")
		if _, err := former.SetPush(t.Context(), &a2a.SetPushRequest{Owner: task.key.Owner, Config: a2a.PushConfig{
			Dialect: a2a.DialectV10, TaskID: "t1", URL: hook,
		}}); err != nil {
			t.Fatal(err)
		}
		former.stop()
		options := b.options
		calls := 0
		options.Member = forgettingLease{b.tasks.Join("b"), former.member.Self(), &calls}
		later, err := push.New(options)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		task.setState(a2a.StateWorking)
		if err := later.Resume(ctx); err != nil {
			t.Fatalf("Resume() error = %v", err)
		}
		b.wantEvents("3")
		_ = later.Drain(ctx)
	})
}
