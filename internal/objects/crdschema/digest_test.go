// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crdschema

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// TestFieldsHaveMarks checks that the digest covers every field of the CRDs, and that no two fields
// have the same mark. A field of a type of Kubernetes that the CRD leaves out has no line.
func TestFieldsHaveMarks(t *testing.T) {
	for crd, s := range map[string]*spec{Agents: agentSpec(), AgentSkills: agentSkillSpec()} {
		paths := slices.Collect(maps.Values(s.paths))
		for path := range Own(crd) {
			last := path[strings.LastIndexAny(path, ".")+1:]
			if !strings.HasPrefix(path, "spec.") || strings.HasSuffix(last, "]") || strings.HasSuffix(last, "}") {
				continue // elements are part of their list or map
			}
			if !slices.Contains(paths, path) {
				t.Errorf("%s: %s has no mark", crd, path)
			}
		}
		for path := range Own(crd) {
			if strings.HasPrefix(path, "spec.") && slices.Contains(paths, path) && s.paths[mark(path)] != path {
				t.Errorf("%s: %s and %s have the same mark", crd, path, s.paths[mark(path)])
			}
		}
	}
}

func TestDigestNamesLostFields(t *testing.T) {
	spec := a2av1alpha1.AgentSpec{Description: "x"}
	spec.Access.Authorization = []a2av1alpha1.AuthorizationRule{}
	former := AgentDigest(&spec)
	spec.Access.Authorization = nil
	got := agentSpec().missing(former, AgentDigest(&spec))
	if diff := cmp.Diff([]string{"spec.access.authorization"}, got); diff != "" {
		t.Errorf("missing() (-want +got):\n%s", diff)
	}
}
