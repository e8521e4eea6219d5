// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// descriptionAnnotation is the annotation with which Kubernetes describes an object.
const descriptionAnnotation = "kubernetes.io/description"

// Deployment is the input of FromDeployment: a Deployment, and the known properties of its pods.
type Deployment struct {
	Object *appsv1.Deployment
	// Unknown are the paths of the fields that Decode found and the type does not have.
	Unknown []string
	// Target is the container and port of the agent.
	Target *Target
	// Name is the name of the Agent, "" for the name of the Deployment. Description is the description of the Agent, "" for
	// the description of the card or of the Deployment.
	Name, Description string
	// Protocol is the protocol of the container.
	Protocol a2av1alpha1.BackendProtocol
	// Card is the card of the container, nil for none.
	Card *card.Card
	// Guessed is true if the container answered HTTP and the answer did not identify the protocol.
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

// Metadata reports the metadata of the source except for the annotations to keep. The Agent receives no labels and
// annotations of the source, because tools such as Helm and Argo CD find the objects that they own by them.
func (s *Source) Metadata(keep ...string) {
	for _, name := range []string{"kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision"} {
		s.Drop("metadata", "annotations", name)
	}
	const why = "tools such as Helm and Argo CD use it to find their objects"
	for _, name := range []string{"labels", "annotations"} {
		path := []any{"metadata", name}
		entries, _ := at(s.fields, path)
		keys, _ := entries.(map[string]any)
		for _, key := range sortedKeys(keys) {
			if !slices.Contains(keep, key) {
				s.LeftOut(why, "add it to the Agent if no such tool manages the Deployment", "metadata", name, key)
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
	s.LeftOut("an Agent has spec.suspend instead", "set spec.suspend: true if no pod may run", "spec", "paused")
}

// describe sets the fields of the Agent that become texts of the card.
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
