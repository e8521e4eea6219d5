// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"maps"
	"net/url"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// report reports the fields of the Services that lead to the pods.
func (t *Target) report(agent *a2av1alpha1.Agent, notes *[]Note) {
	if t.Service != nil {
		reportService(t.Service, t.ServicePort, agent, notes)
	}
	for _, other := range t.others {
		s := NewSource("Service "+other.Namespace+"/"+other.Name, other, nil, notes)
		s.LeftOut("the operator makes one Service for the Agent, and this one will select no pods", "let its clients call the Agent, and delete it", "spec")
		s.LeftOut("the operator makes the Service of the Agent", NothingToDo, "metadata")
	}
}

// reportService reports the fields of the Service that the one of the Agent replaces.
func reportService(service *corev1.Service, port int, agent *a2av1alpha1.Agent, notes *[]Note) {
	s := NewSource("Service "+service.Namespace+"/"+service.Name, service, nil, notes)
	s.Drop("metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
	s.LeftOut("the operator makes the Service of the Agent", NothingToDo, "metadata")
	s.Drop("spec", "selector")
	for _, name := range []string{"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} { // the API server assigns them
		if service.Spec.ClusterIP != corev1.ClusterIPNone {
			s.Drop("spec", name)
		}
	}
	s.DropDefault("ClusterIP", "spec", "type")
	s.DropDefault("None", "spec", "sessionAffinity")
	s.DropDefault("Cluster", "spec", "internalTrafficPolicy")
	for i := range service.Spec.Ports {
		here := []any{"spec", "ports", i}
		if i != port {
			s.LeftOut("the Service of an Agent leads to the sidecar only", "call the Agent, or make a Service of your own for the port", here...)
			continue
		}
		s.Changed("clients call the sidecar at port 80, or at 443 with spec.access.tls, and not the container at "+strconv.Itoa(int(service.Spec.Ports[i].Port)),
			"let clients send a token and call http://"+agent.Name+"."+agent.Namespace+".svc", here...)
	}
	const outside = "the Service of an Agent is reachable inside the cluster only"
	fields, _ := at(s.fields, []any{"spec"})
	rest, _ := fields.(map[string]any)
	for _, name := range sortedKeys(rest) {
		s.LeftOut(outside+", and the operator sets its fields", "use spec.exposure for clients outside of the cluster", "spec", name)
	}
	s.Close()
}

func sortedKeys(fields map[string]any) []string { return slices.Sorted(maps.Keys(fields)) }

// IsWebURL reports whether a text is a URL that an Agent may have on its card.
func IsWebURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && len(text) <= 2048 && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}
