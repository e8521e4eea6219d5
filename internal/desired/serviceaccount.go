// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/names"
)

// serviceAccount returns the ServiceAccount of an Agent, the identity with which its
// sidecar calls others. It exists even if the template names another ServiceAccount,
// because pods of an earlier spec may still use it.
func serviceAccount(agent *a2av1alpha1.Agent) *corev1ac.ServiceAccountApplyConfiguration {
	return corev1ac.ServiceAccount(names.ServiceAccount(agent.Name), agent.Namespace).
		WithLabels(names.Labels(agent.Name)).
		WithAutomountServiceAccountToken(false)
}
