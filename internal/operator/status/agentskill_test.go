// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
)

func TestAgentSkill(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := map[string]struct {
		schema string
		agents int32
		want   []string
	}{
		"unused": {want: []string{"True Accepted The skill", "False NotInUse No Agent"}},
		"used":   {agents: 3, want: []string{"True Accepted The skill", "True InUse At least one"}},
		"no schema": {agents: 1, schema: `{"type":1}`, want: []string{
			"False InvalidSchema spec.outputSchema is not a JSON Schema: at '/type'", "True InUse At least one",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			skill := &a2av1alpha1.AgentSkill{}
			skill.Generation = 7
			if test.schema != "" {
				skill.Spec.OutputSchema = &runtime.RawExtension{Raw: []byte(test.schema)}
			}
			got := AgentSkill(skill, crdschema.Observed{}, test.agents, now)
			always := withoutStalled(got.Conditions)
			if *got.Agents != test.agents || got.ObservedGeneration != 7 || len(always) != len(test.want) {
				t.Fatalf("AgentSkill() = %+v", got)
			}
			for i, c := range always {
				said := string(c.Status) + " " + c.Reason + " " + c.Message
				if c.Type != a2av1alpha1.AgentSkillConditions()[i] || !strings.HasPrefix(said, test.want[i]) {
					t.Errorf("%s: %s, want %s…", c.Type, said, test.want[i])
				}
			}
			skill.Status = got
			later := AgentSkill(skill, crdschema.Observed{}, test.agents, now.Add(time.Hour))
			if !later.Conditions[0].LastTransitionTime.Equal(&metav1.Time{Time: now}) {
				t.Error("the time of a transition moved without one")
			}
		})
	}
}
