// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// podSecurity evaluates Pod Security levels as the API server does. The version of the
// module k8s.io/pod-security-admission determines the checks.
var podSecurity = sync.OnceValues(func() (policy.Evaluator, error) {
	return policy.NewEvaluator(policy.DefaultChecks(), nil)
})

// restrictedLevel is the Pod Security level that pods have by the operator's defaults.
var restrictedLevel = api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}

// securityRemarks returns remarks if a template does not meet the restricted Pod
// Security level, or if it mounts a ServiceAccount token into the agent's container.
func securityRemarks(agent *a2av1alpha1.Agent) ([]state.Problem, error) {
	evaluator, err := podSecurity()
	if err != nil {
		return nil, fmt.Errorf("build the Pod Security checks: %w", err)
	}
	// Evaluate the template without the sidecar, which always meets the level.
	template := agent.Spec.Workload.Template.DeepCopy()
	secureContainers(&template.Spec)
	var remarks []state.Problem
	relaxed := policy.AggregateCheckResults(evaluator.EvaluatePod(restrictedLevel, &template.ObjectMeta, &template.Spec))
	if !relaxed.Allowed {
		remarks = append(remarks, state.NewProblem(a2av1alpha1.ConditionProgrammed, a2av1alpha1.ReasonPodSecurityRelaxed,
			"%s does not meet the restricted Pod Security level, and a namespace that enforces it rejects the pods: %s; "+
				"remove the fields that the agent does not need", templateField, relaxed.ForbiddenDetail()))
	}
	for _, field := range tokenFields(&template.Spec) {
		remarks = append(remarks, state.NewProblem(a2av1alpha1.ConditionProgrammed, a2av1alpha1.ReasonTokenMounted,
			"%s.%s gives the agent a token with the permissions of its ServiceAccount; "+
				"remove it unless the agent needs the token", templateField, field))
	}
	return remarks, nil
}

// tokenFields returns the fields that mount a ServiceAccount token into a pod.
func tokenFields(pod *corev1.PodSpec) []string {
	var fields []string
	if mount := pod.AutomountServiceAccountToken; mount != nil && *mount {
		fields = append(fields, "automountServiceAccountToken")
	}
	for i, volume := range pod.Volumes {
		if volume.Projected == nil {
			continue
		}
		for j, source := range volume.Projected.Sources {
			if source.ServiceAccountToken != nil {
				fields = append(fields, fmt.Sprintf("volumes[%d].projected.sources[%d].serviceAccountToken", i, j))
			}
		}
	}
	return fields
}
