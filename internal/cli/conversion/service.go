// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// report reports the fields of all Services that select the pods.
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

// reportService reports the fields of a Service that the Service of the Agent replaces.
func reportService(service *corev1.Service, port int, agent *a2av1alpha1.Agent, notes *[]Note) {
	s := NewSource("Service "+service.Namespace+"/"+service.Name, service, nil, notes)
	s.Drop("metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
	s.LeftOut("the operator makes the Service of the Agent", NothingToDo, "metadata")
	s.Drop("spec", "selector")
	for _, name := range []string{"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} { // set by the API server
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
	for _, name := range s.Names("spec") {
		s.LeftOut(outside+", and the operator sets its fields", "use spec.exposure for clients outside of the cluster", "spec", name)
	}
	s.Close()
}

// IsWebURL reports whether a text is a URL that an Agent may have on its card.
func IsWebURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && len(text) <= 2048 && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// Target is the container that serves the agent, in a pod template, and the port of this container.
type Target struct {
	// Service is the Service of the agent, nil for none. ServicePort is the index of its port whose target is Port.
	Service     *corev1.Service
	ServicePort int
	// Container is the index of the container.
	Container int
	Port      int32
	// others are the other Services that select the pods.
	others []*corev1.Service
}

// FindTarget returns the container and the port of the agent in the pods of a Deployment: the target of a Service or,
// without a Service, the first container and its first port. If container is not "" or port is not 0, it replaces the
// container or port of this choice.
func FindTarget(d *appsv1.Deployment, services []corev1.Service, container string, port int32) (*Target, error) {
	containers := d.Spec.Template.Spec.Containers
	if len(containers) == 0 {
		return nil, failure.New(failure.Usage, "Deployment %s has no container", d.Name)
	}
	t := &Target{Container: -1}
	if container != "" {
		t.Container = slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == container })
		if t.Container < 0 {
			return nil, failure.New(failure.Usage, "Deployment %s has no container %s (--container)", d.Name, container)
		}
	}
	t.Port = port
	t.findService(d, services)
	if t.Container < 0 {
		t.Container = max(0, slices.IndexFunc(containers, func(c corev1.Container) bool {
			return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.ContainerPort == t.Port })
		}))
	}
	if ports := containers[t.Container].Ports; t.Port == 0 && len(ports) > 0 {
		t.Port = ports[0].ContainerPort
	}
	if t.Port == 0 {
		return nil, failure.New(failure.Usage, "the port of Deployment %s cannot be determined from a Service or from the container", d.Name).
			WithHint("name the port of the program with --port")
	}
	if isSidecarPort(t.Port) {
		return nil, failure.New(failure.Usage, "the container listens on port %d, which the sidecar of an Agent needs", t.Port).
			WithHint("let the program listen on another port than 8641, 8642 and 8643, or name another port with --port")
	}
	return t, nil
}

// isSidecarPort reports whether a port is one of those on which the sidecar listens. No container of an Agent may use
// them.
func isSidecarPort(port int32) bool { return port >= 8641 && port <= 8643 }

// findService chooses a Service that selects the pods and has a port with a matching target. It prefers the Service with
// the name of the Deployment, and then the first by name.
func (t *Target) findService(d *appsv1.Deployment, services []corev1.Service) {
	labels := d.Spec.Template.Labels
	for i := range services {
		service := &services[i]
		if selects(service, labels) {
			t.others = append(t.others, service)
		}
	}
	slices.SortFunc(t.others, func(a, b *corev1.Service) int {
		if (a.Name == d.Name) != (b.Name == d.Name) {
			return map[bool]int{true: -1, false: 1}[a.Name == d.Name]
		}
		return cmp.Compare(a.Name, b.Name)
	})
	for i, service := range t.others {
		for j := range service.Spec.Ports {
			target := targetPort(&service.Spec.Ports[j], d.Spec.Template.Spec.Containers)
			if target == 0 || t.Port != 0 && target != t.Port {
				continue
			}
			t.Service = service
			t.ServicePort = j
			t.Port = target
			t.others = slices.Delete(t.others, i, i+1)
			return
		}
	}
}

func selects(service *corev1.Service, labels map[string]string) bool {
	for name, value := range service.Spec.Selector {
		if labels[name] != value {
			return false
		}
	}
	return len(service.Spec.Selector) > 0
}

// targetPort returns the container port to which a port of a Service leads, 0 if the target is a name that no container
// port has.
func targetPort(port *corev1.ServicePort, containers []corev1.Container) int32 {
	if number := port.TargetPort.IntVal; number != 0 {
		return number
	}
	if port.TargetPort.StrVal == "" {
		return port.Port
	}
	for i := range containers {
		for _, p := range containers[i].Ports {
			if p.Name == port.TargetPort.StrVal {
				return p.ContainerPort
			}
		}
	}
	return 0
}

// selectors returns the labels with which the Deployment and its Services select pods.
func (t *Target) selectors(d *appsv1.Deployment) map[string]string {
	all := map[string]string{}
	if d.Spec.Selector != nil {
		maps.Copy(all, d.Spec.Selector.MatchLabels)
		for _, each := range d.Spec.Selector.MatchExpressions {
			all[each.Key] = d.Spec.Template.Labels[each.Key]
		}
	}
	for _, service := range append(slices.Clone(t.others), t.Service) {
		if service != nil {
			maps.Copy(all, service.Spec.Selector)
		}
	}
	return all
}
