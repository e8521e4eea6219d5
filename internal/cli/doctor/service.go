// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// checkService finds a Service that is missing, selects other pods, targets another port, or has no ready endpoint
// although pods are ready.
func checkService(_ *SharedFacts, f *AgentFacts) []Finding {
	const check = "Service"
	if isUnread(f.Unread, partServices) {
		return nil
	}
	name := names.Service(f.Agent.Name)
	problem := func(seen, cause, cure, command string) []Finding {
		return []Finding{{Level: LevelProblem, Check: check, Seen: []string{seen}, Cause: cause, Cure: cure, Command: command}}
	}
	object := "-n " + f.Agent.Namespace + " " + name
	s := f.Service
	if s == nil {
		return problem("there is no Service "+name, "The DNS name of the agent does not resolve, because the operator has not created the Service, or another program deleted it.",
			"Correct the cause that the condition Programmed names. If every condition is as expected, check that the manager runs: it creates the Service again.",
			"kubectl describe agent -n "+f.Agent.Namespace+" "+f.Agent.Name)
	}
	if !maps.Equal(s.Spec.Selector, names.Selector(f.Agent.Name)) {
		return problem(fmt.Sprintf("the Service selects the pods with %s", labelText(s.Spec.Selector)),
			"Another program changed the selector of the Service, so calls reach other pods or none.",
			"Remove the change at its source. The operator restores the selector while its manager runs.", "kubectl get service "+object+" -o yaml --show-managed-fields")
	}
	if !slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.TargetPort.IntValue() == sidecarconfig.AgentPort }) {
		return problem(fmt.Sprintf("no port of the Service leads to port %d of the pods", sidecarconfig.AgentPort),
			"Another program changed the ports of the Service, so calls do not reach the sidecar.",
			"Remove the change at its source. The operator restores the ports while its manager runs.", "kubectl get service "+object+" -o yaml --show-managed-fields")
	}
	if isUnread(f.Unread, partEndpoints) || isUnread(f.Unread, partPods) {
		return nil
	}
	ready := readyEndpoints(f.Endpoints)
	if ready == 0 && slices.ContainsFunc(f.Pods, func(p corev1.Pod) bool { return p.DeletionTimestamp == nil && isReady(&p) }) {
		return problem("a pod is ready, and the Service has no ready endpoint",
			"The EndpointSlice controller has not added the pod, or its address family is not that of the Service.",
			"Wait a few seconds. If it persists, compare the addresses of the pods with ipFamilies of the Service, and check the kube-controller-manager.",
			"kubectl get endpointslices -n "+f.Agent.Namespace+" -l "+discoveryv1.LabelServiceName+"="+name)
	}
	return okay(check, fmt.Sprintf("%s.%s.svc has %d ready endpoints", name, f.Agent.Namespace, ready))
}

func readyEndpoints(all []discoveryv1.EndpointSlice) int {
	addresses := map[string]bool{}
	for i := range all {
		for _, e := range all[i].Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				for _, address := range e.Addresses {
					addresses[address] = true
				}
			}
		}
	}
	return len(addresses)
}

// labelText returns labels as a selector.
func labelText(labels map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, key+"="+labels[key])
	}
	if len(all) == 0 {
		return "no labels"
	}
	return strings.Join(all, ",")
}

// selectorOf returns the flags of kubectl that select the pods of an agent.
func selectorOf(agent *a2av1alpha1.Agent) string {
	return "-n " + agent.Namespace + " -l " + a2av1alpha1.LabelAgent + "=" + agent.Name
}
