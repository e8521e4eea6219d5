// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"

// Visibility is who sees an Agent beside the callers that see its namespace. Each
// value includes the lower ones.
type Visibility uint8

// The values of spec.discovery.visibility, and VisibilityOutside for a public Agent
// with an external URL, which is also in the catalog outside of the cluster.
const (
	VisibilityCluster Visibility = iota
	VisibilityFederated
	VisibilityPublic
	VisibilityOutside
)

// VisibilityOf returns the Visibility of an Agent. A value of a later version of the
// API is VisibilityCluster, which shows the Agent to the fewest callers.
func VisibilityOf(agent *a2av1alpha1.Agent) Visibility {
	switch agent.Spec.Discovery.Visibility {
	case a2av1alpha1.VisibilityFederated:
		return VisibilityFederated
	case a2av1alpha1.VisibilityPublic:
		if agent.Status.ExternalURL != "" {
			return VisibilityOutside
		}
		return VisibilityPublic
	default:
		return VisibilityCluster
	}
}
