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
	"github.com/a2a-operator/a2a-operator/internal/usererror"
)

// podSecurity judges pods as the API server does. The checks are of the
// library's version of Kubernetes.
var podSecurity = sync.OnceValues(func() (policy.Evaluator, error) {
	return policy.NewEvaluator(policy.DefaultChecks(), nil)
})

// restrictedLevel is what the operator's own defaults keep.
var restrictedLevel = api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}

// securityRemarks says what a template gives up of the restricted Pod Security
// level and of the rule that the agent has no token. Both are its author's to
// decide, who should know that it was decided.
func securityRemarks(agent *a2av1alpha1.Agent) ([]usererror.Problem, error) {
	evaluator, err := podSecurity()
	if err != nil {
		return nil, fmt.Errorf("build the Pod Security checks: %w", err)
	}
	// The sidecar is left out: it keeps the level whatever the template says.
	template := agent.Spec.Workload.Template.DeepCopy()
	secureContainers(&template.Spec)
	var remarks []usererror.Problem
	relaxed := policy.AggregateCheckResults(evaluator.EvaluatePod(restrictedLevel, &template.ObjectMeta, &template.Spec))
	if !relaxed.Allowed {
		remarks = append(remarks, usererror.Problem{
			Condition: a2av1alpha1.ConditionProgrammed,
			Reason:    a2av1alpha1.ReasonPodSecurityRelaxed,
			Message: fmt.Sprintf("%s gives up the restricted Pod Security level, and a namespace that enforces it refuses the pods: %s; "+
				"remove what the agent can do without", templateField, relaxed.ForbiddenDetail()),
		})
	}
	for _, field := range tokenFields(&template.Spec) {
		remarks = append(remarks, usererror.Problem{
			Condition: a2av1alpha1.ConditionProgrammed,
			Reason:    a2av1alpha1.ReasonTokenMounted,
			Message: fmt.Sprintf("%s.%s gives the agent a token of its ServiceAccount, and with it the ServiceAccount's rights; "+
				"remove it unless the agent calls what asks for one", templateField, field),
		})
	}
	return remarks, nil
}

// tokenFields are those that bring a ServiceAccount's token into a pod.
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
