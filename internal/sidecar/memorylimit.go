// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"runtime/debug"

	"github.com/a2a-operator/a2a-operator/internal/a2a/memoryshare"
)

// LimitHeap returns the memory limit of the process in bytes, for Options.MemoryLimit. Unless
// GOMEMLIMIT is in the environment, it sets the soft limit of the Go heap. container returns the
// memory limit of the container, or an error if there is none. The process must run nothing but a
// sidecar.
func LimitHeap(container func() (uint64, error), environment func(string) string) int64 {
	limit := memoryLimit(container, environment)
	if environment("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryshare.Heap(limit))
	}
	return limit
}

// noLimit is a size from which a limit of a cgroup is none, in bytes. The kernel rounds the absent
// limit of a cgroup of version 1 down to pages.
const noLimit = 1 << 50

// memoryLimit returns the limit to which the sidecar adapts its budgets, in bytes: the memory
// limit of the container, or the limit to which GOMEMLIMIT belongs if that is lower. Without
// either, it returns memoryshare.Default.
func memoryLimit(container func() (uint64, error), environment func(string) string) int64 {
	limit := int64(noLimit)
	if found, err := container(); err == nil && found < noLimit {
		limit = int64(found)
	}
	if environment("GOMEMLIMIT") != "" {
		limit = min(limit, memoryshare.LimitOfHeap(debug.SetMemoryLimit(-1)))
	}
	if limit >= noLimit {
		return memoryshare.Default
	}
	return limit
}
