// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// One owner has one large notification for a host whose slots are always in use by small
// notifications of another owner. The large notifications of other owners for other hosts
// use the memory. The large notification still gets a slot and memory within a minute.
func TestLargeNotificationGetsSlotAndMemory(t *testing.T) {
	s := &slowReceiver{memory: limit.NewBudget(1<<20, time.Second)}
	withFixture(t, push.Options{Memory: s.memory, PerHost: 2, Linger: time.Nanosecond}, func(t *testing.T, b *fixture) {
		b.tasks = storetest.NewMemory(memory.Options{MaxBytes: 1 << 40, MaxTasks: 1 << 20})
		b.configs = memory.NewPushes(memory.PushOptions{Max: 1 << 20})
		b.options.Tasks, b.options.Configs = b.tasks, b.configs
		b.restart()
		const busy = "https://busy.example.com/"
		// mu guards the variables below and the appends to the tasks in endless. The receiver may
		// append while the first append has not returned yet.
		var mu sync.Mutex
		var delivered time.Time
		end := time.Now().Add(6 * time.Minute)
		endless := map[string]*task{}
		b.respond(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "busy.example.com" {
				mu.Lock()
				again := endless[r.Header.Get("X-A2A-Notification-Token")]
				if r.ContentLength > limit.Small {
					delivered = time.Now()
				}
				if again != nil && time.Now().Before(end) {
					again.setState(a2a.StateWorking)
				}
				mu.Unlock()
				time.Sleep(8 * time.Second)
			}
			time.Sleep(170 * time.Millisecond)
			return s.answer(r)
		})
		notify := func(owner a2a.Owner, id, url string, size int) {
			task := b.taskOf(owner, id)
			task.config(a2a.PushConfig{Dialect: a2a.DialectV10, URL: url})
			task.add(chunk(id, "a1", strings.Repeat("x", size), false))
		}
		for owner := range 3 {
			for i := range 420 {
				notify(a2a.Owner(fmt.Sprint("owner", owner)), fmt.Sprintf("%d-%d", owner, i), fmt.Sprintf("https://other%d.example.com/", owner), 240<<10)
			}
		}
		for i := range 8 {
			id := fmt.Sprint("small", i)
			one := b.taskOf("bob", id)
			one.config(a2a.PushConfig{Dialect: a2a.DialectV10, URL: busy, Token: id})
			mu.Lock()
			endless[id] = one
			one.setState(a2a.StateWorking)
			mu.Unlock()
		}
		time.Sleep(5 * time.Second)
		began := time.Now()
		notify("alice", "late", busy, 100<<10)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if waited := delivered.Sub(began); delivered.IsZero() || waited > time.Minute {
			t.Errorf("the large notification waited %v, want at most a minute", waited)
		}
	})
}
