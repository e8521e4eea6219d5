// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"crypto/rand"
	"strconv"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/storetest"
)

// BenchmarkAppend appends chunks of 20 bytes to 64 tasks at once, one a call.
func BenchmarkAppend(b *testing.B) {
	for name, s := range map[string]store.Store{
		"memory": memory.New(memory.Options{MaxBytes: 1 << 30}), "redis": open(b, start(b).options()),
	} {
		b.Run(name, func(b *testing.B) { appendToMany(b, s, 64) })
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
