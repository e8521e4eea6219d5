// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// writtenStatuses knows the statuses that were written and that the cache may
// not show yet. A reconcile that came in between would else see the transition
// again, write it again and tell of it again.
type writtenStatuses struct {
	recent *lru.Cache
}

// recentlyWritten bounds how many are known. A forgotten one costs a request
// that changes nothing.
const recentlyWritten = 4096

type writtenStatus struct {
	// resourceVersion is the Agent's before the write.
	resourceVersion string
	status          a2av1alpha1.AgentStatus
}

func newWrittenStatuses() writtenStatuses {
	return writtenStatuses{recent: lru.New(recentlyWritten)}
}

// seen returns the Agent as it is after the last write, if it is still as it
// was before it. The cache's own object is not changed.
func (w writtenStatuses) seen(agent *a2av1alpha1.Agent) *a2av1alpha1.Agent {
	known, ok := w.recent.Get(agent.UID)
	if !ok {
		return agent
	}
	last := known.(writtenStatus)
	if last.resourceVersion != agent.ResourceVersion {
		w.recent.Remove(agent.UID)
		return agent
	}
	seen := *agent
	seen.Status = *last.status.DeepCopy()
	return &seen
}

func (w writtenStatuses) remember(uid types.UID, resourceVersion string, status a2av1alpha1.AgentStatus) {
	w.recent.Add(uid, writtenStatus{resourceVersion: resourceVersion, status: status})
}
