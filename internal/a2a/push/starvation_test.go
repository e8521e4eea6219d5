// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// keepBusy has three clients, two of which always wait for memory that the third one has.
func keepBusy(hold func(ctx context.Context, client string) (release func(), ok bool)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	for i := range 3 {
		clients.Go(func() {
			time.Sleep(time.Duration(i)*time.Millisecond + 50*time.Microsecond) // never at the time of a poll
			for ctx.Err() == nil {
				if release, ok := hold(ctx, fmt.Sprintf("client%d", i)); ok {
					time.Sleep(101 * time.Millisecond)
					release()
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	time.Sleep(10 * time.Millisecond)
	return func() {
		cancel()
		clients.Wait()
	}
}

// TestNotificationsOutlastBusyClients checks that a notification is sent although clients wait for memory at any time.
func TestNotificationsOutlastBusyClients(t *testing.T) {
	for name, busy := range map[string]func(memory *limit.Budget, loads *store.Loads) (stop func()){
		"memory for bodies": func(memory *limit.Budget, _ *store.Loads) (stop func()) {
			return keepBusy(func(ctx context.Context, client string) (func(), bool) {
				var held limit.Reservation
				ok := memory.Grow(ctx, &held, a2a.AccountingPrincipal{Principal: client}, memory.Largest())
				return held.Release, ok
			})
		},
		"memory for reads": func(_ *limit.Budget, loads *store.Loads) (stop func()) {
			return keepBusy(func(ctx context.Context, client string) (func(), bool) {
				reader := loads.Reader(a2a.Owner(client))
				err := store.ReserveLoad(reader.In(ctx), 768<<10)
				return reader.Release, err == nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, push.Options{Linger: time.Nanosecond}, func(t *testing.T, b *fixture) {
				memory, loads := limit.NewBudget(1<<20, time.Second), store.NewLoads(1<<20)
				b.options.Memory = memory
				b.options.Loads = loads
				b.options.Tasks = &countingTasks{Store: b.tasks, needs: 300 << 10}
				b.restart()
				stop := busy(memory, loads)
				defer stop()
				b.large("alice", "t1", a2a.DialectV10)
				time.Sleep(5 * time.Minute)
				b.wantCounts("delivered=1")
			})
		})
	}
}

// TestOwnersTakeTurnsToWaitInTheBudget checks that a notification of one owner is sent soon although notifications of another one wait, more
// than can be sent in an hour, and that the log names the long waits.
func TestOwnersTakeTurnsToWaitInTheBudget(t *testing.T) {
	withFixture(t, push.Options{Linger: time.Nanosecond}, func(t *testing.T, b *fixture) {
		memory := limit.NewBudget(1<<20, time.Second)
		b.options.Memory = memory
		b.restart()
		defer keepBusy(func(ctx context.Context, client string) (func(), bool) {
			var held limit.Reservation
			ok := memory.Grow(ctx, &held, a2a.AccountingPrincipal{Principal: client}, memory.Largest())
			return held.Release, ok
		})()
		for i := range 200 {
			b.large("mallory", fmt.Sprint(i), a2a.DialectV10)
		}
		const late = "https://late.example.com/"
		task := b.taskOf("alice", "t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10, URL: late})
		task.add(largeChunk("t1"))
		time.Sleep(2 * time.Minute)
		sent := 0
		for _, r := range b.takeReceived() {
			if r.url == late {
				sent++
			}
		}
		if sent != 1 {
			t.Errorf("%d notifications of alice were sent, want 1", sent)
		}
		b.restart() // it writes to the log no more
		if n := strings.Count(b.log.String(), "waits for memory"); n < 5 || n > 120 {
			t.Errorf("%d lines of the log name a wait, want one for each turn after a minute: %s", n, b.log.String())
		}
	})
}
