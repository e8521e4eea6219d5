// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crdschema

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// Observed is the comparison of a spec with the one that the operator accepted last.
type Observed struct {
	// Digest is the digest of the fields that the present spec sets.
	Digest string
	// SchemaGeneration is the generation of the CRD.
	SchemaGeneration int64
	// Lost are the paths of the fields that the spec has lost without an edit by a user. While there
	// are any, the operator must not apply the spec.
	Lost []string
	// Unknown are the paths of the fields that only a newer operator knows, and the fields with values that only
	// a newer operator knows. While there are any, the operator must not apply the spec.
	Unknown []string
}

// Trusted reports whether the operator may apply the spec.
func (o Observed) Trusted() bool { return len(o.Lost) == 0 && len(o.Unknown) == 0 }

// ObserveAgent compares the spec of an Agent with the digest in its status, and with the fields and values that
// this build knows. schemaGeneration is the generation of the CRD. unknown are the fields that only a newer CRD
// has (SetNewFields).
func ObserveAgent(agent *a2av1alpha1.Agent, schemaGeneration int64, unknown []string) Observed {
	return observe(agentSpec(), &observation{
		object: &agent.ObjectMeta, spec: reflect.ValueOf(&agent.Spec).Elem(), unknown: unknown, schemaGeneration: schemaGeneration,
		former: agent.Status.ObservedSpecDigest, formerSchemaGeneration: agent.Status.ObservedSchemaGeneration,
		formerGeneration: agent.Status.ObservedGeneration, conditions: agent.Status.Conditions,
	})
}

// ObserveAgentSkill is ObserveAgent for an AgentSkill.
func ObserveAgentSkill(skill *a2av1alpha1.AgentSkill, schemaGeneration int64, unknown []string) Observed {
	return observe(agentSkillSpec(), &observation{
		object: &skill.ObjectMeta, spec: reflect.ValueOf(&skill.Spec).Elem(), unknown: unknown, schemaGeneration: schemaGeneration,
		former: skill.Status.ObservedSpecDigest, formerSchemaGeneration: skill.Status.ObservedSchemaGeneration,
		formerGeneration: skill.Status.ObservedGeneration, conditions: skill.Status.Conditions,
	})
}

// AgentLacksFields reports whether the spec of an Agent lacks a field that the digest in its status has.
func AgentLacksFields(agent *a2av1alpha1.Agent) bool {
	return lacksFields(agentSpec(), agent.Status.ObservedSpecDigest, AgentDigest(&agent.Spec))
}

// AgentSkillLacksFields is AgentLacksFields for an AgentSkill.
func AgentSkillLacksFields(skill *a2av1alpha1.AgentSkill) bool {
	return lacksFields(agentSkillSpec(), skill.Status.ObservedSpecDigest, AgentSkillDigest(&skill.Spec))
}

func lacksFields(s *spec, former, present string) bool {
	return former != present && len(s.missing(former, present)) > 0
}

// observation has the inputs of observe.
type observation struct {
	object                                   *metav1.ObjectMeta
	spec                                     reflect.Value
	unknown                                  []string
	former                                   string
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
//   - No loss was reported before. Any edit after a loss has another generation.
//
// An annotation with the present generation confirms any loss.
//
// This build sees the fields that it does not know, too, if the CRD has them.
func observe(s *spec, o *observation) Observed {
	observed := Observed{
		Digest: s.digest(o.spec, o.unknown), SchemaGeneration: o.schemaGeneration, Unknown: s.root.appendUnknown(o.unknown, o.spec),
	}
	if o.former == "" || o.former == observed.Digest {
		return observed
	}
	lost := s.missing(o.former, observed.Digest)
	if len(lost) == 0 || o.object.Annotations[a2av1alpha1.AnnotationAcceptSpec] == strconv.FormatInt(o.object.Generation, 10) {
		return observed
	}
	edited := o.object.Generation != o.formerGeneration && o.schemaGeneration == o.formerSchemaGeneration
	if accepted := meta.FindStatusCondition(o.conditions, a2av1alpha1.ConditionAccepted); accepted != nil && accepted.Reason == a2av1alpha1.ReasonSpecPruned {
		edited = false
	}
	if !edited {
		observed.Lost = lost
	}
	return observed
}

// Untrusted returns why the operator must not apply a spec: the reason and the message of a condition, "" if the
// operator may apply it. generation is the generation of the object.
func Untrusted(observed Observed, generation int64) (reason, message string) {
	switch {
	case len(observed.Unknown) > 0:
		return a2av1alpha1.ReasonSpecNotUnderstood, unknownText(observed.Unknown)
	case len(observed.Lost) > 0:
		return a2av1alpha1.ReasonSpecPruned, lostText(observed.Lost, generation)
	default:
		return "", ""
	}
}

// unknownText says what an older operator does not know, and what to do.
func unknownText(unknown []string) string {
	return fmt.Sprintf("This version of the operator does not know %s: the CustomResourceDefinition is of a newer version, or was when the object was written. "+
		"The last configuration stays in use; upgrade the operator, or remove the fields and values from the spec", Named(unknown))
}

// lostText says which fields a spec has lost, and what to do.
func lostText(lost []string, generation int64) string {
	return fmt.Sprintf("The API server or an earlier operator dropped %s without an edit of the object, because its CustomResourceDefinition or version is older. "+
		"The last configuration stays in use; apply the manifest again. If the spec is right without the fields, set the annotation %s to %d",
		Named(lost), a2av1alpha1.AnnotationAcceptSpec, generation)
}

// OutdatedText says which fields a CRD lacks, and what to do.
func OutdatedText(crd string, paths []string) string {
	return fmt.Sprintf("CustomResourceDefinition %s is older than the operator: it lacks %s, or has other defaults for them. "+
		"The last configuration of every agent stays in use; install the CustomResourceDefinitions of the operator's version", crd, Named(paths))
}

// maxNamed is the maximum number of fields that a message names.
const maxNamed = 5

// Named returns a text with the first paths, and the number of the others.
func Named(paths []string) string {
	more := ""
	if len(paths) > maxNamed {
		more = fmt.Sprintf(" and %d more", len(paths)-maxNamed)
		paths = paths[:maxNamed]
	}
	return strings.Join(paths, ", ") + more
}
