// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"cmp"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// descriptionAnnotation is the annotation with which Kubernetes describes an object.
const descriptionAnnotation = "kubernetes.io/description"

// Deployment is a Deployment with what is known about its pods.
type Deployment struct {
	Object *appsv1.Deployment
	// Unknown are the fields that Decode did not know.
	Unknown []string
	// Target is the container and port of the agent.
	Target *Target
	// Name is the name of the Agent, "" for that of the Deployment. Description is its description,
	// "" for that of the card or of the Deployment.
	Name, Description string
	// Protocol is the protocol of the container.
	Protocol a2av1alpha1.BackendProtocol
	// Card is the card of the container, nil for none.
	Card *card.Card
	// Guessed is true if the container answered HTTP and nothing of the answer told the protocol.
	Guessed bool
}

// FromDeployment returns the Agent for a Deployment.
func FromDeployment(in *Deployment) (*Result, error) {
	d := in.Object
	result := &Result{}
	s := NewSource("Deployment "+d.Namespace+"/"+d.Name, d, in.Unknown, &result.Report)
	agent := NewAgent(d.Namespace, AgentName(cmp.Or(in.Name, d.Name)))
	if agent.Name == d.Name {
		s.Check("the operator makes a Deployment and a Service of the same name, and does not take over yours", "delete the Deployment and the Service before you apply the Agent, or import with --name", "metadata", "name")
	} else if in.Name == "" {
		s.Check("the name of an Agent is a label of at most 52 characters, and the import changed it to "+agent.Name, "choose another with --name", "metadata", "name")
	}
	agent.Spec.Description = d.Annotations[descriptionAnnotation]
	s.Metadata(descriptionAnnotation)
	workload := &a2av1alpha1.AgentWorkload{Backend: a2av1alpha1.AgentBackend{Protocol: in.Protocol, Port: in.Target.Port}}
	agent.Spec.Workload = workload
	workload.Template = s.template(&d.Spec.Template, in.Target.Container, in.Target.selectors(d))
	s.Replicas(workload, d.Spec.Replicas, "spec", "replicas")
	s.rollout()
	s.describe(agent, in)
	s.Close()
	in.Target.report(agent, &result.Report)
	result.Agents = append(result.Agents, agent)
	return result, nil
}

// NewAgent returns an empty Agent.
func NewAgent(namespace, name string) *a2av1alpha1.Agent {
	agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	agent.SetGroupVersionKind(a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind))
	return agent
}

// Metadata reports the metadata of the source except for the annotations to keep. The Agent gets none of it: tools such as
// Helm and Argo CD find the objects that they own by labels and annotations.
func (s *Source) Metadata(keep ...string) {
	for _, name := range []string{"kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision"} {
		s.Drop("metadata", "annotations", name)
	}
	const why = "tools such as Helm and Argo CD find the objects that they own by it"
	for _, name := range []string{"labels", "annotations"} {
		path := []any{"metadata", name}
		entries, _ := at(s.fields, path)
		keys, _ := entries.(map[string]any)
		for _, key := range sortedKeys(keys) {
			if !slices.Contains(keep, key) {
				s.LeftOut(why, "add it to the Agent if no tool owns the Deployment by it", "metadata", name, key)
			}
		}
	}
	s.LeftOut("the Agent has no owner, and nothing waits for its deletion", NothingToDo, "metadata", "ownerReferences")
	s.LeftOut("the Agent has no owner, and nothing waits for its deletion", NothingToDo, "metadata", "finalizers")
	s.LeftOut("the Agent has a name", NothingToDo, "metadata", "generateName")
}

// Replicas converts a number of pods.
func (s *Source) Replicas(workload *a2av1alpha1.AgentWorkload, replicas *int32, path ...any) {
	if replicas == nil || *replicas == 1 {
		s.Drop(path...)
		return
	}
	if *replicas == 0 {
		workload.Replicas = replicas
		s.Drop(path...)
		return
	}
	s.Changed("several pods need a task store that they share, and the Agent has one pod", "set spec.workload.tasks.store to a Redis, and then spec.workload.replicas", path...)
}

// rollout reports how the Deployment replaces its pods.
func (s *Source) rollout() {
	s.Drop("spec", "selector")
	s.DropDefault(10, "spec", "revisionHistoryLimit")
	s.DropDefault(600, "spec", "progressDeadlineSeconds")
	s.DropDefault(map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxUnavailable": "25%", "maxSurge": "25%"}}, "spec", "strategy")
	s.DropDefault(map[string]any{}, "spec", "strategy")
	for _, name := range []string{"strategy", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"} {
		s.LeftOut("the operator replaces the pods of an Agent so that no turn is lost", NothingToDo, "spec", name)
	}
	s.LeftOut("an Agent is suspended or not", "set spec.suspend: true if no pod may run", "spec", "paused")
}

// describe fills the texts of the card.
func (s *Source) describe(agent *a2av1alpha1.Agent, in *Deployment) {
	spec := &agent.Spec
	var report []Note
	texts := NewSource(s.object, map[string]any{}, nil, &report)
	if c := in.Card; c != nil {
		spec.DisplayName, spec.Version = Clip(c.Name, maxName), Clip(c.Version, maxVersion)
		spec.Description = cmp.Or(Clip(c.Description, maxDescription), spec.Description)
		spec.DefaultInputModes, spec.DefaultOutputModes = mediaTypes(c.DefaultInputModes), mediaTypes(c.DefaultOutputModes)
		spec.Skills = texts.Skills(cardSkills(c), "card", "skills")
		if p := c.Provider; p != nil && p.Organization != "" && IsWebURL(p.URL) {
			spec.Provider = &a2av1alpha1.AgentProvider{Organization: Clip(p.Organization, 256), URL: p.URL}
		}
		if IsWebURL(c.DocumentationURL) {
			spec.DocumentationURL = c.DocumentationURL
		}
		if IsWebURL(c.IconURL) {
			spec.IconURL = c.IconURL
		}
		if len(c.SecuritySchemes) > 0 {
			s.Check("the card of the container requires credentials, and the sidecar sends it none", "turn authentication of the program off: the sidecar authenticates callers", "card", "securitySchemes")
		}
	}
	if in.Description != "" {
		spec.Description = in.Description
	}
	spec.Description = s.Description(spec.Description, in.Object.Name+" of Deployment "+in.Object.Name+".", "metadata", "annotations", descriptionAnnotation)
	if in.Guessed {
		s.Check("the container answers HTTP, and has neither a card nor models at the usual paths, so the import assumed Events",
			"let the program answer a POST as https://github.com/a2a-operator/a2a-operator/blob/main/docs/reference/events-protocol.md describes, or set spec.workload.backend.path and protocol", "spec", "template", "spec", "containers", in.Target.Container)
	}
	if in.Protocol == a2av1alpha1.BackendProtocolEvents && !in.Guessed {
		s.Check("the program must answer one POST for each turn", "see https://github.com/a2a-operator/a2a-operator/blob/main/docs/reference/events-protocol.md; spec.workload.backend.path is the path, / by default", "spec", "template", "spec", "containers", in.Target.Container)
	}
	*s.report = append(*s.report, report...)
}

// Target is the container of a pod template that serves the agent, and its port.
type Target struct {
	// Service selects the pods, nil for none, and ServicePort is the index of the port in it that leads to Port.
	Service     *corev1.Service
	ServicePort int
	// Container is the index of the container.
	Container int
	Port      int32
	// others select the pods, too.
	others []*corev1.Service
}

// FindTarget returns the container and port of the agent in the pods of a Deployment: those to which a Service leads, or the
// first ones. container and port choose others, unless they are "" and 0.
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
		return nil, failure.New(failure.Usage, "neither a Service nor a port of the container tells where Deployment %s listens", d.Name).
			WithHint("name the port of the program with --port")
	}
	if IsSidecarPort(t.Port) {
		return nil, failure.New(failure.Usage, "the container listens on port %d, which the sidecar of an Agent needs", t.Port).
			WithHint("let the program listen on another port than 8641, 8642 and 8643, or name another port with --port")
	}
	return t, nil
}

// findService chooses the Service with a port that fits: that with the name of the Deployment, or the first one.
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
			t.Service, t.ServicePort, t.Port = service, j, target
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

// targetPort returns the port of the pod for a port of a Service, 0 if no container has the name.
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

// selectors are the labels by which the Deployment and its Services select pods.
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
