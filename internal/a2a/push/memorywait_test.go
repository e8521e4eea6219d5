// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// hold charges a principal for all the memory that large bodies may have.
func (s *slowReceiver) hold(t *testing.T, principal string) *limit.Reservation {
	t.Helper()
	var held limit.Reservation
	if !s.memory.TryGrow(&held, a2a.AccountingPrincipal{Principal: principal}, s.memory.Largest()) {
		t.Fatal("the budget has no room")
	}
	return &held
}

// small notifies a webhook of a status of a few bytes.
func (b *fixture) small(owner a2a.Owner, id, url string) {
	b.t.Helper()
	task := b.taskOf(owner, id)
	task.config(a2a.PushConfig{Dialect: a2a.DialectV10, URL: url})
	task.setState(a2a.StateWorking)
}

// TestWaitForMemoryNeedsNoWorker checks that a small notification is delivered at once, even
// if large notifications of as many owners as there are workers wait for memory.
func TestWaitForMemoryNeedsNoWorker(t *testing.T) {
	withMemory(t, func(t *testing.T, b *fixture, s *slowReceiver) {
		held := s.hold(t, "mallory")
		for owner := range 16 {
			b.large(a2a.Owner(fmt.Sprintf("owner%d", owner)), fmt.Sprint(owner), a2a.DialectV10)
		}
		time.Sleep(10 * time.Millisecond) // linger
		b.small("bob", "small", "")
		b.wantEvents("3")
		held.Release()
		time.Sleep(5 * time.Second)
		b.wantCounts("delivered=17")
	})
}

// TestWaitForMemoryNeedsNoSlot checks that a delivery that gets a slot of its host, and has no
// memory, passes the slot on.
func TestWaitForMemoryNeedsNoSlot(t *testing.T) {
	s := &slowReceiver{memory: limit.NewBudget(1<<20, time.Second)}
	withFixture(t, push.Options{Memory: s.memory, PerHost: 1, Linger: time.Nanosecond}, func(t *testing.T, b *fixture) {
		b.respond(s.answer)
		b.small("alice", "first", "")
		synctest.Wait()
		b.large("alice", "large", a2a.DialectV10) // waits for the slot, and holds no memory
		time.Sleep(10 * time.Millisecond)
		b.small("bob", "second", "") // the next that waits for the slot
		b.small("bob", "third", "")
		synctest.Wait()
		held := s.hold(t, "alice")
		time.Sleep(time.Minute)
		b.wantCounts("delivered=3")
		held.Release()
		time.Sleep(2 * time.Second)
		b.wantCounts("delivered=4")
	})
}

// TestPollsDelayNoOtherOwner checks that a hundred deliveries of one owner, which wait for
// memory, do not delay the notifications of another one, even with a single worker.
func TestPollsDelayNoOtherOwner(t *testing.T) {
	memory := limit.NewBudget(1<<20, time.Second)
	withFixture(t, push.Options{Memory: memory, Workers: 1, PerHost: 1, Linger: time.Nanosecond}, func(t *testing.T, b *fixture) {
		held := (&slowReceiver{memory: memory}).hold(t, "mallory")
		for i := range 100 {
			b.large("alice", fmt.Sprint(i), a2a.DialectV10)
		}
		time.Sleep(time.Second)
		for i := range 300 {
			b.small("bob", fmt.Sprintf("small%d", i), "")
			if got := len(b.takeReceived()); got != 1 {
				t.Fatalf("%d notifications were sent at once, want 1", got)
			}
			time.Sleep(time.Millisecond)
		}
		held.Release()
		time.Sleep(time.Second)
		b.wantCounts("delivered=400")
	})
}

// TestOwnersShareMemory checks that an owner with one large notification gets memory soon.
// Four other owners have many large notifications each, more than the budget has room for.
func TestOwnersShareMemory(t *testing.T) {
	withMemory(t, func(t *testing.T, b *fixture, s *slowReceiver) {
		b.respond(func(r *http.Request) (*http.Response, error) {
			time.Sleep(50 * time.Millisecond) // no request ends at the time of a poll
			return s.answer(r)
		})
		notify := func(owner a2a.Owner, id, url string) {
			task := b.taskOf(owner, id)
			task.config(a2a.PushConfig{Dialect: a2a.DialectV10, URL: url})
			task.add(chunk(id, "a1", strings.Repeat("x", 300<<10), false))
		}
		for owner := range 4 {
			for i := range 15 {
				notify(a2a.Owner(fmt.Sprintf("owner%d", owner)), fmt.Sprintf("%d-%d", owner, i), hook)
			}
		}
		time.Sleep(5 * time.Second)
		before := len(b.takeReceived())
		const late = "https://late.example.com/"
		notify("zoe", "late", late)
		time.Sleep(15 * time.Second) // half of the time that the others need
		sent := 0
		for _, r := range b.takeReceived() {
			if r.url == late {
				sent++
			}
		}
		if sent != 1 || before > 12 {
			t.Errorf("another owner received %d notifications within 15s, want 1; before, others received %d", sent, before)
		}
		time.Sleep(time.Minute)
		b.wantCounts("delivered=61")
	})
}

// TestWaitForMemoryIsNoRetry checks that the time without memory counts neither towards the
// attempts nor towards the time in which a notification may be retried.
func TestWaitForMemoryIsNoRetry(t *testing.T) {
	withMemory(t, func(t *testing.T, b *fixture, s *slowReceiver) {
		b.respond(status(http.StatusServiceUnavailable))
		b.large("alice", "t1", a2a.DialectV10)
		time.Sleep(10 * time.Millisecond)
		b.wantEvents("3")
		for range 3 {
			held := s.hold(t, "alice")
			time.Sleep(time.Hour)
			b.wantEvents("")
			held.Release()
			time.Sleep(200 * time.Millisecond)
			b.wantEvents("3")
		}
		b.respond(nil)
		time.Sleep(10 * time.Second)
		b.wantEvents("3")
		b.wantCounts("delivered=1 retry=4")
	})
}

// countingTasks counts the reads of logs. Each of them needs a number of bytes.
type countingTasks struct {
	store.Store
	reads atomic.Int64
	needs int64
}

func (c *countingTasks) Open(ctx context.Context, k store.Key) (store.Log, error) {
	log, err := c.Store.Open(ctx, k)
	return countingLog{log, c}, err
}

type countingLog struct {
	store.Log
	tasks *countingTasks
}

func (l countingLog) Read(ctx context.Context, dst []*a2a.Record, after uint64) ([]*a2a.Record, error) {
	l.tasks.reads.Add(1)
	if err := store.ReserveLoad(ctx, l.tasks.needs); err != nil {
		return dst, err
	}
	return l.Log.Read(ctx, dst, after)
}

func (l countingLog) Snapshot(ctx context.Context) (*a2a.Record, error) {
	l.tasks.reads.Add(1)
	return l.Log.Snapshot(ctx)
}

// TestWaitForMemoryReadsNothing checks that a delivery that waits for memory reads its
// notification once, and again only when there is room.
func TestWaitForMemoryReadsNothing(t *testing.T) {
	withMemory(t, func(t *testing.T, b *fixture, s *slowReceiver) {
		tasks := &countingTasks{Store: b.tasks}
		b.options.Tasks = tasks
		b.restart()
		held := s.hold(t, "alice")
		b.large("alice", "t1", a2a.DialectV03).setState(a2a.StateInputRequired)
		time.Sleep(time.Second)
		before := tasks.reads.Load()
		time.Sleep(time.Minute)
		if after := tasks.reads.Load(); after != before {
			t.Errorf("%d reads during a minute without memory, want 0", after-before)
		}
		held.Release()
		time.Sleep(2 * time.Second)
		b.wantCounts("delivered=1")
	})
}

// TestReadsOfTheStoreNeedMemory checks that what a delivery reads from the server of a store counts until its notification is encoded,
// and that a delivery without this memory waits.
func TestReadsOfTheStoreNeedMemory(t *testing.T) {
	const most = 3 << 20
	loads := store.NewLoads(4 << 20)
	withFixture(t, push.Options{Loads: loads}, func(t *testing.T, b *fixture) {
		reserve := func() (release func()) {
			reader := loads.Reader("alice")
			if err := store.ReserveLoad(reader.In(t.Context()), most); err != nil {
				t.Errorf("memory for reads: %v", err)
			}
			return reader.Release
		}
		b.options.Tasks = &countingTasks{Store: b.tasks, needs: most}
		b.restart()
		release := reserve()
		b.respond(func(r *http.Request) (*http.Response, error) {
			reserve()() // a delivery keeps nothing while its request runs
			return status(http.StatusOK)(r)
		})
		b.small("alice", "t1", "")
		time.Sleep(time.Hour)
		b.wantCounts("")
		release()
		time.Sleep(time.Second)
		b.wantCounts("delivered=1")
		reserve()()
		if strings.Contains(b.log.String(), "not sent") {
			t.Errorf("log: %s", b.log.String())
		}
	})
}

// TestEndOfProcessEndsWaitForMemory checks that a drain without time ends the wait, and that
// the next process sends the notification.
func TestEndOfProcessEndsWaitForMemory(t *testing.T) {
	withMemory(t, func(t *testing.T, b *fixture, s *slowReceiver) {
		held := s.hold(t, "alice")
		b.large("alice", "t1", a2a.DialectV10)
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Drain(ctx); err == nil {
			t.Error("Drain() does not wait for memory")
		}
		b.wantFollowing(0)
		held.Release()
		time.Sleep(time.Second)
		b.wantEvents("")
		b.restart()
		time.Sleep(2 * time.Second)
		b.wantEvents("3")
	})
}

// TestSlotsOutlastWaitsForMemory sends large and small notifications of several owners to few
// hosts, which fail now and then, while the budget is full now and then, and configurations are
// deleted. At the end, each host has all of its slots and no more, and the budget is empty. Half
// of the deletions race with steps. The request of a delivery that is deleted during its step
// needs no slot.
func TestSlotsOutlastWaitsForMemory(t *testing.T) {
	const perHost, hosts = 2, 3
	for seed := range uint64(6) {
		races := seed%2 == 1
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			memory := limit.NewBudget(1<<20, time.Second)
			s := &slowReceiver{memory: memory}
			withFixture(t, push.Options{Memory: memory, PerHost: perHost, Linger: time.Nanosecond}, func(t *testing.T, b *fixture) {
				var failing atomic.Bool
				var inFlight, most [hosts]atomic.Int64
				b.respond(func(r *http.Request) (*http.Response, error) {
					host := r.URL.Host[0] - '0'
					if now := inFlight[host].Add(1); now > most[host].Load() {
						most[host].Store(now)
					}
					defer inFlight[host].Add(-1)
					answer, err := s.answer(r)
					if failing.Load() {
						return unreachable(r)
					}
					return answer, err
				})
				url := func(host int) string { return fmt.Sprintf("https://%d.example.com/", host) }
				random := rand.New(rand.NewPCG(seed, 0))
				var held *limit.Reservation
				live := 0
				for i := range 200 {
					id, owner := fmt.Sprint(i), a2a.Owner(fmt.Sprintf("owner%d", random.IntN(4)))
					task := b.taskOf(owner, id)
					task.config(a2a.PushConfig{Dialect: a2a.DialectV03, URL: url(random.IntN(hosts))})
					if random.IntN(3) > 0 {
						task.add(largeChunk(id))
					}
					task.setState(a2a.StateInputRequired)
					time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
					switch random.IntN(8) {
					case 0:
						if !races {
							synctest.Wait()
						}
						if err := b.DeletePush(t.Context(), task.request(id)); err != nil {
							t.Fatal(err)
						}
						continue
					case 1:
						failing.Store(!failing.Load())
					case 2, 3:
						if held != nil {
							held.Release()
						}
						held = &limit.Reservation{}
						memory.TryGrow(held, a2a.AccountingPrincipal{Principal: "mallory"}, memory.Largest())
					case 4:
						if held != nil {
							held.Release()
						}
					}
					live++
				}
				if held != nil {
					held.Release()
				}
				failing.Store(false)
				time.Sleep(time.Hour)
				synctest.Wait()
				if memory.Used() != 0 || b.Following() != live || s.uncharged {
					t.Errorf("%d bytes are charged, %d are followed of %d, uncharged bytes: %t", memory.Used(), b.Following(), live, s.uncharged)
				}
				for host := range hosts {
					if got := most[host].Swap(0); got > perHost && !races {
						t.Errorf("host %d had %d requests at once, want at most %d", host, got, perHost)
					}
					for i := range perHost + 3 {
						b.small("alice", fmt.Sprintf("last-%d-%d", host, i), url(host))
					}
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				for host := range hosts {
					if got := most[host].Load(); got != perHost {
						t.Errorf("host %d has %d slots at the end, want %d", host, got, perHost)
					}
				}
			})
		})
	}
}
