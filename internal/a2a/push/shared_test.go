// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// replica is one of several replicas that use the stores of a fixture.
type replica struct {
	*push.Pushes
	member store.Member
	stop   func()
	sent   int
}

// count returns a guard that counts the requests of the replica.
func (r *replica) count(next push.Guard) push.Guard { return &counted{next, r} }

type counted struct {
	push.Guard
	by *replica
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.by.sent++
	return c.Guard.RoundTrip(r)
}

func (b *fixture) replica(name string) *replica {
	b.t.Helper()
	r := &replica{member: b.tasks.Join(name)}
	b.renew(r)
	options := b.options
	options.Member, options.Guard = r.member, r.count(b)
	var err error
	if r.Pushes, err = push.New(options); err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Resume(ctx) }()
	r.stop = func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Errorf("Resume() error = %v", err)
		}
		ended, cancel := context.WithCancelCause(b.t.Context())
		cancel(errEndOfTest)
		_ = r.Drain(ended)
	}
	return r
}

func (b *fixture) renew(r *replica) {
	if _, err := r.member.Renew(b.t.Context(), 10*time.Second); err != nil {
		b.t.Fatal(err)
	}
}

func (r *replica) wantSent(t *testing.T, want int) {
	t.Helper()
	synctest.Wait()
	if r.sent != want {
		t.Errorf("%s sent %d notifications, want %d", r.member.Self().Name(), r.sent, want)
	}
	r.sent = 0
}

func TestOneReplicaDeliversAtATime(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		b.stop()
		a, other := b.replica("a"), b.replica("b")
		defer other.stop()
		task := b.task("t1")
		set := func(r *replica) {
			if _, err := r.SetPush(t.Context(), &a2a.SetPushRequest{Owner: task.key.Owner, Config: a2a.PushConfig{
				Dialect: a2a.DialectV10, TaskID: "t1", URL: hook,
			}}); err != nil {
				t.Fatalf("SetPush() error = %v", err)
			}
		}
		set(a)
		task.setState(a2a.StateWorking)
		a.wantSent(t, 1)
		other.wantSent(t, 0)
		// The replica that replaces the configuration delivers the events.
		set(other)
		task.setState(a2a.StateInputRequired)
		a.wantSent(t, 0)
		other.wantSent(t, 1)
		set(a)
		task.setState(a2a.StateWorking)
		a.wantSent(t, 1)
		other.wantSent(t, 0)
		// Another replica takes over the delivery of a dead replica, after the last
		// confirmed event.
		a.stop()
		b.wantEvents("3 4 5")
		task.setState(a2a.StateInputRequired)
		for range 10 {
			time.Sleep(3 * time.Second)
			b.renew(other)
		}
		task.setState(a2a.StateWorking)
		a.wantSent(t, 0)
		other.wantSent(t, 2)
		b.wantEvents("6 7")
		// A deletion at another replica ends the delivery here.
		third := b.replica("c")
		defer third.stop()
		if err := third.DeletePush(t.Context(), task.request("")); err != nil {
			t.Fatal(err)
		}
		task.setState(a2a.StateCompleted)
		other.wantSent(t, 0)
		third.wantSent(t, 0)
	})
}

func TestRestartedReplicaResumesItsDeliveriesAtOnce(t *testing.T) {
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
		task.setState(a2a.StateCompleted)
		later := b.replica("a")
		defer later.stop()
		later.wantSent(t, 1)
	})
}

// The task waits for its client, and no replica runs for a day. The store then forgets the
// replica that delivered the events of the task.
func TestDeliveriesOfAForgottenReplicaContinue(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		b.stop()
		former := b.replica("a")
		task := b.task("t1")
		if _, err := former.SetPush(t.Context(), &a2a.SetPushRequest{Owner: task.key.Owner, Config: a2a.PushConfig{
			Dialect: a2a.DialectV10, TaskID: "t1", URL: hook,
		}}); err != nil {
			t.Fatal(err)
		}
		task.setState(a2a.StateInputRequired)
		former.wantSent(t, 1)
		former.stop()
		if err := former.member.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		forgets := b.tasks.Join("b")
		if dead, err := forgets.Dead(t.Context()); err != nil || len(dead) > 0 {
			t.Fatalf("Dead() = %v, %v, want none", dead, err)
		}
		later := b.replica("b")
		defer later.stop()
		task.setState(a2a.StateWorking)
		later.wantSent(t, 1)
		task.setState(a2a.StateCompleted)
		later.wantSent(t, 1)
	})
}

// switchedLease is a lease whose store does not answer while down is true.
type switchedLease struct {
	push.Member
	down *atomic.Bool
}

func (l switchedLease) Dead(ctx context.Context) ([]store.Replica, error) {
	if l.down.Load() {
		return nil, errNetwork
	}
	return l.Member.Dead(ctx)
}

// A replica dies while the store answers no replica for some hours. The store forgets it when
// another replica reads the dead replicas first.
func TestDeliveriesOfAReplicaThatWasForgottenAfterAnOutageContinue(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		b.stop()
		former := b.replica("a")
		var down atomic.Bool
		member := b.tasks.Join("b")
		options := b.options
		options.Member = switchedLease{member, &down}
		later, err := push.New(options)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		resumed := make(chan error, 1)
		go func() { resumed <- later.Resume(ctx) }()
		defer func() {
			cancel()
			if err := <-resumed; err != nil {
				t.Errorf("Resume() error = %v", err)
			}
			_ = later.Drain(ctx)
		}()
		task := b.task("t1")
		if _, err := former.SetPush(t.Context(), &a2a.SetPushRequest{Owner: task.key.Owner, Config: a2a.PushConfig{
			Dialect: a2a.DialectV10, TaskID: "t1", URL: hook,
		}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		down.Store(true)
		former.stop()
		if err := former.member.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Hour)
		if dead, err := b.tasks.Join("b").Dead(t.Context()); err != nil || len(dead) > 0 {
			t.Fatalf("Dead() = %v, %v, want none", dead, err)
		}
		down.Store(false)
		task.setState(a2a.StateWorking)
		time.Sleep(time.Minute)
		b.wantEvents("3")
	})
}

// renewingLease is a lease after whose call of Alive another replica renews its lease.
type renewingLease struct {
	push.Member
	renew func()
}

func (l renewingLease) Alive(ctx context.Context, r store.Replica) (bool, error) {
	defer l.renew()
	return l.Member.Alive(ctx, r)
}

// After an outage, the lease of a living replica has ended, too. It renews its lease while another
// replica looks for forgotten replicas.
func TestDeliveriesOfAReplicaThatRenewsItsLeaseStay(t *testing.T) {
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
		time.Sleep(time.Minute)
		options := b.options
		options.Member = renewingLease{b.tasks.Join("b"), func() { b.renew(living) }}
		other, err := push.New(options)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := other.Resume(ctx); err != nil {
			t.Fatalf("Resume() error = %v", err)
		}
		task.setState(a2a.StateWorking)
		living.wantSent(t, 1)
		_ = other.Drain(ctx)
	})
}

// slowLease is a lease whose second call of Dead returns after 15 seconds.
type slowLease struct {
	push.Member
	calls *int
}

func (l slowLease) Dead(ctx context.Context) ([]store.Replica, error) {
	dead, err := l.Member.Dead(ctx)
	if *l.calls++; *l.calls == 2 {
		time.Sleep(15 * time.Second)
	}
	return dead, err
}

// The lease of a living replica ends while another replica looks for forgotten replicas. The
// deliveries stay until the replica has been dead for a while, as at any other time.
func TestDeliveriesOfAReplicaWhoseLeaseJustEndedStay(t *testing.T) {
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
		options.Member = slowLease{b.tasks.Join("b"), &calls}
		other, err := push.New(options)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := other.Resume(ctx); err != nil {
			t.Fatalf("Resume() error = %v", err)
		}
		b.renew(living)
		task.setState(a2a.StateWorking)
		living.wantSent(t, 1)
		_ = other.Drain(ctx)
	})
}

// The log of one task cannot be read. The deliveries of other tasks continue.
func TestTakeoverContinuesAfterATaskThatCannotBeOpened(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		b.stop()
		former := b.replica("a")
		damaged, other := b.task("t1"), b.task("t2")
		for _, of := range []*task{damaged, other} {
			if _, err := former.SetPush(t.Context(), &a2a.SetPushRequest{Owner: of.key.Owner, Config: a2a.PushConfig{
				Dialect: a2a.DialectV10, TaskID: of.key.TaskID, URL: hook,
			}}); err != nil {
				t.Fatal(err)
			}
		}
		former.stop()
		b.options.Tasks = damagedTasks{b.tasks, damaged.key}
		later := b.replica("a")
		defer later.stop()
		other.setState(a2a.StateWorking)
		later.wantSent(t, 1)
	})
}

// Each takeover reads all configurations. While one of them fails, the retries become as rare as the
// takeovers that succeed.
func TestTakeoverOfADamagedTaskIsRetriedWithBackoff(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		b.stop()
		former := b.replica("a")
		damaged := b.task("t1")
		if _, err := former.SetPush(t.Context(), &a2a.SetPushRequest{Owner: damaged.key.Owner, Config: a2a.PushConfig{
			Dialect: a2a.DialectV10, TaskID: damaged.key.TaskID, URL: hook,
		}}); err != nil {
			t.Fatal(err)
		}
		former.stop()
		f := &faultyTakeover{SharedPushStore: b.configs}
		b.options.Tasks, b.options.Configs = damagedTasks{b.tasks, damaged.key}, f
		later := b.replica("a")
		defer later.stop()
		for range 200 {
			time.Sleep(3 * time.Second)
			b.renew(later)
		}
		synctest.Wait()
		if f.seen < 10 || f.seen > 45 {
			t.Errorf("the configurations were read %d times in ten minutes, want 10 to 45", f.seen)
		}
	})
}

// damagedTasks is a store that cannot read one task.
type damagedTasks struct {
	store.Store
	damaged store.Key
}

func (d damagedTasks) Open(ctx context.Context, k store.Key) (store.Log, error) {
	if k == d.damaged {
		return nil, errors.New("stored bytes have an unknown format")
	}
	return d.Store.Open(ctx, k)
}

// faultyTakeover fails once at the named call: "open" before the task is opened, "adopt" before
// the configuration is adopted, and "answer" after it.
type faultyTakeover struct {
	store.SharedPushStore
	at   string
	seen int
}

type faultyTasks struct {
	store.Store
	fault *faultyTakeover
}

func (f *faultyTakeover) fails(at string) bool {
	if f.at != at {
		return false
	}
	f.at = ""
	return true
}

func (f faultyTasks) Open(ctx context.Context, k store.Key) (store.Log, error) {
	if f.fault.fails("open") {
		return nil, errNetwork
	}
	return f.Store.Open(ctx, k)
}

func (f *faultyTakeover) Adopt(ctx context.Context, c store.Push, by store.Replica) error {
	if f.fails("adopt") {
		return errNetwork
	}
	if err := f.SharedPushStore.Adopt(ctx, c, by); err != nil {
		return err
	}
	if f.fails("answer") {
		return errNetwork
	}
	return nil
}

func (f *faultyTakeover) Unfinished(ctx context.Context, yield func(store.Push) bool) error {
	f.seen++
	return f.SharedPushStore.Unfinished(ctx, yield)
}

func TestTakeoverThatFailedIsRepeated(t *testing.T) {
	for _, at := range []string{"open", "adopt", "answer"} {
		t.Run(at, func(t *testing.T) {
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
				f := &faultyTakeover{SharedPushStore: b.configs, at: at}
				b.options.Tasks, b.options.Configs = faultyTasks{Store: b.tasks, fault: f}, f
				later := b.replica("a")
				defer later.stop()
				synctest.Wait()
				if f.at != "" {
					t.Fatal("the call did not fail")
				}
				time.Sleep(10 * time.Second)
				task.setState(a2a.StateWorking)
				later.wantSent(t, 1)
				task.setState(a2a.StateCompleted)
				later.wantSent(t, 1)
			})
		})
	}
}

// The store lists a dead replica for an hour. During this time, the takeover from all dead
// replicas is repeated together, once a minute.
func TestTakeoverReadsTheConfigurationsOnceAMinute(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		b.stop()
		for _, name := range []string{"a", "b", "c"} {
			dead := b.replica(name)
			dead.stop()
			if err := dead.member.Leave(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		f := &faultyTakeover{SharedPushStore: b.configs}
		b.options.Configs = f
		later := b.replica("d")
		defer later.stop()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if f.seen > 12 {
			t.Errorf("the configurations were read %d times in ten minutes, want at most 12", f.seen)
		}
	})
}

// downLease is a lease whose store does not answer.
type downLease struct{ push.Member }

func (downLease) Dead(context.Context) ([]store.Replica, error) { return nil, store.ErrUnavailable }

// The renewal of the lease logs an outage, too. The outage affects push only if there are
// configurations.
func TestOutageIsLoggedAsAnErrorOnlyWithConfigurations(t *testing.T) {
	for name, configured := range map[string]bool{"none": false, "some": true} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
				member := b.tasks.Join("a")
				options := b.options
				options.Member = downLease{member}
				var err error
				b.stop()
				if b.Pushes, err = push.New(options); err != nil {
					t.Fatal(err)
				}
				if configured {
					b.task("t1").config(a2a.PushConfig{})
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := b.Resume(ctx); err != nil {
					t.Errorf("Resume() error = %v", err)
				}
				if logged := bytes.Contains(b.log.Bytes(), []byte(`"level":"ERROR"`)); logged != configured {
					t.Errorf("an error is logged: %t, want %t: %s", logged, configured, b.log.String())
				}
			})
		})
	}
}
