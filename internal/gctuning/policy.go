// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gctuning

// Policy says how much memory a process may keep. Sizes are in bytes.
type Policy struct {
	// Garbage is how much garbage may exist before the next collection. GOGC is the
	// percentage of the live heap that this is, within MinPercent and MaxPercent.
	Garbage                uint64
	MinPercent, MaxPercent int
	// IdleAllocation is the most that an idle process allocates in IdleAfter.
	IdleAllocation uint64
	// MinRelease is the least memory that is worth a collection at idle. It must also be
	// at least the live heap divided by MinReleaseDivisor.
	MinRelease, MinReleaseDivisor uint64
}

// Sidecar is the policy of a sidecar, which is idle most of its life and shares its
// machine with many others: idle, it holds no garbage. While it works, a heap of a few
// megabytes that may only double would be collected too often. A large heap may double,
// which is Go's default.
var Sidecar = Policy{
	Garbage: 12 << 20, MinPercent: 100, MaxPercent: 400,
	IdleAllocation: 256 << 10, MinRelease: 1 << 20, MinReleaseDivisor: 4,
}

// Manager is the policy of a manager. Nearly all memory in use belongs to its caches,
// which live as long as the process. Most of the time a manager is idle: it renews its
// Lease and serves metrics.
var Manager = Policy{
	Garbage: 24 << 20, MinPercent: 50, MaxPercent: 200,
	IdleAllocation: 1 << 20, MinRelease: 4 << 20, MinReleaseDivisor: 8,
}
