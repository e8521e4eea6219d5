// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// For an unwatched namespace, the message names the operator's flag, because neither the
// owner of the namespace nor the owner of the Agent can make the operator watch the
// namespace.
func TestSkillOfAnUnwatchedNamespace(t *testing.T) {
	in := readCase(t, "testdata/minimal/input.yaml")
	in.Agent.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Namespace: "library", Name: "summarize"}, {Namespace: "seen", Name: "translate"}}
	in.Skills.Unwatched = map[string]bool{"library": true}
	result, err := Agent(in, testPlatform)
	if err != nil || len(result.Problems) != 2 {
		t.Fatalf("Agent() = %v, %v", result.Problems, err)
	}
	for i, parts := range [][]string{
		{`spec.skillRefs[0]: the operator does not watch namespace "library"`, `AgentSkill "summarize"`, "--watch-namespaces", "remove the reference"},
		{`spec.skillRefs[1]: namespace "seen" has no AgentSkill "translate"`, "admit your namespace"},
	} {
		for _, part := range parts {
			if p := result.Problems[i]; p.Reason != a2av1alpha1.ReasonSkillNotFound || !strings.Contains(p.Message, part) {
				t.Errorf("problem %d is %s and does not say %q: %s", i, p.Reason, part, p.Message)
			}
		}
	}
}

func TestSelectorWithoutMatchesIsReported(t *testing.T) {
	in := readCase(t, "testdata/minimal/input.yaml")
	in.Agent.Spec.SkillSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "nobody"}}
	result, err := Agent(in, testPlatform)
	if err != nil || result.Objects == nil {
		t.Fatalf("Agent() = %v, %v", result.Problems, err)
	}
	var remark state.Problem
	for _, r := range result.Remarks {
		if r.Reason == a2av1alpha1.ReasonDefaultSkill {
			remark = r
		}
	}
	for _, part := range []string{"spec.skillSelector matches no AgentSkill", in.Agent.Namespace, "labels"} {
		if !strings.Contains(remark.Message, part) {
			t.Errorf("the remark does not say %q: %s", part, remark.Message)
		}
	}
	if strings.Contains(remark.Message, "set spec.") {
		t.Errorf("the remark asks for what is there: %s", remark.Message)
	}
}

func TestUnknownVisibilityHidesASkill(t *testing.T) {
	for visibility, want := range map[a2av1alpha1.SkillVisibility]bool{
		"": false, a2av1alpha1.SkillVisibilityPublic: false, a2av1alpha1.SkillVisibilityExtended: true, "Partners": true,
	} {
		if got := cardSkill("a", a2av1alpha1.SkillDetails{Visibility: visibility}).Extended; got != want {
			t.Errorf("visibility %q: Extended = %t", visibility, got)
		}
	}
}
