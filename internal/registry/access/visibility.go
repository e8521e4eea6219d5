// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"

// Visibility determines which callers see an Agent, in addition to the callers that see its
// namespace. The callers of a value include the callers of all lower values.
type Visibility uint8

// The values of spec.discovery.visibility. A public Agent with an external URL has
// VisibilityOutside: it is also in the catalog outside of the cluster.
const (
	VisibilityCluster Visibility = iota
	VisibilityFederated
	VisibilityPublic
	VisibilityOutside
)

// VisibilityOf returns the Visibility of an Agent. For an unknown value, of a later version
// of the API, it returns VisibilityCluster, which shows the Agent to the fewest callers.
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
