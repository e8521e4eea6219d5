// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crdschema

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
)

// ObserveAgent compares the spec of an Agent with the digest in its status. schemaGeneration is the
// generation of the CRD.
//
// It does not compare a spec of which the cache keeps a part only (clusterstate.TooLarge): the digest stays
// as it is.
func ObserveAgent(agent *a2av1alpha1.Agent, schemaGeneration int64) clusterstate.Observed {
	if _, is := clusterstate.TooLarge(agent); is {
		return clusterstate.Observed{Digest: agent.Status.ObservedSpecDigest, SchemaGeneration: agent.Status.ObservedSchemaGeneration}
	}
	return observe(agentSpec(), &observation{
		object: &agent.ObjectMeta, present: AgentDigest(&agent.Spec), schemaGeneration: schemaGeneration,
		former: agent.Status.ObservedSpecDigest, formerSchemaGeneration: agent.Status.ObservedSchemaGeneration,
		formerGeneration: agent.Status.ObservedGeneration, conditions: agent.Status.Conditions,
	})
}

// ObserveAgentSkill is ObserveAgent for an AgentSkill.
func ObserveAgentSkill(skill *a2av1alpha1.AgentSkill, schemaGeneration int64) clusterstate.Observed {
	if _, is := clusterstate.TooLarge(skill); is {
		return clusterstate.Observed{Digest: skill.Status.ObservedSpecDigest, SchemaGeneration: skill.Status.ObservedSchemaGeneration}
	}
	return observe(agentSkillSpec(), &observation{
		object: &skill.ObjectMeta, present: AgentSkillDigest(&skill.Spec), schemaGeneration: schemaGeneration,
		former: skill.Status.ObservedSpecDigest, formerSchemaGeneration: skill.Status.ObservedSchemaGeneration,
		formerGeneration: skill.Status.ObservedGeneration, conditions: skill.Status.Conditions,
	})
}

// AgentLacksFields reports whether the spec of an Agent lacks a field that the digest in its status has. It
// returns false for a spec of which the cache keeps a part only.
func AgentLacksFields(agent *a2av1alpha1.Agent) bool {
	_, large := clusterstate.TooLarge(agent)
	return !large && lacksFields(agentSpec(), agent.Status.ObservedSpecDigest, AgentDigest(&agent.Spec))
}

// AgentSkillLacksFields is AgentLacksFields for an AgentSkill.
func AgentSkillLacksFields(skill *a2av1alpha1.AgentSkill) bool {
	_, large := clusterstate.TooLarge(skill)
	return !large && lacksFields(agentSkillSpec(), skill.Status.ObservedSpecDigest, AgentSkillDigest(&skill.Spec))
}

func lacksFields(s *spec, former, present string) bool {
	if former == present {
		return false
	}
	lost, _ := s.missing(former, present)
	return len(lost) > 0
}

// observation has the inputs of observe.
type observation struct {
	object                                   *metav1.ObjectMeta
	present, former                          string
	schemaGeneration, formerSchemaGeneration int64
	formerGeneration                         int64
	conditions                               []metav1.Condition
}

// observe decides whether a user removed the fields that the spec no longer has. A user has removed
// them only if all of this is true:
//
//   - The generation has changed. The API server does not change it when it drops fields.
//   - The CRD has not changed. Otherwise the edit may have been another one, such as that of an
//     autoscaler, while an older CRD was installed.
//   - This build knows the fields. Otherwise it cannot see them.
//   - No loss was reported before. Any edit after a loss has another generation.
//
// An annotation with the present generation confirms any loss.
func observe(s *spec, o *observation) clusterstate.Observed {
	observed := clusterstate.Observed{Digest: o.present, SchemaGeneration: o.schemaGeneration}
	if o.former == "" || o.former == o.present {
		return observed
	}
	lost, known := s.missing(o.former, o.present)
	if len(lost) == 0 || o.object.Annotations[a2av1alpha1.AnnotationAcceptSpec] == strconv.FormatInt(o.object.Generation, 10) {
		return observed
	}
	edited := o.object.Generation != o.formerGeneration && o.schemaGeneration == o.formerSchemaGeneration
	if accepted := meta.FindStatusCondition(o.conditions, a2av1alpha1.ConditionAccepted); accepted != nil && accepted.Reason == a2av1alpha1.ReasonSpecPruned {
		edited = false
	}
	if !edited || !known {
		observed.Lost = lost
	}
	return observed
}

// LostText says which fields a spec has lost, and what to do.
func LostText(lost []string, generation int64) string {
	return fmt.Sprintf("The API server or an earlier operator dropped %s without an edit of the object, because its CustomResourceDefinition or version is older. "+
		"The last configuration stays in use; apply the manifest again. If the spec is right without the fields, set the annotation %s to %d",
		named(lost), a2av1alpha1.AnnotationAcceptSpec, generation)
}

// OutdatedText says which fields a CRD lacks, and what to do.
func OutdatedText(crd string, paths []string) string {
	return fmt.Sprintf("CustomResourceDefinition %s is older than the operator: it lacks %s, or has other defaults for them. "+
		"The last configuration of every agent stays in use; install the CustomResourceDefinitions of the operator's version", crd, named(paths))
}

// maxNamed is the maximum number of fields that a message names.
const maxNamed = 5

func named(paths []string) string {
	more := ""
	if len(paths) > maxNamed {
		more = fmt.Sprintf(" and %d more", len(paths)-maxNamed)
		paths = paths[:maxNamed]
	}
	return strings.Join(paths, ", ") + more
}
