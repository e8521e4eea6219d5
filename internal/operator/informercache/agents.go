// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// stripAgent is a transform for Agents. It keeps the spec, unless it is larger than
// state.MaxAgentSpec, and the status. Of labels and annotations it keeps those that
// ownKindMetadata keeps.
func stripAgent(obj any) (any, error) {
	agent, ok := obj.(*a2av1alpha1.Agent)
	if !ok {
		return obj, nil
	}
	kept := &a2av1alpha1.Agent{
		ObjectMeta: ownKindMetadata(agent.ObjectMeta),
		Spec:       agent.Spec,
		Status: a2av1alpha1.AgentStatus{
			Operator:           cut(agent.Status.Operator, maxName),
			Conditions:         conditions(agent.Status.Conditions),
			URL:                cut(agent.Status.URL, maxMessage),
			ExternalURL:        cut(agent.Status.ExternalURL, maxMessage),
			CardDigest:         cut(agent.Status.CardDigest, maxMessage),
			Skills:             agent.Status.Skills,
			Revisions:          revisions(agent.Status.Revisions),
			Images:             images(agent.Status.Images),
			Replicas:           agent.Status.Replicas,
			Selector:           cut(agent.Status.Selector, maxMessage),
			ObservedGeneration: agent.Status.ObservedGeneration,

			ObservedSpecDigest:       cut(agent.Status.ObservedSpecDigest, maxSpecDigest),
			ObservedSchemaGeneration: agent.Status.ObservedSchemaGeneration,
		},
	}
	switch size := sizeOf(&kept.Spec); {
	case size > state.MaxAgentSpec:
		kept.Spec = reducedSpec(&agent.Spec)
		state.MarkTooLarge(kept, size)
	default:
		keepMark(kept, agent)
	}
	state.CompleteWorkload(kept)
	return kept, nil
}

// reducedSpec returns what the cache keeps of a spec that is too large: what determines whether and
// where the Agent runs, and who sees it in the registry. If this is too large, too, reducedSpec
// returns a spec that no one sees.
func reducedSpec(spec *a2av1alpha1.AgentSpec) a2av1alpha1.AgentSpec {
	kept := a2av1alpha1.AgentSpec{
		DisplayName: spec.DisplayName,
		Description: spec.Description,
		Version:     spec.Version,
		Suspend:     spec.Suspend,
		Discovery:   spec.Discovery,
		Exposure:    spec.Exposure,
		Remote:      spec.Remote,
	}
	if sizeOf(&kept) > state.MaxAgentSpec/2 {
		kept = a2av1alpha1.AgentSpec{Suspend: spec.Suspend}
	}
	if workload := spec.Workload; workload != nil {
		kept.Workload = &a2av1alpha1.AgentWorkload{Replicas: workload.Replicas}
	}
	return kept
}

// stripAgentSkill is a transform for AgentSkills. It keeps the spec, unless it is larger than
// state.MaxAgentSkillSpec, the status, and the labels, which Agents select.
func stripAgentSkill(obj any) (any, error) {
	skill, ok := obj.(*a2av1alpha1.AgentSkill)
	if !ok {
		return obj, nil
	}
	kept := &a2av1alpha1.AgentSkill{
		ObjectMeta: ownKindMetadata(skill.ObjectMeta),
		Spec:       skill.Spec,
		Status: a2av1alpha1.AgentSkillStatus{
			Operator:           cut(skill.Status.Operator, maxName),
			Conditions:         conditions(skill.Status.Conditions),
			Agents:             skill.Status.Agents,
			ObservedGeneration: skill.Status.ObservedGeneration,

			ObservedSpecDigest:       cut(skill.Status.ObservedSpecDigest, maxSpecDigest),
			ObservedSchemaGeneration: skill.Status.ObservedSchemaGeneration,
		},
	}
	kept.Labels = boundedLabels(skill.Labels)
	switch size := sizeOf(&kept.Spec); {
	case size > state.MaxAgentSkillSpec:
		kept.Spec = a2av1alpha1.AgentSkillSpec{}
		state.MarkTooLarge(kept, size)
	default:
		keepMark(kept, skill)
	}
	return kept, nil
}

// ownKindMetadata returns the metadata of an Agent or AgentSkill that the operator reads.
func ownKindMetadata(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, Generation: m.Generation,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp,
		Annotations: only(m.Annotations, a2av1alpha1.AnnotationAcceptSpec, a2av1alpha1.AnnotationRestartedAt, a2av1alpha1.AnnotationOperator),
	}
}

// keepMark keeps the mark of an object whose spec an earlier call of the transform has reduced. Objects of
// the API server have managed fields, and users cannot set the mark on them.
func keepMark(kept, object client.Object) {
	if size, marked := state.TooLarge(object); marked && len(object.GetManagedFields()) == 0 {
		state.MarkTooLarge(kept, size)
	}
}

func revisions(r *a2av1alpha1.AgentRevisions) *a2av1alpha1.AgentRevisions {
	if r == nil {
		return nil
	}
	return &a2av1alpha1.AgentRevisions{
		LastGood:         r.LastGood,
		LastGoodDigest:   cut(r.LastGoodDigest, maxName),
		LastGoodTemplate: cut(r.LastGoodTemplate, maxName),
		Running:          r.Running,
		FailedTemplate:   cut(r.FailedTemplate, maxName),
		Failure:          cut(r.Failure, maxMessage),
	}
}

// images returns images with bounded texts. The schema bounds the digests.
func images(all []a2av1alpha1.AgentImage) []a2av1alpha1.AgentImage {
	return some(all, func(i a2av1alpha1.AgentImage) (a2av1alpha1.AgentImage, bool) {
		return a2av1alpha1.AgentImage{
			Container: cut(i.Container, maxName), Image: cut(i.Image, maxMessage),
			Digests: i.Digests,
		}, true
	})
}
