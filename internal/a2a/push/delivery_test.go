// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

func TestWire17_DeliveryIsOrderedAndOnStatusBefore10(t *testing.T) {
	withFixture(t, push.Options{}, func(_ *testing.T, b *fixture) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV03})
		task.setState(a2a.StateWorking)
		b.wantEvents("3")
		task.add(chunk("t1", "a", "one", false), chunk("t1", "a", "two", true))
		b.wantEvents("")
		task.setState(a2a.StateInputRequired)
		b.wantEvents("6")
		// Several events at once: every status is sent, in order.
		task.add(state("t1", a2a.StateWorking), chunk("t1", "a", "three", true), state("t1", a2a.StateInputRequired), state("t1", a2a.StateCompleted))
		b.wantEvents("7 9 10")
		b.wantFollowing(0)
		b.wantCounts("delivered=5")
	})
}

func TestWire17_EveryEventFrom10On(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		task.setState(a2a.StateWorking)
		b.wantEvents("3")
		task.add(chunk("t1", "a", "one ", false))
		b.wantEvents("")
		task.add(chunk("t1", "a", "two ", true), chunk("t1", "a", "three", true))
		time.Sleep(100 * time.Millisecond)
		joined := b.takeReceived()
		if len(joined) != 1 || joined[0].event() != "6" || !strings.Contains(joined[0].body, `"one two three"`) {
			t.Errorf("pieces of an artifact came as %v", joined)
		}
		task.add(chunk("t1", "b", "other", false), chunk("t1", "c", "artifact", false), state("t1", a2a.StateCompleted))
		b.wantEvents("7 8 9")
		b.wantFollowing(0)
	})
}

func TestWire17_RetriesInOrder(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		left := []func(*http.Request) (*http.Response, error){
			status(503), status(599), status(408), status(425), unreachable, stall, status(429), status(204),
		}
		b.respond(func(r *http.Request) (*http.Response, error) {
			if len(left) == 0 {
				return status(200)(r)
			}
			now := left[0]
			left = left[1:]
			return now(r)
		})
		task.add(state("t1", a2a.StateWorking), state("t1", a2a.StateCompleted))
		time.Sleep(20 * time.Minute)
		b.wantEvents("3 3 3 3 3 3 3 3 4")
		b.wantFollowing(0)
		b.wantCounts("delivered=2 retry=7")
	})
}

func TestWire17_Backoff(t *testing.T) {
	withFixture(t, push.Options{MaxAttempts: 6}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		b.respond(status(429))
		task.setState(a2a.StateCompleted)
		time.Sleep(10 * time.Minute)
		var at []string
		for _, r := range b.takeReceived() {
			at = append(at, r.at.String())
		}
		if got, want := strings.Join(at, " "), "0s 1s 3s 7s 15s 31s"; got != want {
			t.Errorf("attempts at %s, want %s", got, want)
		}
		b.wantFollowing(0)
		b.wantCounts("abandoned:exhausted=1 retry=6")
	})
}

func TestWire17_RetryAfter(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		b.respond(status(503, "Retry-After", "90"))
		task.setState(a2a.StateWorking)
		b.wantEvents("3")
		time.Sleep(89 * time.Second)
		b.respond(status(429, "Retry-After", time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)))
		b.wantEvents("")
		time.Sleep(time.Second)
		b.wantEvents("3")
		time.Sleep(58 * time.Second)
		b.wantEvents("")
		b.respond(nil)
		time.Sleep(2 * time.Second)
		b.wantEvents("3")
		// A Retry-After beyond the end of the retries ends them at once.
		b.respond(status(503, "Retry-After", "86400"))
		task.setState(a2a.StateCompleted)
		b.wantEvents("4")
		b.wantFollowing(0)
		b.wantCounts("abandoned:exhausted=1 delivered=1 retry=3")
	})
}

func TestWire17_RejectionEndsDelivery(t *testing.T) {
	for _, code := range []int{300, 302, 307, 400, 401, 404, 422} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			withFixture(t, push.Options{}, func(_ *testing.T, b *fixture) {
				task := b.task("t1")
				task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
				b.respond(status(code, "Location", "https://elsewhere.example.com/"))
				task.setState(a2a.StateWorking)
				b.wantEvents("3")
				time.Sleep(time.Hour)
				b.wantEvents("")
				// The configuration survives one refusal and is abandoned after three.
				b.respond(nil)
				task.setState(a2a.StateInputRequired)
				b.wantEvents("4")
				b.respond(status(code))
				for _, want := range []string{"5", "6", "7", ""} {
					task.setState(a2a.StateWorking)
					b.wantEvents(want)
				}
				b.wantFollowing(0)
				b.wantCounts("abandoned:refused=1 delivered=1 refused=4")
			})
		})
	}
}

func TestGoneAndDeniedEndTheConfigurationAtOnce(t *testing.T) {
	for want, answer := range map[string]func(*http.Request) (*http.Response, error){
		"abandoned:gone=1 refused=1":  status(http.StatusGone),
		"abandoned:denied=1 denied=1": func(*http.Request) (*http.Response, error) { return nil, egress.ErrDenied },
	} {
		withFixture(t, push.Options{}, func(_ *testing.T, b *fixture) {
			task := b.task("t1")
			task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
			b.respond(answer)
			task.setState(a2a.StateWorking)
			b.wantEvents("3")
			b.wantFollowing(0)
			b.wantCounts(want)
		})
	}
}

func TestWire17_DeleteStopsRetries(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		b.respond(status(503))
		task.setState(a2a.StateWorking)
		b.wantEvents("3")
		if err := b.DeletePush(t.Context(), task.request("t1")); err != nil {
			t.Fatal(err)
		}
		b.respond(nil)
		task.setState(a2a.StateCompleted)
		time.Sleep(time.Hour)
		b.wantEvents("")
		b.wantFollowing(0)
	})
}

func TestWire17_DeleteCancelsTheRequest(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		broken := make(chan error, 1)
		b.respond(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			broken <- r.Context().Err()
			return nil, r.Context().Err()
		})
		task.setState(a2a.StateWorking)
		b.wantEvents("3")
		if err := b.DeletePush(t.Context(), task.request("")); err != nil {
			t.Fatal(err)
		}
		if err := <-broken; !errors.Is(err, context.Canceled) {
			t.Errorf("request ended with %v, want canceled", err)
		}
		task.setState(a2a.StateCompleted)
		time.Sleep(time.Hour)
		b.wantEvents("")
		b.wantCounts("")
	})
}

func TestWire17_RestartResumes(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		task.setState(a2a.StateWorking)
		b.wantEvents("3")
		b.respond(status(503))
		task.setState(a2a.StateInputRequired)
		b.wantEvents("4")
		b.restart()
		b.wantEvents("4")
		b.stop()
		// Events that were appended while no process ran are delivered, too.
		task.setState(a2a.StateWorking)
		task.setState(a2a.StateCompleted)
		b.respond(nil)
		b.restart()
		b.wantEvents("4 5 6")
		b.wantFollowing(0)
		b.restart()
		b.wantEvents("")
		if b.configs.Len() != 1 {
			t.Errorf("%d configurations, want 1 until it expires", b.configs.Len())
		}
	})
}

func TestResumeDeletesConfigurationsWithoutTask(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		orphan := store.Push{Task: store.Key{Owner: "alice", TaskID: "gone"}, Config: a2a.PushConfig{ID: "x", URL: hook}}
		if _, err := b.configs.Put(t.Context(), orphan); err != nil {
			t.Fatal(err)
		}
		b.restart()
		b.wantFollowing(0)
		if b.configs.Len() != 0 {
			t.Error("the configuration is still there")
		}
	})
}

func TestConfigExpiresAfterTheLastNotification(t *testing.T) {
	withFixture(t, push.Options{Keep: time.Minute}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		task.setState(a2a.StateCompleted)
		b.wantEvents("3")
		if _, err := b.GetPush(t.Context(), task.request("")); err != nil {
			t.Errorf("right after: %v", err)
		}
		time.Sleep(time.Minute)
		if _, err := b.GetPush(t.Context(), task.request("")); err == nil {
			t.Error("it is there after its time")
		}
	})
}

func TestConfigOfATerminalTaskSendsNothing(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		task.setState(a2a.StateCompleted)
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		time.Sleep(time.Minute)
		b.wantEvents("")
		b.wantFollowing(0)
		if _, err := b.GetPush(t.Context(), task.request("")); err != nil {
			t.Errorf("GetPush() error = %v", err)
		}
	})
}

// In A2A 0.1, a message can restart a task that has ended, and can bring a configuration. The
// notifications of this configuration are the events of the new turn. If the notification of
// the former end was not delivered yet, it is delivered first.
func TestConfigOfARestartCoversTheNewTurn(t *testing.T) {
	for name, reachable := range map[string]bool{"the end was delivered": true, "the end is not delivered yet": false} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
				task := b.task("t1")
				task.config(a2a.PushConfig{Dialect: a2a.DialectV01})
				if !reachable {
					b.respond(unreachable)
				}
				task.setState(a2a.StateCompleted)
				b.wantEvents("3")
				if err := b.Attach(t.Context(), task.key, a2a.PushConfig{Dialect: a2a.DialectV01, URL: hook}, task.seq); err != nil {
					t.Fatal(err)
				}
				b.respond(nil)
				task.setState(a2a.StateWorking)
				task.setState(a2a.StateCompleted)
				if reachable {
					b.wantEvents("4 5")
				} else {
					b.wantEvents("3 4 5")
				}
				b.wantFollowing(0)
			})
		})
	}
}

func TestReplacedConfigurationContinuesDelivery(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		b.respond(stall)
		task.setState(a2a.StateWorking)
		b.wantEvents("3")
		b.respond(nil)
		task.config(a2a.PushConfig{Dialect: a2a.DialectV03, URL: hook + "2", Token: "new"})
		all := b.takeReceived()
		if len(all) != 1 || all[0].url != hook+"2" || all[0].event() != "3" || all[0].header.Get("X-A2A-Notification-Token") != "new" {
			t.Errorf("received %v, want event 3 at the new place", all)
		}
		task.setState(a2a.StateCompleted)
		b.wantEvents("4")
		b.wantFollowing(0)
	})
}

func TestStalledReceiverDelaysNoOtherHost(t *testing.T) {
	withFixture(t, push.Options{Workers: 4, PerHost: 1, Timeout: 10 * time.Second}, func(t *testing.T, b *fixture) {
		b.respond(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "slow.example.com" {
				return stall(r)
			}
			return status(200)(r)
		})
		var slow []*task
		for i := range 10 {
			task := b.task("slow" + strconv.Itoa(i))
			task.config(a2a.PushConfig{Dialect: a2a.DialectV10, URL: "https://slow.example.com/"})
			slow = append(slow, task)
		}
		fast := b.task("fast")
		fast.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		for _, s := range slow {
			s.setState(a2a.StateWorking)
		}
		fast.setState(a2a.StateWorking)
		fast.setState(a2a.StateCompleted)
		synctest.Wait()
		all, told := b.takeReceived(), 0
		for _, r := range all {
			if r.url == hook {
				told++
			}
		}
		if told != 2 || len(all) != 3 {
			t.Errorf("received %d, %d of them on the fast host, want 3 and 2", len(all), told)
		}
		// When the host recovers, every configuration receives its events.
		b.respond(nil)
		time.Sleep(10 * time.Minute)
		seen := map[string]bool{}
		for _, r := range b.takeReceived() {
			seen[r.header.Get("X-A2A-Event-Id")] = true
		}
		if len(seen) != len(slow) {
			t.Errorf("%d of %d slow tasks were told of", len(seen), len(slow))
		}
	})
}

func TestCircuitBreaker(t *testing.T) {
	withFixture(t, push.Options{PerHost: 1, MaxAttempts: 100}, func(t *testing.T, b *fixture) {
		b.respond(unreachable)
		var tasks []*task
		for i := range 50 {
			task := b.task(strconv.Itoa(i))
			task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
			task.setState(a2a.StateWorking)
			tasks = append(tasks, task)
		}
		if n := len(b.takeReceived()); n != 5 {
			t.Errorf("%d requests went to a dead host at once, want 5", n)
		}
		time.Sleep(29 * time.Second)
		if n := len(b.takeReceived()); n != 0 {
			t.Errorf("%d requests went to a host that is left alone", n)
		}
		time.Sleep(5 * time.Minute)
		if n := len(b.takeReceived()); n > 12 {
			t.Errorf("%d requests went to a dead host in 5 min, want at most one every 30 s", n)
		}
		b.respond(nil)
		time.Sleep(2 * time.Minute)
		if n := len(b.takeReceived()); n != len(tasks) {
			t.Errorf("%d notifications after the host is back, want %d", n, len(tasks))
		}
		b.wantFollowing(50)
	})
}

func TestConfigOfAFailingHostIsDeleted(t *testing.T) {
	withFixture(t, push.Options{PerHost: 1, MaxAttempts: 1000}, func(t *testing.T, b *fixture) {
		b.respond(unreachable)
		for i := range 20 {
			task := b.task(strconv.Itoa(i))
			task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
			task.setState(a2a.StateCompleted)
		}
		time.Sleep(31 * time.Minute)
		b.wantFollowing(0)
		if b.causes[push.CauseExhausted] != 20 {
			t.Errorf("causes = %v, want 20 exhausted", b.causes)
		}
	})
}

func TestDrainSendsReadyDeliveries(t *testing.T) {
	withFixture(t, push.Options{Linger: time.Hour}, func(t *testing.T, b *fixture) {
		for i, answer := range map[string]func(*http.Request) (*http.Response, error){"ok": nil, "failing": status(503)} {
			task := b.task(i)
			task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
			b.respond(answer)
			task.setState(a2a.StateWorking)
			b.wantEvents("3")
		}
		b.respond(func(r *http.Request) (*http.Response, error) {
			time.Sleep(5 * time.Second)
			return status(200)(r)
		})
		task := b.task("lingers")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		task.add(chunk("lingers", "a", "x", false))
		b.wantEvents("")
		before := time.Now()
		if err := b.Drain(t.Context()); err != nil {
			t.Errorf("Drain() error = %v", err)
		}
		if took := time.Since(before); took != 5*time.Second {
			t.Errorf("Drain() took %s, want 5s: the request on its way, and no retry", took)
		}
		b.wantEvents("3")
		task.setState(a2a.StateCompleted)
		b.wantEvents("")
	})
}

func TestDrainIsBounded(t *testing.T) {
	withFixture(t, push.Options{Timeout: time.Hour}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		b.respond(stall)
		task.setState(a2a.StateWorking)
		b.wantEvents("3")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Drain() error = %v, want deadline exceeded", err)
		}
		b.respond(nil)
		b.restart()
		b.wantEvents("3")
	})
}

func TestConfigsOfAnEvictedTaskAreDeleted(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		b.respond(status(503))
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		task.setState(a2a.StateCompleted)
		b.wantEvents("3")
		time.Sleep(2 * time.Hour)
		b.task("t2")
		if _, err := b.GetPush(t.Context(), task.request("")); err == nil {
			t.Error("configuration of a task that is gone")
		}
		b.wantFollowing(0)
	})
}

func TestConfigurationOfARemovedTaskIsCountedAsAbandoned(t *testing.T) {
	for name, stopped := range map[string]bool{"while the sidecar retries": false, "while no sidecar runs": true} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, push.Options{}, func(_ *testing.T, b *fixture) {
				b.tasks = storetest.NewMemory(memory.Options{Retention: time.Minute})
				b.options.Tasks = b.tasks
				b.restart()
				task := b.task("t1")
				b.respond(status(503))
				task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
				task.setState(a2a.StateCompleted)
				b.wantEvents("3")
				if stopped {
					b.stop()
				}
				time.Sleep(2 * time.Minute)
				b.task("t2") // the store removes tasks that have expired
				if stopped {
					b.restart()
				}
				time.Sleep(10 * time.Minute)
				b.takeReceived()
				b.mu.Lock()
				defer b.mu.Unlock()
				if want := map[push.Cause]int{push.CauseTaskRemoved: 1}; !maps.Equal(b.causes, want) {
					b.t.Errorf("abandoned %v, want %v", b.causes, want)
				}
			})
		})
	}
}

func TestTrimmedLogSendsTheTask(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		for dialect, want := range map[a2a.Dialect]string{
			a2a.DialectV10: `{"task":{"id":"t1"`, a2a.DialectV03: `{"kind":"task","id":"t0"`,
		} {
			task := b.task("t" + strconv.Itoa(int(dialect)))
			id := task.key.TaskID
			task.config(a2a.PushConfig{Dialect: dialect})
			b.respond(status(503))
			task.setState(a2a.StateWorking)
			synctest.Wait()
			for range 200 {
				var many []a2a.Event
				for range 100 {
					many = append(many, chunk(id, "a", "x", true))
				}
				task.add(many...)
			}
			b.takeReceived()
			b.respond(nil)
			time.Sleep(2 * time.Second)
			all := b.takeReceived()
			if len(all) != 1 || !strings.HasPrefix(all[0].body, want) || all[0].event() != strconv.FormatUint(task.seq, 10) {
				t.Errorf("dialect %d: received %d, %.80v, want one task", dialect, len(all), all)
			}
			task.setState(a2a.StateCompleted)
			b.wantEvents(strconv.FormatUint(task.seq, 10))
		}
	})
}

func TestManyDeliveriesAtOnce(t *testing.T) {
	withFixture(t, push.Options{PerHost: 16}, func(t *testing.T, b *fixture) {
		const tasks, statuses = 40, 20
		b.respond(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Millisecond)
			return status(200)(r)
		})
		for i := range tasks {
			task := b.task(strconv.Itoa(i))
			task.config(a2a.PushConfig{Dialect: a2a.DialectV10, URL: "https://h" + strconv.Itoa(i%3) + ".example.com/"})
			go func() {
				for range statuses {
					task.setState(a2a.StateWorking)
					time.Sleep(time.Millisecond)
				}
				task.setState(a2a.StateCompleted)
			}()
		}
		time.Sleep(time.Minute)
		last := map[string]int{}
		for _, r := range b.takeReceived() {
			id, _, _ := strings.Cut(r.header.Get("X-A2A-Event-Id"), ":")
			n, _ := strconv.Atoi(r.event())
			if last[id] != 0 && n != last[id]+1 {
				t.Errorf("task %s: event %d after %d", id, n, last[id])
			}
			last[id] = n
		}
		for id, n := range last {
			if n != 2+statuses+1 {
				t.Errorf("task %s ended at %d", id, n)
			}
		}
		if len(last) != tasks {
			t.Errorf("%d tasks, want %d", len(last), tasks)
		}
		b.wantFollowing(0)
	})
}
