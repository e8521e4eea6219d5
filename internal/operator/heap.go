// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/a2a-operator/a2a-operator/internal/gctuning"
)

// heapPolicy is the garbage collector's policy of a manager. Nearly all memory in use belongs to
// its caches, which live as long as the process. Most of the time a manager is idle: it
// renews its Lease and serves metrics.
var heapPolicy = gctuning.Policy{
	Garbage: 24 << 20, MinPercent: 50, MaxPercent: 200,
	IdleAllocation: 1 << 20, MinRelease: 4 << 20, MinReleaseDivisor: 8,
}

// ownHeap tunes the garbage collector of the process, also while the manager is not the leader.
type ownHeap struct{ *gctuning.Tuner }

var (
	_ manager.Runnable               = ownHeap{}
	_ manager.LeaderElectionRunnable = ownHeap{}
)

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica has the caches.
func (ownHeap) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable. It tunes the garbage collector until the context ends.
func (h ownHeap) Start(ctx context.Context) error {
	h.Own()
	<-ctx.Done()
	h.Stop()
	return nil
}
