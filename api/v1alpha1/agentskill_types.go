// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// AgentSkill is a skill that several Agents can share. An Agent of its
// namespace puts it on its card by name (spec.skillRefs) or by label
// (spec.skillSelector), an Agent of another one by name if
// spec.allowedAgents admits it; an edit reaches every card that lists it
// without a restart.
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
// +kubebuilder:validation:XValidation:rule="has(self.spec.id) || self.metadata.name.size() <= 128",message="metadata.name is the skill's id and must have at most 128 characters; shorten it or set spec.id"
type AgentSkill struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the skill as it stands on a card.
	// +required
	Spec AgentSkillSpec `json:"spec"`

	// status is written by the operator.
	// +optional
	Status AgentSkillStatus `json:"status,omitempty,omitzero"`
}

// AgentSkillSpec is a skill as it stands on a card.
type AgentSkillSpec struct {
	// id names the skill on a card and must be unique there. It defaults to
	// metadata.name.
	// +optional
	ID SkillID `json:"id,omitempty"`

	SkillDetails `json:",inline"`

	// allowedAgents says which Agents may put the skill on their cards. It
	// defaults to those of the AgentSkill's own namespace.
	// +kubebuilder:default={}
	// +optional
	AllowedAgents AllowedAgents `json:"allowedAgents,omitempty,omitzero"`
}

// AgentSkillStatus is what has become of a skill.
type AgentSkillStatus struct {
	// conditions are Accepted and InUse. Both are always present.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// agents is the number of Agents that put the skill on their cards, by name
	// or by label. It follows within about a second.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Agents *int32 `json:"agents,omitempty"`

	// observedGeneration is the metadata.generation that this status is about.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// AllowedAgents says which Agents may put a skill on their cards.
type AllowedAgents struct {
	// namespaces are those of the Agents. They default to the AgentSkill's own.
	// +kubebuilder:default={}
	// +optional
	Namespaces AllowedNamespaces `json:"namespaces,omitempty,omitzero"`
}

// AllowedNamespaces says from which namespaces a skill may be used.
//
// +kubebuilder:validation:XValidation:rule="!has(self.from) || self.from != 'Selector' || has(self.selector)",message="spec.allowedAgents.namespaces.from Selector needs spec.allowedAgents.namespaces.selector"
// +kubebuilder:validation:XValidation:rule="!has(self.selector) || has(self.from) && self.from == 'Selector'",message="spec.allowedAgents.namespaces.selector has no effect unless from is Selector"
type AllowedNamespaces struct {
	// from is Same, for the AgentSkill's own namespace; All, for every
	// namespace; or Selector, for its own and those with certain labels. It
	// defaults to Same.
	// +kubebuilder:default=Same
	// +optional
	From FromNamespaces `json:"from,omitempty"`

	// selector selects namespaces by their labels, for Selector. Each has its
	// name in the label kubernetes.io/metadata.name. An empty selector
	// selects all.
	// +optional
	Selector *NamespaceSelector `json:"selector,omitempty"`
}

// NamespaceSelector selects namespaces by their labels. It is a LabelSelector
// of Kubernetes of which none can be stored that means nothing.
type NamespaceSelector struct {
	// matchLabels are labels that a namespace must have, all of them.
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.qualifiedName().validate(key).hasValue())",message="the keys of matchLabels must be the keys of labels, such as kubernetes.io/metadata.name"
	// +optional
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`

	// matchExpressions are requirements that a namespace must meet, all of them.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	MatchExpressions []NamespaceSelectorRequirement `json:"matchExpressions,omitempty"`
}

// NamespaceSelectorRequirement is about one label of a namespace.
//
// +kubebuilder:validation:XValidation:rule="self.operator in ['In', 'NotIn'] ? has(self.values) && self.values.size() > 0 : !has(self.values) || self.values.size() == 0",message="values must be there for the operators In and NotIn, and for no other"
type NamespaceSelectorRequirement struct {
	// key is the label's.
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="must be the key of a label, such as kubernetes.io/metadata.name"
	// +required
	Key string `json:"key"`

	// operator is In, NotIn, Exists or DoesNotExist.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	// +required
	Operator metav1.LabelSelectorOperator `json:"operator"`

	// values are those that In and NotIn are about.
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

// FromNamespaces says how namespaces are chosen.
//
// +kubebuilder:validation:Enum=Same;All;Selector
type FromNamespaces string

const (
	// FromSame chooses the own namespace.
	FromSame FromNamespaces = "Same"
	// FromAll chooses every namespace.
	FromAll FromNamespaces = "All"
	// FromSelector chooses the own namespace and those with certain labels.
	FromSelector FromNamespaces = "Selector"
)

// Skill is a skill written in place.
type Skill struct {
	// id names the skill on the card and must be unique there.
	// +required
	ID SkillID `json:"id"`

	SkillDetails `json:",inline"`
}

// SkillDetails is what a card says about a skill, beside its id.
type SkillDetails struct {
	// name is the skill's name for people.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +required
	Name string `json:"name"`

	// description says what the skill does, for people and for other agents.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +required
	Description string `json:"description"`

	// tags are the words by which the skill is found. The protocol wants at
	// least one.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	// +listType=set
	// +required
	Tags []string `json:"tags"`

	// examples are prompts that the skill handles well.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +optional
	Examples []string `json:"examples,omitempty"`

	// inputModes are the media types that the skill takes. They default to
	// the agent's defaultInputModes.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	InputModes []MediaType `json:"inputModes,omitempty"`

	// outputModes are the media types that the skill gives. They default to
	// the agent's defaultOutputModes.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	OutputModes []MediaType `json:"outputModes,omitempty"`

	// inputSchema is a JSON Schema (draft 2020-12 unless it names another) of
	// the structured data that the skill takes. It stands on the card, in the
	// extension https://a2a-operator.dev/extensions/skill-schemas/v1, for those
	// who call; messages are not checked against it. It must hold all that it
	// refers to.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	InputSchema *runtime.RawExtension `json:"inputSchema,omitempty"`

	// outputSchema is the same of the data that the skill gives.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	OutputSchema *runtime.RawExtension `json:"outputSchema,omitempty"`

	// visibility is Public, or Extended, which shows the skill on the extended
	// card only: to callers with a credential, and not to the registry. It
	// hides the skill, and does not keep anybody from using it. It defaults to
	// Public.
	// +kubebuilder:default=Public
	// +optional
	Visibility SkillVisibility `json:"visibility,omitempty"`
}

// SkillVisibility says who is shown a skill.
//
// +kubebuilder:validation:Enum=Public;Extended
type SkillVisibility string

const (
	// SkillVisibilityPublic shows a skill to everybody.
	SkillVisibilityPublic SkillVisibility = "Public"
	// SkillVisibilityExtended shows a skill to callers with a credential.
	SkillVisibilityExtended SkillVisibility = "Extended"
)

// SkillID names a skill on a card.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9][A-Za-z0-9._:/-]*$')",message="must start with a letter or digit and hold only letters, digits and '.', '_', ':', '/' and '-'"
type SkillID string

// MediaType is a media type such as text/plain.
//
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9.+*_-]+/[A-Za-z0-9.+*_-]+( *;.*)?$`
type MediaType string

// AgentSkillList is a list of AgentSkills.
//
// +kubebuilder:object:root=true
type AgentSkillList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AgentSkill `json:"items"`
}
