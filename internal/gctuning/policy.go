// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gctuning

// Policy limits the memory that a process may keep. Sizes are in bytes.
type Policy struct {
	// Garbage is the amount of garbage after which the next collection starts. The Tuner
	// converts it to a percentage of the live heap, between MinPercent and MaxPercent,
	// which is the value of GOGC.
	Garbage                uint64
	MinPercent, MaxPercent int
	// IdleAllocation is the number of bytes below which the allocations of a process in
	// IdleAfter count as idle.
	IdleAllocation uint64
	// MinRelease is the smallest amount of memory for which an idle process runs a
	// collection. The amount must also be at least the live heap divided by
	// MinReleaseDivisor.
	MinRelease, MinReleaseDivisor uint64
}

// Sidecar is the policy of a sidecar. A sidecar is idle most of the time and shares its
// machine with many others, so it releases all garbage when it is idle. While it works, a
// heap of a few megabytes would be collected too often if it could only double. A large
// heap may double, which is Go's default.
var Sidecar = Policy{
	Garbage: 12 << 20, MinPercent: 100, MaxPercent: 400,
	IdleAllocation: 256 << 10, MinRelease: 1 << 20, MinReleaseDivisor: 4,
}

// Manager is the policy of a manager. Nearly all its memory belongs to its caches, which
// exist as long as the process. Most of the time a manager is idle: it renews its Lease
// and serves metrics.
var Manager = Policy{
	Garbage: 24 << 20, MinPercent: 50, MaxPercent: 200,
	IdleAllocation: 1 << 20, MinRelease: 4 << 20, MinReleaseDivisor: 8,
}
