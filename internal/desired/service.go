// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/contract"
	"github.com/a2a-operator/a2a-operator/internal/names"
)

// servicePort is where an agent is called.
const servicePort = 80

// service leads to the sidecars of the pods that are ready.
func service(agent *a2av1alpha1.Agent) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(names.Service(agent.Name), agent.Namespace).
		WithLabels(names.Labels(agent.Name)).
		WithSpec(corev1ac.ServiceSpec().
			WithSelector(names.Selector(agent.Name)).
			WithPorts(corev1ac.ServicePort().
				WithName(a2av1alpha1.PortAgent).
				WithProtocol(corev1.ProtocolTCP).
				WithAppProtocol("http").
				WithPort(servicePort).
				WithTargetPort(intstr.FromInt32(contract.AgentPort))))
}
