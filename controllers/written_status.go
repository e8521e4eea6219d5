// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// writtenStatuses knows the statuses S that were written and that the cache may
// not show yet. A reconcile that came in between would else see the transition
// again, write it again and tell of it again.
type writtenStatuses[S any] struct {
	recent *lru.Cache
}

// recentlyWritten bounds how many are known. A forgotten one costs a request
// that changes nothing.
const recentlyWritten = 4096

type writtenStatus[S any] struct {
	// resourceVersion is the object's before the write.
	resourceVersion string
	status          S
}

func newWrittenStatuses[S any]() writtenStatuses[S] {
	return writtenStatuses[S]{recent: lru.New(recentlyWritten)}
}

// of returns the last status that was written to an object, if the object is
// still as it was before. The status is not to be changed.
func (w writtenStatuses[S]) of(obj client.Object) (status S, ok bool) {
	known, ok := w.recent.Get(obj.GetUID())
	if !ok {
		return status, false
	}
	last := known.(writtenStatus[S])
	if last.resourceVersion != obj.GetResourceVersion() {
		w.recent.Remove(obj.GetUID())
		return status, false
	}
	return last.status, true
}

func (w writtenStatuses[S]) remember(obj client.Object, status S) {
	w.recent.Add(obj.GetUID(), writtenStatus[S]{resourceVersion: obj.GetResourceVersion(), status: status})
}
