// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"net/http"
	"os"

	"github.com/a2a-operator/a2a-operator/internal/gctuning"
)

// heapPolicy is for a program that is idle most of its life and shares its machine with
// many others: idle, it holds no garbage. While it works, a heap of a few megabytes that
// may only double would be collected too often. A large heap may double, which is Go's
// default.
var heapPolicy = gctuning.Policy{
	Garbage: 12 << 20, MinPercent: 100, MaxPercent: 400,
	IdleAllocation: 256 << 10, MinRelease: 1 << 20, MinReleaseDivisor: 4,
}

// OwnHeap tunes the garbage collector of the process, which must be a sidecar and
// nothing else. It is called before Serve. It does nothing if GOGC is set. GOMEMLIMIT
// takes effect in either case.
func (s *Sidecar) OwnHeap() {
	if os.Getenv("GOGC") == "" {
		s.heap.Own()
	}
}

// watchHeap reports each request to the tuner.
func watchHeap(tuner *gctuning.Tuner, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tuner.Working()
		next.ServeHTTP(w, r)
	})
}
