// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// notApplied are the reasons of Accepted for specs that the operator does not apply, because parts of them are
// missing or not understood.
var notApplied = []string{a2av1alpha1.ReasonSpecPruned, a2av1alpha1.ReasonSpecNotUnderstood, a2av1alpha1.ReasonSpecTooLarge}

// limitAudience sets who sees an agent whose spec the operator does not apply: the callers that see its last entry. If
// there is no last entry, which is nil then, only callers that see the namespace of the agent see it. If a field is
// missing, and the operator has not decided yet whether it is lost or removed, limitAudience shows the agent to no new
// callers.
func (f *Facts) limitAudience(agent *a2av1alpha1.Agent, last *Entry) {
	var visibility access.Visibility
	var admitted access.Admitted
	if last != nil {
		visibility = last.Visibility
		admitted = last.admitted
	}
	if f.Visibility == visibility && f.Admitted == admitted {
		return // true for nearly all agents, and cheaper than the checks below
	}
	accepted := meta.FindStatusCondition(agent.Status.Conditions, a2av1alpha1.ConditionAccepted)
	switch {
	case accepted != nil && accepted.Status == metav1.ConditionFalse && slices.Contains(notApplied, accepted.Reason):
		f.Visibility = visibility
		f.Admitted = admitted
	case crdschema.AgentLacksFields(agent):
		f.Visibility = min(f.Visibility, visibility)
		f.Admitted = f.Admitted.Intersect(admitted)
	}
}
