// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// AgentSkill is a skill that several Agents can share. An Agent of the same
// namespace refers to it by name (spec.skillRefs) or by label
// (spec.skillSelector). An Agent of another namespace refers to it by name if
// spec.allowedAgents admits the namespace. An edit updates every card that lists
// the skill and the files of the skill in the pods, without a restart.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=a2a
// +kubebuilder:printcolumn:name="Skill",type=string,JSONPath=`.spec.name`
// +kubebuilder:printcolumn:name="Tags",type=string,JSONPath=`.spec.tags`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Agents",type=integer,JSONPath=`.status.agents`
// +kubebuilder:printcolumn:name="ID",type=string,priority=1,JSONPath=`.spec.id`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:fieldPath=".metadata",rule="has(self.spec.id) || self.metadata.name.size() <= 128",message="metadata.name is the id of the skill and must have at most 128 characters; shorten it or set spec.id"
// +kubebuilder:validation:XValidation:fieldPath=".spec.id",rule="!has(self.spec.instructions) && !has(self.spec.image) || (has(self.spec.id) ? self.spec.id : self.metadata.name).size() <= 64 && (has(self.spec.id) ? self.spec.id : self.metadata.name).matches('^[a-z0-9]+(-[a-z0-9]+)*$')",message="spec.id, or metadata.name without it, names the folder of the skill's files and must have at most 64 lowercase letters, digits and single '-' between them; set spec.id, or remove instructions and image"
type AgentSkill struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the skill as the cards list it.
	// +required
	Spec AgentSkillSpec `json:"spec"`

	// status is the observed state of the skill.
	// +kubebuilder:default={observedGeneration: 0}
	// +optional
	Status AgentSkillStatus `json:"status,omitempty,omitzero"`
}

// AgentSkillSpec is a skill as the cards list it.
type AgentSkillSpec struct {
	// id identifies the skill on a card, and must be unique there. It defaults to
	// metadata.name.
	// +optional
	ID SkillID `json:"id,omitempty"`

	SkillDetails `json:",inline"`

	// allowedAgents selects the Agents that may list the skill on their cards. It
	// defaults to the Agents of the AgentSkill's own namespace.
	// +kubebuilder:default={}
	// +optional
	AllowedAgents AllowedAgents `json:"allowedAgents,omitempty,omitzero"`
}

// AgentSkillStatus is the observed state of a skill.
type AgentSkillStatus struct {
	// conditions are Accepted and InUse, which are always present, and Stalled, which
	// is present while Accepted is False.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// operator names the operator that manages the AgentSkill, as NAMESPACE/NAME. Another
	// operator that watches the AgentSkill leaves it alone.
	// +kubebuilder:validation:MaxLength=127
	// +optional
	Operator string `json:"operator,omitempty"`

	// agents is the number of Agents that refer to the skill, by name or by label, and
	// that the skill admits. It is updated within about a second.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Agents *int32 `json:"agents,omitempty"`

	// observedGeneration is the metadata.generation that this status describes.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// observedSpecDigest is a digest of the fields that the spec set when the operator
	// accepted it last. By this digest, the operator notices that the spec has lost
	// fields without an edit, such as those that an older CustomResourceDefinition
	// does not have.
	// +kubebuilder:validation:MaxLength=16384
	// +optional
	ObservedSpecDigest string `json:"observedSpecDigest,omitempty"`

	// observedSchemaGeneration is the metadata.generation of the
	// CustomResourceDefinition with which the operator read the spec of
	// observedSpecDigest.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ObservedSchemaGeneration int64 `json:"observedSchemaGeneration,omitempty"`
}

// AllowedAgents selects the Agents that may list a skill on their cards.
type AllowedAgents struct {
	// namespaces selects the namespaces of the Agents. It defaults to the
	// AgentSkill's own namespace.
	// +kubebuilder:default={}
	// +optional
	Namespaces AllowedNamespaces `json:"namespaces,omitempty,omitzero"`
}

// AllowedNamespaces selects the namespaces in which Agents may use a skill.
//
// +kubebuilder:validation:XValidation:rule="!has(self.from) || self.from != 'Selector' || has(self.selector)",message="spec.allowedAgents.namespaces.from Selector needs spec.allowedAgents.namespaces.selector"
// +kubebuilder:validation:XValidation:rule="!has(self.selector) || has(self.from) && self.from == 'Selector'",message="spec.allowedAgents.namespaces.selector has no effect unless from is Selector"
type AllowedNamespaces struct {
	// from is Same, for the AgentSkill's own namespace; All, for every namespace; or
	// Selector, for its own namespace and those that selector matches. It defaults
	// to Same.
	// +kubebuilder:default=Same
	// +optional
	From FromNamespaces `json:"from,omitempty"`

	// selector selects namespaces by their labels, if from is Selector. Each
	// namespace has its name in the label kubernetes.io/metadata.name. An empty
	// selector selects all namespaces.
	// +optional
	Selector *NamespaceSelector `json:"selector,omitempty"`
}

// NamespaceSelector selects namespaces by their labels. It is a LabelSelector of
// Kubernetes whose validity the API server checks.
type NamespaceSelector struct {
	// matchLabels are the labels that a namespace must have. All must match.
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.qualifiedName().validate(key).hasValue())",message="the keys of matchLabels must be label keys, such as kubernetes.io/metadata.name"
	// +optional
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`

	// matchExpressions are requirements on the labels of a namespace. All must be
	// met.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	MatchExpressions []NamespaceSelectorRequirement `json:"matchExpressions,omitempty"`
}

// NamespaceSelectorRequirement is a requirement on one label of a namespace.
//
// +kubebuilder:validation:XValidation:rule="self.operator in ['In', 'NotIn'] ? has(self.values) && self.values.size() > 0 : !has(self.values) || self.values.size() == 0",message="values is required for the operators In and NotIn, and forbidden for the others"
type NamespaceSelectorRequirement struct {
	// key is the key of the label.
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="must be a label key, such as kubernetes.io/metadata.name"
	// +required
	Key string `json:"key"`

	// operator is In, NotIn, Exists or DoesNotExist.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	// +required
	Operator metav1.LabelSelectorOperator `json:"operator"`

	// values are the values for the operators In and NotIn.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Values []LabelValue `json:"values,omitempty"`
}

// LabelValue is the value of a label.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`
type LabelValue string

// FromNamespaces is a way to select namespaces.
//
// +kubebuilder:validation:Enum=Same;All;Selector
type FromNamespaces string

const (
	// FromSame selects the AgentSkill's own namespace.
	FromSame FromNamespaces = "Same"
	// FromAll selects every namespace.
	FromAll FromNamespaces = "All"
	// FromSelector selects the AgentSkill's own namespace and those that a selector
	// matches.
	FromSelector FromNamespaces = "Selector"
)

// Skill is a skill that is defined inline.
//
// +kubebuilder:validation:XValidation:fieldPath=".id",rule="!has(self.instructions) && !has(self.image) || self.id.size() <= 64 && self.id.matches('^[a-z0-9]+(-[a-z0-9]+)*$')",message="id names the folder of the skill's files and must have at most 64 lowercase letters, digits and single '-' between them; change it, or remove instructions and image"
type Skill struct {
	// id identifies the skill on the card, and must be unique there.
	// +required
	ID SkillID `json:"id"`

	SkillDetails `json:",inline"`
}

// SkillDetails are the fields of a skill, except for its id.
//
// +kubebuilder:validation:XValidation:rule="!has(self.image) || !has(self.instructions) && !has(self.resources)",message="image has all files of the skill; remove instructions and resources, or image"
// +kubebuilder:validation:XValidation:fieldPath=".resources",rule="!has(self.resources) || has(self.instructions)",message="resources need instructions, which say when to read them; set instructions, or remove resources"
// +kubebuilder:validation:XValidation:fieldPath=".description",rule="!has(self.instructions) && !has(self.image) || self.description.size() <= 1024",message="the description of a skill with instructions or an image must have at most 1024 characters; move the rest into the instructions"
type SkillDetails struct {
	// name is the human-readable name of the skill.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +required
	Name string `json:"name"`

	// description describes what the skill does, for people and for other agents.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:Pattern=`^[^\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F]*$`
	// +required
	Description string `json:"description"`

	// tags are keywords for searches. A2A requires at least one.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +listType=set
	// +required
	Tags []string `json:"tags"`

	// examples are sample prompts for the skill.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	// +kubebuilder:validation:items:Pattern=`^[^\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F]*$`
	// +listType=atomic
	// +optional
	Examples []string `json:"examples,omitempty"`

	// inputModes are the media types that the skill accepts. They default to the
	// agent's defaultInputModes.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	InputModes []MediaType `json:"inputModes,omitempty"`

	// outputModes are the media types that the skill produces. They default to the
	// agent's defaultOutputModes.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	OutputModes []MediaType `json:"outputModes,omitempty"`

	// inputSchema is a JSON Schema of the structured data that the skill accepts. It
	// is of draft 2020-12, unless it has a $schema, and must not refer to other
	// documents. Callers find it on the card, in the extension
	// https://a2a-operator.dev/extensions/skill-schemas/v1. The sidecar does not
	// validate messages against it.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	InputSchema *runtime.RawExtension `json:"inputSchema,omitempty"`

	// outputSchema is a JSON Schema of the structured data that the skill produces.
	// The rules of inputSchema apply.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	OutputSchema *runtime.RawExtension `json:"outputSchema,omitempty"`

	// visibility is Public or Extended. With Extended, only the extended card lists
	// the skill: authenticated callers see the skill there, and the registry does not.
	// visibility does not restrict the use of the skill. It defaults to Public.
	// +kubebuilder:default=Public
	// +optional
	Visibility SkillVisibility `json:"visibility,omitempty"`

	// instructions are Markdown that says how to do what the skill describes. The containers
	// of an agent find them in the file /a2a/skills/ID/SKILL.md, in the Agent Skills
	// format, and a model of spec.model loads them by a tool when it needs them. An edit
	// takes effect without a restart. The card does not have them.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	// +kubebuilder:validation:Pattern=`^[^\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F]*$`
	// +optional
	Instructions string `json:"instructions,omitempty"`

	// resources are further files of the skill, to which the instructions refer: texts,
	// data, scripts. They are in the folder of SKILL.md. The files of all skills of an
	// agent have at most 1 MiB.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Resources []SkillResource `json:"resources,omitempty"`

	// image is an OCI artifact or image with all files of the skill, in place of
	// instructions and resources, such as
	// registry.example/skills/triage@sha256:<digest>. It has SKILL.md at its root. The
	// kubelet pulls it, with the imagePullSecrets of the template. Another image
	// restarts the pods. The cluster must support image volumes.
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][a-zA-Z0-9._:/-]*@sha256:[0-9a-f]{64}$`
	// +optional
	Image string `json:"image,omitempty"`
}

// SkillResource are files of a skill from one object.
type SkillResource struct {
	// configMap has the files.
	// +required
	ConfigMap SkillConfigMap `json:"configMap"`
}

// SkillConfigMap selects files from a ConfigMap.
type SkillConfigMap struct {
	// name is the name of a ConfigMap in the namespace of the skill. If an Agent of another
	// namespace uses the skill, its containers get a copy of the files.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +required
	Name string `json:"name"`

	// items are the keys that become files. By default, each key becomes a file of the same
	// name.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	// +listType=atomic
	// +optional
	Items []SkillFile `json:"items,omitempty"`
}

// SkillFile is a key of a ConfigMap that becomes a file of a skill.
type SkillFile struct {
	// key is the key.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +required
	Key string `json:"key"`

	// path is the path of the file in the folder of the skill, such as
	// references/runbook.md. It is relative, and has no ".." and no blanks. It defaults to
	// the key.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^\.?[A-Za-z0-9_-][A-Za-z0-9._-]*(/\.?[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`
	// +optional
	Path string `json:"path,omitempty"`
}

// SkillVisibility selects the cards that list a skill.
//
// +kubebuilder:validation:Enum=Public;Extended
type SkillVisibility string

const (
	// SkillVisibilityPublic lists a skill on the public and on the extended card.
	SkillVisibilityPublic SkillVisibility = "Public"
	// SkillVisibilityExtended lists a skill on the extended card only, which
	// authenticated callers see.
	SkillVisibilityExtended SkillVisibility = "Extended"
)

// SkillID identifies a skill on a card.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9][A-Za-z0-9._:/-]*$')",message="must start with a letter or digit and contain only letters, digits and '.', '_', ':', '/' and '-'"
type SkillID string

// MediaType is a media type such as text/plain.
//
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9.+*_-]+/[A-Za-z0-9.+*_-]+( *;[^\x00-\x1F\x7F-\x9F]*)?$`
type MediaType string

// AgentSkillList is a list of AgentSkills.
//
// +kubebuilder:object:root=true
type AgentSkillList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AgentSkill `json:"items"`
}
