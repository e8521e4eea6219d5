// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/a2a-operator/a2a-operator/internal/gctuning"
)

// heapPolicy is that of a manager. Nearly all that it has in use are its caches,
// which live as long as it does, and most of the time it has little to do: it
// renews its lease and writes a page of metrics.
var heapPolicy = gctuning.Policy{
	Room: 24 << 20, LeastPercent: 50, MostPercent: 200,
	Quiet: 1 << 20, Worthwhile: 4 << 20, Parts: 8,
}

// ownHeap keeps the manager small, also while it waits to lead.
type ownHeap struct{ *gctuning.Keeper }

var (
	_ manager.Runnable               = ownHeap{}
	_ manager.LeaderElectionRunnable = ownHeap{}
)

// NeedLeaderElection is false: those that wait have the same caches.
func (ownHeap) NeedLeaderElection() bool { return false }

// Start looks after the heap until the context ends.
func (h ownHeap) Start(ctx context.Context) error {
	h.Own()
	<-ctx.Done()
	h.Stop()
	return nil
}
