// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
)

// stallAt stalls at hosts whose names begin so.
func stallAt(prefix string) func(r *http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		if strings.HasPrefix(r.URL.Host, prefix) {
			return stall(r)
		}
		return status(http.StatusOK)(r)
	}
}

// TestSlowReceiversOfOneOwner, or of several, keep no worker from the others.
func TestSlowReceiversOfOneOwner(t *testing.T) {
	for name, test := range map[string]struct {
		owners, hosts int
		// held is how many workers wait for the slow ones, and wait how long
		// somebody else may have to.
		held int
		wait time.Duration
	}{
		"one owner, four hosts":   {owners: 1, hosts: 4, held: 8},
		"one owner, forty hosts":  {owners: 1, hosts: 40, held: 8},
		"four owners, four hosts": {owners: 4, hosts: 4, held: 15},
		"ten owners, ten hosts":   {owners: 10, hosts: 1, held: 16, wait: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, push.Options{Timeout: 10 * time.Second}, func(t *testing.T, b *bench) {
				b.answers(stallAt("slow"))
				for owner := range test.owners {
					for host := range test.hosts {
						for n := range 5 {
							id := fmt.Sprintf("%d-%d-%d", owner, host, n)
							task := b.taskOf(a2a.Owner(fmt.Sprintf("owner%d", owner)).In(fmt.Sprint(n%2)), id)
							task.config(a2a.PushConfig{Dialect: a2a.DialectV10, URL: fmt.Sprintf("https://slow%d-%d.example.com/", owner, host)})
							task.is(a2a.StateWorking)
						}
					}
				}
				synctest.Wait()
				if got := len(b.got()); got == 0 || got > test.held {
					t.Errorf("%d workers wait for slow receivers, want at most %d", got, test.held)
				}
				other := b.taskOf("bob", "other")
				other.config(a2a.PushConfig{Dialect: a2a.DialectV10})
				other.is(a2a.StateWorking)
				other.is(a2a.StateCompleted)
				time.Sleep(test.wait)
				synctest.Wait()
				var told []request
				for _, r := range b.got() {
					if r.url == hook {
						told = append(told, r)
					}
				}
				if len(told) != 2 || told[1].at > test.wait {
					t.Errorf("another owner was told %d times by now, want 2", len(told))
				}
			})
		})
	}
}

// TestOwnersAreServedInTurn: many notifications of one delay those of another by
// as many as there are workers.
func TestOwnersAreServedInTurn(t *testing.T) {
	play(t, push.Options{Workers: 1, PerHost: 1}, func(t *testing.T, b *bench) {
		b.answers(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return status(http.StatusOK)(r)
		})
		for i := range 20 {
			task := b.taskOf("alice", fmt.Sprint(i))
			task.config(a2a.PushConfig{Dialect: a2a.DialectV10, URL: fmt.Sprintf("https://a%d.example.com/", i)})
			task.is(a2a.StateWorking)
		}
		other := b.taskOf("bob", "other")
		other.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		other.is(a2a.StateWorking)
		time.Sleep(time.Minute)
		at := time.Duration(-1)
		all := b.got()
		for _, r := range all {
			if r.url == hook {
				at = r.at
			}
		}
		if at < 0 || at > 2*time.Second {
			t.Errorf("the other owner was told after %s, want at most 2s", at)
		}
		if len(all) != 21 {
			t.Errorf("%d notifications, want 21", len(all))
		}
	})
}
