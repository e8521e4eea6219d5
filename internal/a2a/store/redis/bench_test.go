// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"crypto/rand"
	"strconv"
	"strings"
	"testing"

	client "github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// BenchmarkAppend appends chunks of 20 bytes to 64 tasks at once, one a call.
func BenchmarkAppend(b *testing.B) {
	b.Run("memory", func(b *testing.B) { appendToMany(b, memory.New(memory.Options{MaxBytes: 1 << 30}), 64) })
	b.Run("redis", func(b *testing.B) {
		server := start(b)
		defer reportCPU(b, server)()
		appendToMany(b, open(b, server.options()), 64)
	})
}

// reportCPU returns a function that reports the CPU time of the server since the call of
// reportCPU.
func reportCPU(b *testing.B, s server) (report func()) {
	b.Helper()
	c := client.NewClient(&client.Options{Addr: s.Address()})
	used := func() (seconds float64) {
		info, err := c.Info(b.Context(), "cpu").Result()
		if err != nil {
			b.Fatal(err)
		}
		for _, name := range []string{"used_cpu_user:", "used_cpu_sys:"} {
			_, rest, _ := strings.Cut(info, name)
			text, _, _ := strings.Cut(rest, "\r")
			part, err := strconv.ParseFloat(text, 64)
			if err != nil {
				b.Fatal(err)
			}
			seconds += part
		}
		return seconds
	}
	began := used()
	return func() {
		b.ReportMetric((used()-began)*1e6/float64(b.N), "redis-us/op")
		_ = c.Close()
	}
}

func appendToMany(b *testing.B, s store.Store, tasks int) {
	b.Helper()
	b.SetParallelism(tasks)
	b.ReportAllocs()
	next := make(chan int, 4*tasks)
	for i := range 4 * tasks {
		next <- i
	}
	id := rand.Text() // the same function runs several times on one store
	b.RunParallel(func(p *testing.PB) {
		log, err := s.Create(b.Context(), store.NewTask{Key: store.Key{Owner: "o", TaskID: id + strconv.Itoa(<-next)}, Origin: origin, Events: storetest.Begin()})
		if err != nil {
			b.Error(err)
			return
		}
		for after := uint64(2); p.Next(); after++ {
			e := storetest.Chunk("a", "twenty bytes of text")
			e.Artifact.JoinText = true
			if _, err := log.Append(b.Context(), store.Append{After: after, Events: []a2a.Event{e}}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkTasks creates tasks of two chunks, 64 at a time, and ends them. The store is full, so each
// task evicts another one.
func BenchmarkTasks(b *testing.B) {
	server := start(b)
	o := server.options()
	o.MaxTasks = 1000
	s := open(b, o)
	defer reportCPU(b, server)()
	b.SetParallelism(64)
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			log, err := s.Create(b.Context(), store.NewTask{
				Key: store.Key{Owner: "o", TaskID: rand.Text()}, Origin: origin, Events: storetest.Begin(), Write: store.Write{Replica: "a/1"},
			})
			if err != nil {
				b.Error(err)
				return
			}
			for i, events := range [][]a2a.Event{
				{storetest.Status(a2a.StateWorking, nil)}, {storetest.Chunk("a", "text")}, {storetest.Chunk("a", "text")}, {storetest.Status(a2a.StateCompleted, nil)},
			} {
				a := store.Append{After: uint64(2 + i), Events: events, Hold: store.Keep, Write: store.Write{Replica: "a/1"}}
				if _, err := log.Append(b.Context(), a); err != nil {
					b.Error(err)
					return
				}
			}
		}
	})
}

// BenchmarkOpenAfterALargeMessage opens a log without new events, whose last entry has 10 MiB.
func BenchmarkOpenAfterALargeMessage(b *testing.B) {
	s := open(b, start(b).options())
	events := append(storetest.Begin(), storetest.Chunk("a", strings.Repeat("x", 10<<20)))
	if _, err := s.Create(b.Context(), store.NewTask{Key: key, Origin: origin, Events: events}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Open(b.Context(), key); err != nil {
			b.Fatal(err)
		}
	}
}
