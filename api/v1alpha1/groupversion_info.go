// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the custom resources of a2a-operator.dev/v1alpha1,
// with their conditions, reasons, labels and names.
//
// It imports nothing but k8s.io/api and k8s.io/apimachinery, so that a client
// can use the types without the operator's dependencies.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +groupName=a2a-operator.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "a2a-operator.dev", Version: "v1alpha1"}

// SchemeGroupVersion is GroupVersion, under the name that the generated apply
// configurations use.
var SchemeGroupVersion = GroupVersion

// AgentKind is the kind of an Agent, as owner references name it.
const AgentKind = "Agent"

var schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme registers every kind of this package.
var AddToScheme = schemeBuilder.AddToScheme

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Agent{}, &AgentList{},
		&AgentSkill{}, &AgentSkillList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
