// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package watch_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
	"github.com/a2a-operator/a2a-operator/internal/registry/watch"
)

// arrivals counts the flushes of streams.
type arrivals struct{ atomic.Int64 }

func (*arrivals) Write(frames []byte) (int, error) { return len(frames), nil }
func (a *arrivals) Flush() error                   { a.Add(1); return nil }

// settle waits until there are as many arrivals as least or more, and none for 100 ms.
func (a *arrivals) settle(least int64) {
	for last := int64(-1); last != a.Load() || last < least; time.Sleep(100 * time.Millisecond) {
		last = a.Load()
	}
}

// BenchmarkChangeBeside9000Watches makes 100 changes a second beside 9,000 watches, and reports the CPU
// time of a change. Watches of all agents receive each change. The other watches see one of 1,000
// namespaces each, by their filter or by the rights of their callers: nine of them receive a change.
func BenchmarkChangeBeside9000Watches(b *testing.B) {
	const watches, namespaces = 9000, 1000
	everything := access.NewSet(access.VisibilityCluster)
	for _, kind := range []struct {
		name      string
		query     func(namespace string) string
		set       func(namespace string) *access.Set
		concerned int
	}{
		{"of all agents", func(string) string { return "watch=true" }, func(string) *access.Set { return everything }, watches},
		{"of a filter", func(n string) string { return "watch=true&namespace=" + n }, func(string) *access.Set { return everything }, watches / namespaces},
		{"of a caller", func(string) string { return "watch=true" }, func(n string) *access.Set { return access.NewSet(access.VisibilityPublic, n) }, watches / namespaces},
	} {
		b.Run(kind.name, func(b *testing.B) {
			var mu sync.Mutex
			agents := map[index.Key]*index.Entry{}
			feed := index.NewFeed(func(_ context.Context, key index.Key, _ *index.Entry, _ index.Revision) (*index.Entry, error) {
				mu.Lock()
				defer mu.Unlock()
				return agents[key], nil
			}, clock.RealClock{}, logr.Discard())
			put := func(i, version int) {
				key := index.Key{Namespace: fmt.Sprintf("n%d", i%namespaces), Name: "a"}
				e, err := index.NewEntry(index.Facts{Key: key, Description: "Version " + strconv.Itoa(version)}, index.CardSource{})
				if err != nil {
					b.Fatal(err)
				}
				mu.Lock()
				agents[key] = e
				mu.Unlock()
				feed.Touch(index.Revision{}, key)
			}
			for i := range namespaces {
				put(i, 0)
			}
			ctx, stop := context.WithCancel(b.Context())
			var running sync.WaitGroup
			running.Go(func() { feed.Run(ctx) })
			if _, ok := feed.AwaitRevision(ctx, index.Revision{}); !ok {
				b.Fatal("no snapshot")
			}
			var arrived arrivals
			for i := range watches {
				namespace := fmt.Sprintf("n%d", i%namespaces)
				q, err := index.ParseQuery(kind.query(namespace))
				if err != nil {
					b.Fatal(err)
				}
				set := kind.set(namespace)
				stream, err := watch.New(ctx, watch.Options{
					Feed: feed, Query: q, Clock: clock.RealClock{}, VisibleSet: func(context.Context) (*access.Set, error) { return set, nil },
				})
				if err != nil {
					b.Fatal(err)
				}
				running.Go(func() { _ = stream.Run(ctx, &arrived) })
			}
			arrived.settle(watches) // the first states
			b.ResetTimer()
			before := cpuTime(b)
			for n := range b.N {
				put(n, n+1)
				time.Sleep(10 * time.Millisecond)
			}
			arrived.settle(0)
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "cpu-us/change")
			b.ReportMetric(float64(kind.concerned), "watches-concerned")
			stop()
			running.Wait()
		})
	}
}

// cpuTime returns the CPU time of the process.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
