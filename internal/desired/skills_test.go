// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/problem"
)

func TestSelectorThatSelectsNothingIsNamed(t *testing.T) {
	in := readCase(t, "testdata/minimal/input.yaml")
	in.Agent.Spec.SkillSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "nobody"}}
	result, err := Agent(in, testPlatform)
	if err != nil || result.Objects == nil {
		t.Fatalf("Agent() = %v, %v", result.Problems, err)
	}
	var remark problem.Problem
	for _, r := range result.Remarks {
		if r.Reason == a2av1alpha1.ReasonDefaultSkill {
			remark = r
		}
	}
	for _, part := range []string{"spec.skillSelector selects no AgentSkill", in.Agent.Namespace, "labels"} {
		if !strings.Contains(remark.Message, part) {
			t.Errorf("the remark does not say %q: %s", part, remark.Message)
		}
	}
	if strings.Contains(remark.Message, "set spec.") {
		t.Errorf("the remark asks for what is there: %s", remark.Message)
	}
}
