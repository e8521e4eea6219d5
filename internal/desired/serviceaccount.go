// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/names"
)

// serviceAccount is who an agent is when its sidecar calls others. It is there
// even when the template names another one, so that pods of an earlier spec
// keep theirs.
func serviceAccount(agent *a2av1alpha1.Agent) *corev1ac.ServiceAccountApplyConfiguration {
	return corev1ac.ServiceAccount(names.ServiceAccount(agent.Name), agent.Namespace).
		WithLabels(names.Labels(agent.Name)).
		WithAutomountServiceAccountToken(false)
}
