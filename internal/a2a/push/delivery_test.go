// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"context"
	"errors"
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
)

func TestWire17_OrderedAndOnStatusOnlyBefore10(t *testing.T) {
	play(t, push.Options{}, func(_ *testing.T, b *bench) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV03})
		task.is(a2a.StateWorking)
		b.want("3")
		task.add(chunk("t1", "a", "one", false), chunk("t1", "a", "two", true))
		b.want("")
		task.is(a2a.StateInputRequired)
		b.want("6")
		// All at once: every status is told, in order.
		task.add(state("t1", a2a.StateWorking), chunk("t1", "a", "three", true), state("t1", a2a.StateInputRequired), state("t1", a2a.StateCompleted))
		b.want("7 9 10")
		b.following(0)
		b.counted("delivered=5")
	})
}

func TestWire17_EveryEventFrom10On(t *testing.T) {
	play(t, push.Options{}, func(t *testing.T, b *bench) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		task.is(a2a.StateWorking)
		b.want("3")
		task.add(chunk("t1", "a", "one ", false))
		b.want("")
		task.add(chunk("t1", "a", "two ", true), chunk("t1", "a", "three", true))
		time.Sleep(100 * time.Millisecond)
		joined := b.got()
		if len(joined) != 1 || joined[0].event() != "6" || !strings.Contains(joined[0].body, `"one two three"`) {
			t.Errorf("pieces of an artifact came as %v", joined)
		}
		task.add(chunk("t1", "b", "other", false), chunk("t1", "c", "artifact", false), state("t1", a2a.StateCompleted))
		b.want("7 8 9")
		b.following(0)
	})
}

func TestWire17_RetriesInOrder(t *testing.T) {
	play(t, push.Options{}, func(t *testing.T, b *bench) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		left := []func(*http.Request) (*http.Response, error){
			status(503), status(599), status(408), status(425), unreachable, stall, status(429), status(204),
		}
		b.answers(func(r *http.Request) (*http.Response, error) {
			if len(left) == 0 {
				return status(200)(r)
			}
			now := left[0]
			left = left[1:]
			return now(r)
		})
		task.add(state("t1", a2a.StateWorking), state("t1", a2a.StateCompleted))
		time.Sleep(20 * time.Minute)
		b.want("3 3 3 3 3 3 3 3 4")
		b.following(0)
		b.counted("delivered=2 retry=7")
	})
}

func TestWire17_Backoff(t *testing.T) {
	play(t, push.Options{MaxAttempts: 6}, func(t *testing.T, b *bench) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		b.answers(status(429))
		task.is(a2a.StateCompleted)
		time.Sleep(10 * time.Minute)
		var at []string
		for _, r := range b.got() {
			at = append(at, r.at.String())
		}
		if got, want := strings.Join(at, " "), "0s 1s 3s 7s 15s 31s"; got != want {
			t.Errorf("attempts at %s, want %s", got, want)
		}
		b.following(0)
		b.counted("died:exhausted=1 retry=6")
	})
}

func TestWire17_RetryAfter(t *testing.T) {
	play(t, push.Options{}, func(t *testing.T, b *bench) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		b.answers(status(503, "Retry-After", "90"))
		task.is(a2a.StateWorking)
		b.want("3")
		time.Sleep(89 * time.Second)
		b.answers(status(429, "Retry-After", time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)))
		b.want("")
		time.Sleep(time.Second)
		b.want("3")
		time.Sleep(58 * time.Second)
		b.want("")
		b.answers(nil)
		time.Sleep(2 * time.Second)
		b.want("3")
		// Who asks for more patience than there is, is not waited for.
		b.answers(status(503, "Retry-After", "86400"))
		task.is(a2a.StateCompleted)
		b.want("4")
		b.following(0)
		b.counted("delivered=1 died:exhausted=1 retry=3")
	})
}

func TestWire17_GivesUpOnRefusal(t *testing.T) {
	for _, code := range []int{300, 302, 307, 400, 401, 404, 422} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			play(t, push.Options{}, func(_ *testing.T, b *bench) {
				task := b.task("t1")
				task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
				b.answers(status(code, "Location", "https://elsewhere.example.com/"))
				task.is(a2a.StateWorking)
				b.want("3")
				time.Sleep(time.Hour)
				b.want("")
				// One refusal is not the end, three are.
				b.answers(nil)
				task.is(a2a.StateInputRequired)
				b.want("4")
				b.answers(status(code))
				for _, want := range []string{"5", "6", "7", ""} {
					task.is(a2a.StateWorking)
					b.want(want)
				}
				b.following(0)
				b.counted("delivered=1 died:refused=1 refused=4")
			})
		})
	}
}

func TestGoneAndDeniedEndAtOnce(t *testing.T) {
	for want, answer := range map[string]func(*http.Request) (*http.Response, error){
		"died:gone=1 refused=1":  status(http.StatusGone),
		"denied=1 died:denied=1": func(*http.Request) (*http.Response, error) { return nil, egress.ErrDenied },
	} {
		play(t, push.Options{}, func(_ *testing.T, b *bench) {
			task := b.task("t1")
			task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
			b.answers(answer)
			task.is(a2a.StateWorking)
			b.want("3")
			b.following(0)
			b.counted(want)
		})
	}
}

func TestWire17_DeleteStopsRetries(t *testing.T) {
	play(t, push.Options{}, func(t *testing.T, b *bench) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		b.answers(status(503))
		task.is(a2a.StateWorking)
		b.want("3")
		if err := b.DeletePush(t.Context(), task.request("t1")); err != nil {
			t.Fatal(err)
		}
		b.answers(nil)
		task.is(a2a.StateCompleted)
		time.Sleep(time.Hour)
		b.want("")
		b.following(0)
	})
}

func TestWire17_DeleteBreaksOffTheRequest(t *testing.T) {
	play(t, push.Options{}, func(t *testing.T, b *bench) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		broken := make(chan error, 1)
		b.answers(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			broken <- r.Context().Err()
			return nil, r.Context().Err()
		})
		task.is(a2a.StateWorking)
		b.want("3")
		if err := b.DeletePush(t.Context(), task.request("")); err != nil {
			t.Fatal(err)
		}
		if err := <-broken; !errors.Is(err, context.Canceled) {
			t.Errorf("request ended with %v, want canceled", err)
		}
		task.is(a2a.StateCompleted)
		time.Sleep(time.Hour)
		b.want("")
		b.counted("")
	})
}

func TestWire17_RestartResumes(t *testing.T) {
	play(t, push.Options{}, func(t *testing.T, b *bench) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		task.is(a2a.StateWorking)
		b.want("3")
		b.answers(status(503))
		task.is(a2a.StateInputRequired)
		b.want("4")
		b.restart()
		b.want("4")
		b.stop()
		// What happens while nobody is there is not lost either.
		task.is(a2a.StateWorking)
		task.is(a2a.StateCompleted)
		b.answers(nil)
		b.restart()
		b.want("4 5 6")
		b.following(0)
		b.restart()
		b.want("")
		if b.configs.Len() != 1 {
			t.Errorf("%d configurations, want 1 until it expires", b.configs.Len())
		}
	})
}

func TestResumeForgetsWhatHasNoTask(t *testing.T) {
	play(t, push.Options{}, func(t *testing.T, b *bench) {
		orphan := store.Push{Task: store.Key{Owner: "alice", TaskID: "gone"}, Config: a2a.PushConfig{ID: "x", URL: hook}}
		if _, err := b.configs.Put(t.Context(), orphan); err != nil {
			t.Fatal(err)
		}
		b.restart()
		b.following(0)
		if b.configs.Len() != 0 {
			t.Error("the configuration is still there")
		}
	})
}

func TestConfigExpiresAfterTheLastNotification(t *testing.T) {
	play(t, push.Options{Keep: time.Minute}, func(t *testing.T, b *bench) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		task.is(a2a.StateCompleted)
		b.want("3")
		if _, err := b.GetPush(t.Context(), task.request("")); err != nil {
			t.Errorf("right after: %v", err)
		}
		time.Sleep(time.Minute)
		if _, err := b.GetPush(t.Context(), task.request("")); err == nil {
			t.Error("it is there after its time")
		}
	})
}

func TestTerminalTaskTakesAConfigAndSendsNothing(t *testing.T) {
	play(t, push.Options{}, func(t *testing.T, b *bench) {
		task := b.task("t1")
		task.is(a2a.StateCompleted)
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		time.Sleep(time.Minute)
		b.want("")
		b.following(0)
		if _, err := b.GetPush(t.Context(), task.request("")); err != nil {
			t.Errorf("GetPush() error = %v", err)
		}
	})
}

// TestTaskThatStartsAgain shows that a configuration which comes with a message
// to a task that has ended is for what follows.
func TestTaskThatStartsAgain(t *testing.T) {
	for name, reachable := range map[string]bool{"the end was told": true, "the end is not told yet": false} {
		t.Run(name, func(t *testing.T) {
			play(t, push.Options{}, func(t *testing.T, b *bench) {
				task := b.task("t1")
				task.config(a2a.PushConfig{Dialect: a2a.DialectV01})
				if !reachable {
					b.answers(unreachable)
				}
				task.is(a2a.StateCompleted)
				b.want("3")
				if err := b.Attach(t.Context(), task.key, a2a.PushConfig{Dialect: a2a.DialectV01, URL: hook}); err != nil {
					t.Fatal(err)
				}
				b.answers(nil)
				task.is(a2a.StateWorking)
				task.is(a2a.StateCompleted)
				if reachable {
					b.want("4 5")
				} else {
					b.want("3 4 5")
				}
				b.following(0)
			})
		})
	}
}

func TestReplaceTakesOverWhatWasNotDelivered(t *testing.T) {
	play(t, push.Options{}, func(t *testing.T, b *bench) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		b.answers(stall)
		task.is(a2a.StateWorking)
		b.want("3")
		b.answers(nil)
		task.config(a2a.PushConfig{Dialect: a2a.DialectV03, URL: hook + "2", Token: "new"})
		all := b.got()
		if len(all) != 1 || all[0].url != hook+"2" || all[0].event() != "3" || all[0].header.Get("X-A2A-Notification-Token") != "new" {
			t.Errorf("received %v, want event 3 at the new place", all)
		}
		task.is(a2a.StateCompleted)
		b.want("4")
		b.following(0)
	})
}

func TestStalledReceiverHarmsNobody(t *testing.T) {
	play(t, push.Options{Workers: 4, PerHost: 1, Timeout: 10 * time.Second}, func(t *testing.T, b *bench) {
		b.answers(func(r *http.Request) (*http.Response, error) {
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
			s.is(a2a.StateWorking)
		}
		fast.is(a2a.StateWorking)
		fast.is(a2a.StateCompleted)
		synctest.Wait()
		all, told := b.got(), 0
		for _, r := range all {
			if r.url == hook {
				told++
			}
		}
		if told != 2 || len(all) != 3 {
			t.Errorf("received %d, %d of them on the fast host, want 3 and 2", len(all), told)
		}
		// When the host recovers, everybody gets what is due.
		b.answers(nil)
		time.Sleep(10 * time.Minute)
		seen := map[string]bool{}
		for _, r := range b.got() {
			seen[r.header.Get("X-A2A-Event-Id")] = true
		}
		if len(seen) != len(slow) {
			t.Errorf("%d of %d slow tasks were told of", len(seen), len(slow))
		}
	})
}

func TestCircuitBreaker(t *testing.T) {
	play(t, push.Options{PerHost: 1, MaxAttempts: 100}, func(t *testing.T, b *bench) {
		b.answers(unreachable)
		var tasks []*task
		for i := range 50 {
			task := b.task(strconv.Itoa(i))
			task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
			task.is(a2a.StateWorking)
			tasks = append(tasks, task)
		}
		if n := len(b.got()); n != 5 {
			t.Errorf("%d requests went to a dead host at once, want 5", n)
		}
		time.Sleep(29 * time.Second)
		if n := len(b.got()); n != 0 {
			t.Errorf("%d requests went to a host that is left alone", n)
		}
		time.Sleep(5 * time.Minute)
		if n := len(b.got()); n > 12 {
			t.Errorf("%d requests went to a dead host in 5 min, want at most one every 30 s", n)
		}
		b.answers(nil)
		time.Sleep(2 * time.Minute)
		if n := len(b.got()); n != len(tasks) {
			t.Errorf("%d notifications after the host is back, want %d", n, len(tasks))
		}
		b.following(50)
	})
}

func TestDeadHostIsGivenUp(t *testing.T) {
	play(t, push.Options{PerHost: 1, MaxAttempts: 1000}, func(t *testing.T, b *bench) {
		b.answers(unreachable)
		for i := range 20 {
			task := b.task(strconv.Itoa(i))
			task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
			task.is(a2a.StateCompleted)
		}
		time.Sleep(31 * time.Minute)
		b.following(0)
		if b.causes[push.CauseExhausted] != 20 {
			t.Errorf("causes = %v, want 20 exhausted", b.causes)
		}
	})
}

func TestDrainSendsWhatIsReady(t *testing.T) {
	play(t, push.Options{Linger: time.Hour}, func(t *testing.T, b *bench) {
		for i, answer := range map[string]func(*http.Request) (*http.Response, error){"ok": nil, "failing": status(503)} {
			task := b.task(i)
			task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
			b.answers(answer)
			task.is(a2a.StateWorking)
			b.want("3")
		}
		b.answers(func(r *http.Request) (*http.Response, error) {
			time.Sleep(5 * time.Second)
			return status(200)(r)
		})
		task := b.task("lingers")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		task.add(chunk("lingers", "a", "x", false))
		b.want("")
		before := time.Now()
		if err := b.Drain(t.Context()); err != nil {
			t.Errorf("Drain() error = %v", err)
		}
		if took := time.Since(before); took != 5*time.Second {
			t.Errorf("Drain() took %s, want 5s: the request on its way, and no retry", took)
		}
		b.want("3")
		task.is(a2a.StateCompleted)
		b.want("")
	})
}

func TestDrainIsBounded(t *testing.T) {
	play(t, push.Options{Timeout: time.Hour}, func(t *testing.T, b *bench) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		b.answers(stall)
		task.is(a2a.StateWorking)
		b.want("3")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Drain() error = %v, want deadline exceeded", err)
		}
		b.answers(nil)
		b.restart()
		b.want("3")
	})
}

func TestEvictedTaskTakesItsConfigsAlong(t *testing.T) {
	play(t, push.Options{}, func(t *testing.T, b *bench) {
		task := b.task("t1")
		b.answers(status(503))
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		task.is(a2a.StateCompleted)
		b.want("3")
		time.Sleep(2 * time.Hour)
		b.task("t2")
		if _, err := b.GetPush(t.Context(), task.request("")); err == nil {
			t.Error("configuration of a task that is gone")
		}
		b.following(0)
	})
}

func TestTrimmedLogGivesTheTask(t *testing.T) {
	play(t, push.Options{}, func(t *testing.T, b *bench) {
		for dialect, want := range map[a2a.Dialect]string{
			a2a.DialectV10: `{"task":{"id":"t1"`, a2a.DialectV03: `{"kind":"task","id":"t0"`,
		} {
			task := b.task("t" + strconv.Itoa(int(dialect)))
			id := task.key.TaskID
			task.config(a2a.PushConfig{Dialect: dialect})
			b.answers(status(503))
			task.is(a2a.StateWorking)
			synctest.Wait()
			for range 200 {
				var many []a2a.Event
				for range 100 {
					many = append(many, chunk(id, "a", "x", true))
				}
				task.add(many...)
			}
			b.got()
			b.answers(nil)
			time.Sleep(2 * time.Second)
			all := b.got()
			if len(all) != 1 || !strings.HasPrefix(all[0].body, want) || all[0].event() != strconv.FormatUint(task.seq, 10) {
				t.Errorf("dialect %d: received %d, %.80v, want one task", dialect, len(all), all)
			}
			task.is(a2a.StateCompleted)
			b.want(strconv.FormatUint(task.seq, 10))
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	play(t, push.Options{PerHost: 16}, func(t *testing.T, b *bench) {
		const tasks, statuses = 40, 20
		b.answers(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Millisecond)
			return status(200)(r)
		})
		for i := range tasks {
			task := b.task(strconv.Itoa(i))
			task.config(a2a.PushConfig{Dialect: a2a.DialectV10, URL: "https://h" + strconv.Itoa(i%3) + ".example.com/"})
			go func() {
				for range statuses {
					task.is(a2a.StateWorking)
					time.Sleep(time.Millisecond)
				}
				task.is(a2a.StateCompleted)
			}()
		}
		time.Sleep(time.Minute)
		last := map[string]int{}
		for _, r := range b.got() {
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
		b.following(0)
	})
}
