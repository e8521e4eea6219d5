// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"net/http"
	"os"

	"github.com/a2a-operator/a2a-operator/internal/gctuning"
)

// heapPolicy is that of a sidecar, which rests most of its life and shares its
// machine with many others: at rest it holds what it needs and no garbage. While
// it works, a heap of a few megabytes that may only double is collected more
// often than it is worth. A large heap may double, as is usual.
var heapPolicy = gctuning.Policy{
	Room: 12 << 20, LeastPercent: 100, MostPercent: 400,
	Quiet: 256 << 10, Worthwhile: 1 << 20, Parts: 4,
}

// OwnHeap has the sidecar keep the heap, which is the process's: a program that
// is a sidecar and nothing else calls it, before Serve. Who sets GOGC is obeyed,
// and GOMEMLIMIT is heeded all the same.
func (s *Sidecar) OwnHeap() {
	if os.Getenv("GOGC") == "" {
		s.heap.Own()
	}
}

// watchHeap tells of requests, which make garbage.
func watchHeap(keeper *gctuning.Keeper, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keeper.Working()
		next.ServeHTTP(w, r)
	})
}
