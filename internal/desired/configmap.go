// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// configMap returns the ConfigMap with the sidecar configuration.
func configMap(agent *a2av1alpha1.Agent, encoded []byte, digest string) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(names.ConfigMap(agent.Name), agent.Namespace).
		WithLabels(names.Labels(agent.Name)).
		WithAnnotations(map[string]string{a2av1alpha1.AnnotationConfigDigest: digest}).
		WithData(map[string]string{sidecarconfig.FileName: string(encoded)})
}
