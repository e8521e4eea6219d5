// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package samples

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// decode parses a manifest, and fails for fields that the API does not have.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var object T
	if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestManifests(t *testing.T) {
	byRef, bySelector := "", ""
	for text := range strings.SplitSeq(read(t, "skills.yaml"), "\n---\n") {
		skill := decode[a2av1alpha1.AgentSkill](t, text)
		if len(skill.Labels) == 0 {
			byRef = skill.Name
			continue
		}
		bySelector = skill.Labels["samples.a2a-operator.dev/shared"]
	}
	kustomization := decode[struct {
		APIVersion, Kind string
		Resources        []string
		SortOptions      struct{ Order string }
	}](t, read(t, "kustomization.yaml"))

	for _, name := range []string{"echo", "researcher"} {
		path := filepath.Join(name, "agent.yaml")
		agent := decode[a2av1alpha1.Agent](t, read(t, path))
		container := agent.Spec.Workload.Template.Spec.Containers[0]
		if agent.Name != name || agent.Namespace != "" || container.Image != "a2a-operator/sample-"+name+":dev" || container.ImagePullPolicy != corev1.PullIfNotPresent {
			t.Errorf("%s: name %q, namespace %q, image %q, %s", path, agent.Name, agent.Namespace, container.Image, container.ImagePullPolicy)
		}
		if len(agent.Spec.SkillRefs) != 1 || agent.Spec.SkillRefs[0].Name != byRef {
			t.Errorf("%s: skillRefs = %v, want %s", path, agent.Spec.SkillRefs, byRef)
		}
		if agent.Spec.SkillSelector == nil || agent.Spec.SkillSelector.MatchLabels["samples.a2a-operator.dev/shared"] != bySelector {
			t.Errorf("%s: skillSelector = %v selects no skill of skills.yaml", path, agent.Spec.SkillSelector)
		}
		if !slices.Contains(kustomization.Resources, path) {
			t.Errorf("kustomization.yaml does not list %s", path)
		}
	}
}
