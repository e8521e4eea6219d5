// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// sidecarResources returns the requests and limits of the sidecar's container: those of the
// installation, overridden one by one by those of the Agent. The API server refuses a request
// above its limit. Where a value of the Agent contradicts one of the installation, both get the
// value of the Agent.
func sidecarResources(agent *a2av1alpha1.Agent, platform Platform) corev1.ResourceRequirements {
	var own a2av1alpha1.SidecarResources
	if set := agent.Spec.Workload.Sidecar.Resources; set != nil {
		own = *set
	}
	requests := overridden(platform.SidecarResources.Requests, own.Requests)
	limits := overridden(platform.SidecarResources.Limits, own.Limits)
	for name, request := range requests {
		limit, limited := limits[name]
		if !limited || request.Cmp(limit) <= 0 {
			continue
		}
		if _, set := own.Limits[name]; set {
			requests[name] = limit
		} else {
			limits[name] = request
		}
	}
	return corev1.ResourceRequirements{Requests: requests, Limits: limits}
}

// overridden returns the quantities of all and those of own, which override them. A quantity of
// zero is left out. The result is nil if it is empty.
func overridden(all, own corev1.ResourceList) corev1.ResourceList {
	merged := corev1.ResourceList{}
	maps.Copy(merged, all)
	maps.Copy(merged, own)
	for name, quantity := range merged {
		if quantity.IsZero() {
			delete(merged, name)
		}
	}
	if len(merged) == 0 {
		return nil
	}
	return merged
}
