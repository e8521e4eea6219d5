// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package watch_test

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/registry/index"
	"github.com/a2a-operator/a2a-operator/internal/registry/watch"
)

// discarding is a Writer that stores nothing.
type discarding struct{}

func (discarding) Write(text []byte) (int, error) { return len(text), nil }
func (discarding) Flush() error                   { return nil }

// The streams that send an update share a few buffers. With thousands of watches, a new buffer for
// each stream would make hundreds of megabytes of garbage a second.
func TestStreamsOfAnUpdateShareBuffers(t *testing.T) {
	const streams, updates, size = 200, 20, 20 << 10
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		key := index.Key{Namespace: "n", Name: "a"}
		c.write(agentAt(key, "first"), false)
		r := startReplica(t, c)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for range streams {
			q, err := index.ParseQuery("watch=true")
			if err != nil {
				t.Fatal(err)
			}
			stream, err := watch.New(ctx, watch.Options{Feed: r.feed, Query: q, VisibleSet: adminSet(), Clock: clock.RealClock{}})
			if err != nil {
				t.Fatal(err)
			}
			running.Go(func() { _ = stream.Run(ctx, discarding{}) })
		}
		synctest.Wait()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range updates {
			c.write(agentAt(key, strings.Repeat("x", size)+strconv.Itoa(i)), false)
			r.cache(c, len(c.log))
			r.notify(c, len(c.log))
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / (streams * updates); each > size/2 {
			t.Errorf("a delivery allocates %d bytes, and the event has %d", each, size)
		}
		cancel()
		running.Wait()
		r.stop()
		<-r.done
	})
}

// stalled is a Writer of a reader that does not read.
type stalled struct{ done <-chan struct{} }

func (w stalled) Write([]byte) (int, error) {
	<-w.done
	return 0, context.Canceled
}
func (stalled) Flush() error { return nil }

// Streams to readers that do not read keep no copies of large events.
func TestStalledStreamsKeepNoCopies(t *testing.T) {
	const streams, size = 200, 240 << 10
	for _, query := range []string{"watch=true", "watch=true&namespace=n"} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster()
			key := index.Key{Namespace: "n", Name: "a"}
			c.write(agentAt(key, "first"), false)
			c.write(agentAt(index.Key{Namespace: "n", Name: "b"}, strings.Repeat("y", size)), false)
			r := startReplica(t, c)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			q, err := index.ParseQuery(query)
			if err != nil {
				t.Fatal(err)
			}
			used := func() int64 {
				var stats runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&stats)
				return int64(stats.HeapAlloc)
			}
			before := used()
			begin := func(w watch.Writer) {
				stream, err := watch.New(ctx, watch.Options{Feed: r.feed, Query: q, VisibleSet: adminSet(), Clock: clock.RealClock{}})
				if err != nil {
					t.Fatal(err)
				}
				running.Go(func() { _ = stream.Run(ctx, w) })
			}
			for range streams {
				begin(stalled{ctx.Done()})
				begin(&stallsLater{stalled: stalled{ctx.Done()}})
			}
			synctest.Wait()
			c.write(agentAt(key, strings.Repeat("x", size)), false)
			r.cache(c, len(c.log))
			r.notify(c, len(c.log))
			time.Sleep(time.Second)
			synctest.Wait()
			if each := (used() - before) / (2 * streams); each > 48<<10 {
				t.Errorf("%s: a stream whose reader does not read keeps %d KiB, and an event has %d KiB", query, each>>10, size>>10)
			}
			cancel()
			running.Wait()
			r.stop()
			<-r.done
		})
	}
}

// stallsLater is a Writer of a reader that reads until the first flush.
type stallsLater struct {
	stalled
	flushed bool
}

func (w *stallsLater) Write(text []byte) (int, error) {
	if w.flushed {
		return w.stalled.Write(text)
	}
	return len(text), nil
}

func (w *stallsLater) Flush() error {
	w.flushed = true
	return nil
}
