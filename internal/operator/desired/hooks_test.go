// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
	"testing"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// An empty hook is rejected, because it would replace the hook of the operator.
func TestEmptyHooksAreRefused(t *testing.T) {
	for field, pod := range map[string]string{
		"containers[0].lifecycle.preStop":       `{containers: [{name: agent, image: a, lifecycle: {preStop: {}}}]}`,
		"containers[1].lifecycle.postStart":     `{containers: [{name: agent, image: a}, {name: b, image: b, lifecycle: {postStart: {}}}]}`,
		"initContainers[0].lifecycle.postStart": `{initContainers: [{name: b, image: b, lifecycle: {postStart: {}}}], containers: [{name: agent, image: a}]}`,
	} {
		result := desire(t, withTemplate(t, pod))
		if result.Objects != nil || len(result.Problems) != 1 || result.Problems[0].Condition != a2av1alpha1.ConditionAccepted ||
			result.Problems[0].Reason != a2av1alpha1.ReasonTemplateRejected || !strings.HasPrefix(result.Problems[0].Message, templateField+"."+field+" is empty") {
			t.Errorf("%s: problems %+v", field, result.Problems)
		}
	}
}
