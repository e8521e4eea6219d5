// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

const (
	// MaxAgentSpec bounds the memory of the spec of an Agent in the cache, in bytes.
	MaxAgentSpec = 256 << 10
	// MaxAgentSkillSpec bounds the memory of the spec of an AgentSkill in the cache, in bytes. It has
	// room for two schemas of the largest size.
	MaxAgentSkillSpec = 160 << 10
)

// tooLarge is the annotation that marks a cached object whose spec the cache does not keep. The value
// is the size of the spec in bytes. Objects in the API server do not have it: the cache removes the
// annotations of users.
const tooLarge = "a2a-operator.dev/too-large"

// MarkTooLarge marks a cached object whose spec needs size bytes, more than the cache keeps. It changes the
// annotations of the object.
func MarkTooLarge(object metav1.Object, size int) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[tooLarge] = strconv.Itoa(size)
	object.SetAnnotations(annotations)
}

// TooLarge returns the size of the spec of a cached object, in bytes, if the cache does not keep the whole
// spec. Otherwise it returns false.
func TooLarge(object metav1.Object) (size int, is bool) {
	value, is := object.GetAnnotations()[tooLarge]
	if !is {
		return 0, false
	}
	size, err := strconv.Atoi(value)
	return size, err == nil
}

// maxSpec returns the bound of the size of the spec of an object.
func maxSpec(object metav1.Object) int {
	if _, is := object.(*a2av1alpha1.AgentSkill); is {
		return MaxAgentSkillSpec
	}
	return MaxAgentSpec
}

// DescribeTooLarge returns what is wrong with a cached Agent or AgentSkill whose spec is too large, for a
// condition, or "" for any other object.
func DescribeTooLarge(object metav1.Object) string {
	size, is := TooLarge(object)
	if !is {
		return ""
	}
	return "needs " + strconv.Itoa(size>>10) + " KiB of the operator's memory, the limit is " + strconv.Itoa(maxSpec(object)>>10) + " KiB"
}
