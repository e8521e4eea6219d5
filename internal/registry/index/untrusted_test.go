// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// TestUntrustedSpecChangesNoAudience reads Agents whose specs have lost fields, or have fields that the operator does
// not know. The rule of such a spec may admit every namespace, because its own namespaces are lost.
func TestUntrustedSpecChangesNoAudience(t *testing.T) {
	whole := testAgent()
	whole.Spec.Discovery.Visibility = a2av1alpha1.VisibilityFederated
	whole.Spec.Access.Authorization = []a2av1alpha1.AuthorizationRule{{Action: a2av1alpha1.AuthorizationAllow, Namespaces: []string{"friends"}}}
	whole.Status.ObservedSpecDigest = crdschema.AgentDigest(&whole.Spec)
	pruned := whole.DeepCopy()
	pruned.Spec.Access.Authorization[0].Namespaces = nil
	widened := whole.DeepCopy()
	widened.Spec.Discovery.Visibility = a2av1alpha1.VisibilityPublic
	widened.Spec.Access.Authorization[0].Namespaces = []string{"enemies", "friends"}
	closed := whole.DeepCopy()
	closed.Spec.Discovery.Visibility = ""
	closed.Spec.Access.Authorization = nil
	with := func(agent *a2av1alpha1.Agent, reason string) *a2av1alpha1.Agent {
		agent = agent.DeepCopy()
		agent.Status.Conditions = []metav1.Condition{{Type: a2av1alpha1.ConditionAccepted, Status: metav1.ConditionFalse, Reason: reason}}
		return agent
	}
	last, err := NewEntry(factsOf(whole), CardSource{})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		agent      *a2av1alpha1.Agent
		last       *Entry
		visibility access.Visibility
		admitted   access.Admitted
	}{
		"whole":                            {whole, last, access.VisibilityFederated, "friends"},
		"edited":                           {widened, last, access.VisibilityPublic, "enemies,friends"},
		"edited, with another mistake":     {with(widened, a2av1alpha1.ReasonInvalidSchema), last, access.VisibilityPublic, "enemies,friends"},
		"pruned, not seen by the operator": {pruned, last, access.VisibilityFederated, "friends"},
		"pruned":                           {with(pruned, a2av1alpha1.ReasonSpecPruned), last, access.VisibilityFederated, "friends"},
		"not understood":                   {with(widened, a2av1alpha1.ReasonSpecNotUnderstood), last, access.VisibilityFederated, "friends"},
		"too large":                        {with(widened, a2av1alpha1.ReasonSpecTooLarge), last, access.VisibilityFederated, "friends"},
		"pruned, after a restart":          {with(pruned, a2av1alpha1.ReasonSpecPruned), nil, access.VisibilityCluster, ""},
		"rules removed":                    {closed, last, access.VisibilityCluster, ""},
	} {
		facts := factsOf(test.agent)
		facts.limitAudience(test.agent, test.last)
		if facts.Visibility != test.visibility || facts.Admitted != test.admitted {
			t.Errorf("%s: visibility %d, admitted %q, want %d and %q", name, facts.Visibility, facts.Admitted, test.visibility, test.admitted)
		}
	}
}
