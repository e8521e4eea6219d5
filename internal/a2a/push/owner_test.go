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

// stallAt stalls at hosts whose names begin with a prefix.
func stallAt(prefix string) func(r *http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		if strings.HasPrefix(r.URL.Host, prefix) {
			return stall(r)
		}
		return status(http.StatusOK)(r)
	}
}

func TestSlowReceiversDelayNoOtherOwner(t *testing.T) {
	for name, test := range map[string]struct {
		// accountsOf is the namespace of the owners, if they are ServiceAccounts.
		accountsOf    string
		owners, hosts int
		// held is the number of workers that slow receivers occupy. wait is the longest
		// delay of each notification of another owner.
		held int
		wait time.Duration
	}{
		"one owner, four hosts":   {owners: 1, hosts: 4, held: 8},
		"one owner, forty hosts":  {owners: 1, hosts: 40, held: 8},
		"four owners, four hosts": {owners: 4, hosts: 4, held: 15},
		"ten owners, ten hosts":   {owners: 10, hosts: 1, held: 16, wait: 10 * time.Second},

		"forty ServiceAccounts of one namespace": {accountsOf: "system:serviceaccount:team:", owners: 40, hosts: 1, held: 8},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, push.Options{Timeout: 10 * time.Second}, func(t *testing.T, b *fixture) {
				b.respond(stallAt("slow"))
				for owner := range test.owners {
					for host := range test.hosts {
						for n := range 5 {
							id := fmt.Sprintf("%d-%d-%d", owner, host, n)
							task := b.taskOf(a2a.Owner(fmt.Sprintf("%sowner%d", test.accountsOf, owner)).In(fmt.Sprint(n%2)), id)
							task.config(a2a.PushConfig{Dialect: a2a.DialectV10, URL: fmt.Sprintf("https://slow%d-%d.example.com/", owner, host)})
							task.setState(a2a.StateWorking)
						}
					}
				}
				synctest.Wait()
				if got := len(b.takeReceived()); got == 0 || got > test.held {
					t.Errorf("%d workers wait for slow receivers, want at most %d", got, test.held)
				}
				other := b.taskOf("bob", "other")
				other.config(a2a.PushConfig{Dialect: a2a.DialectV10})
				other.setState(a2a.StateWorking)
				other.setState(a2a.StateCompleted)
				time.Sleep(2 * test.wait)
				synctest.Wait()
				var sent []request
				for _, r := range b.takeReceived() {
					if r.url == hook {
						sent = append(sent, r)
					}
				}
				if len(sent) != 2 {
					t.Fatalf("another owner received %d notifications by now, want 2", len(sent))
				}
				if first, second := sent[0].at, sent[1].at; first > test.wait || second > first+test.wait {
					t.Errorf("another owner was notified after %s and %s, want each within %s", first, second, test.wait)
				}
			})
		})
	}
}

// Many notifications of one owner delay another owner by at most one notification for each
// worker.
func TestOwnersAreServedInRotation(t *testing.T) {
	withFixture(t, push.Options{Workers: 1, PerHost: 1}, func(t *testing.T, b *fixture) {
		b.respond(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return status(http.StatusOK)(r)
		})
		for i := range 20 {
			task := b.taskOf("alice", fmt.Sprint(i))
			task.config(a2a.PushConfig{Dialect: a2a.DialectV10, URL: fmt.Sprintf("https://a%d.example.com/", i)})
			task.setState(a2a.StateWorking)
		}
		other := b.taskOf("bob", "other")
		other.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		other.setState(a2a.StateWorking)
		time.Sleep(time.Minute)
		at := time.Duration(-1)
		all := b.takeReceived()
		for _, r := range all {
			if r.url == hook {
				at = r.at
			}
		}
		if at < 0 || at > 2*time.Second {
			t.Errorf("the other owner was notified after %s, want at most 2s", at)
		}
		if len(all) != 21 {
			t.Errorf("%d notifications, want 21", len(all))
		}
	})
}
