// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// notify creates a task with a webhook, and sends one notification.
func (b *fixture) notify(owner, id, url string) {
	b.t.Helper()
	one := b.taskOf(a2a.Owner(owner), id)
	one.config(a2a.PushConfig{Dialect: a2a.DialectV10, URL: url})
	one.setState(a2a.StateWorking)
}

// requestsTo waits until all goroutines wait, and returns the requests to a URL since the last
// call.
func (b *fixture) requestsTo(url string) []request {
	b.t.Helper()
	var all []request
	for _, r := range b.takeReceived() {
		if r.url == url {
			all = append(all, r)
		}
	}
	return all
}

// The requests of one owner fail at a host. Requests of other owners to the host, and of the same
// owner to another scheme or port of it, are sent at once.
func TestFailuresOfOneOwnerStopNoOtherOwner(t *testing.T) {
	for name, test := range map[string]struct{ owner, url string }{
		"another owner": {"bob", "https://hooks.example.com/hook"},
		"another port":  {"alice", "https://hooks.example.com:8443/hook"},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, push.Options{MaxAttempts: 100}, func(t *testing.T, b *fixture) {
				b.respond(func(r *http.Request) (*http.Response, error) {
					if r.URL.Path == "/fails" {
						return unreachable(r)
					}
					return status(http.StatusOK)(r)
				})
				for i := range 20 {
					b.notify("alice", strconv.Itoa(i), "https://hooks.example.com:443/fails")
				}
				if n := len(b.requestsTo("https://hooks.example.com:443/fails")); n < 5 || n > 8 {
					t.Errorf("%d requests before the circuit breaker opened, want 5 to 8", n)
				}
				b.notify("alice", "same", "https://HOOKS.example.com./fails")
				if n := len(b.takeReceived()); n != 0 {
					t.Errorf("another spelling of the host passes the circuit breaker: %d requests", n)
				}
				b.notify(test.owner, "other", test.url)
				if n := len(b.requestsTo(test.url)); n != 1 {
					t.Errorf("%d requests, want 1 at once", n)
				}
			})
		})
	}
}

// One owner has 60 notifications for a slow host. The notifications of two other owners to the host
// get their share of its slots.
func TestOwnersShareTheSlotsOfAHost(t *testing.T) {
	for _, slots := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(slots), func(t *testing.T) {
			withFixture(t, push.Options{PerHost: slots}, func(t *testing.T, b *fixture) {
				b.respond(func(r *http.Request) (*http.Response, error) {
					time.Sleep(time.Second)
					return status(http.StatusOK)(r)
				})
				for i := range 60 {
					b.notify("alice", fmt.Sprint("alice", i), "https://hooks.example.com/alice")
				}
				synctest.Wait()
				for i := range 4 {
					b.notify("bob", fmt.Sprint("bob", i), "https://hooks.example.com/bob")
					b.notify("carol", fmt.Sprint("carol", i), "https://hooks.example.com/carol")
				}
				time.Sleep(15*time.Second + time.Millisecond)
				count := map[string]int{}
				for _, r := range b.takeReceived() {
					count[r.url[strings.LastIndex(r.url, "/")+1:]]++
				}
				if count["bob"] != 4 || count["carol"] != 4 || count["alice"] < slots*15-8 {
					t.Errorf("sent %v in 15 s, want all 4 of bob and carol, and the rest of the slots for alice", count)
				}
			})
		})
	}
}

// heldTasks are tasks of which those of one owner are read only after release is closed.
type heldTasks struct {
	store.Store
	release chan struct{}
}

func (s heldTasks) Open(ctx context.Context, k store.Key) (store.Log, error) {
	log, err := s.Store.Open(ctx, k)
	if k.Owner != "hostile" {
		return log, err
	}
	return heldLog{log, s.release}, err
}

type heldLog struct {
	store.Log
	release chan struct{}
}

func (l heldLog) Snapshot(ctx context.Context) (*a2a.Record, error) {
	<-l.release
	return l.Log.Snapshot(ctx)
}

// While the store reads a task of one owner for a new configuration, others set theirs, apart from a few that share a lock.
func TestReadsForOneOwnerDelayNoOtherOwner(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		tasks := heldTasks{b.tasks, make(chan struct{})}
		b.options.Tasks = tasks
		b.restart()
		var group sync.WaitGroup
		hostile := b.taskOf("hostile", "h")
		group.Go(func() { hostile.config(a2a.PushConfig{}) })
		synctest.Wait() // it reads
		const owners, shared = 20, 4
		done := make(chan struct{}, owners)
		for i := range owners {
			task := b.taskOf(a2a.Owner(fmt.Sprint("owner", i)), fmt.Sprint("t", i))
			group.Go(func() {
				task.config(a2a.PushConfig{})
				done <- struct{}{}
			})
		}
		for range owners - shared {
			<-done
		}
		close(tasks.release)
		group.Wait()
	})
}
