// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/apply"
)

// What the namespace cannot be without is not to be deleted.
func TestConflictNamesTheCure(t *testing.T) {
	for kind, want := range map[string]string{
		"ServiceAccount": `ServiceAccount "default" is the namespace's own, so nothing is written; give the Agent another metadata.name`,
		"Service": `Service "default" exists and does not belong to this Agent, so nothing is written; ` +
			`delete it, or give the Agent another metadata.name`,
	} {
		if got := conflictProblem(apply.Conflict{Kind: kind, Name: "default"}); got.Message != want {
			t.Errorf("of the %s it is told: %s\nwant: %s", kind, got.Message, want)
		}
	}
}

func TestSameStatus(t *testing.T) {
	at := metav1.NewTime(time.Unix(1000, 0))
	status := func(change func(*a2av1alpha1.AgentStatus)) a2av1alpha1.AgentStatus {
		s := a2av1alpha1.AgentStatus{
			URL: "http://echo", Skills: new(int32(1)), ObservedGeneration: 1,
			Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Ready", Message: "m", ObservedGeneration: 1, LastTransitionTime: at}},
		}
		change(&s)
		return s
	}
	as := status(func(*a2av1alpha1.AgentStatus) {})
	for name, test := range map[string]struct {
		change func(*a2av1alpha1.AgentStatus)
		want   bool
	}{
		"the same": {func(*a2av1alpha1.AgentStatus) {}, true},
		"elsewhere on Earth": {func(s *a2av1alpha1.AgentStatus) {
			s.Conditions[0].LastTransitionTime = metav1.NewTime(at.In(time.FixedZone("x", 3600)))
		}, true},
		"another time": {func(s *a2av1alpha1.AgentStatus) {
			s.Conditions[0].LastTransitionTime = metav1.NewTime(at.Add(time.Second))
		}, false},
		"another message":    {func(s *a2av1alpha1.AgentStatus) { s.Conditions[0].Message = "n" }, false},
		"another generation": {func(s *a2av1alpha1.AgentStatus) { s.Conditions[0].ObservedGeneration = 2 }, false},
		"one more condition": {func(s *a2av1alpha1.AgentStatus) { s.Conditions = append(s.Conditions, metav1.Condition{}) }, false},
		"another number":     {func(s *a2av1alpha1.AgentStatus) { s.Skills = new(int32(2)) }, false},
		"another URL":        {func(s *a2av1alpha1.AgentStatus) { s.URL = "" }, false},
	} {
		if got := sameStatus(as, status(test.change)); got != test.want {
			t.Errorf("%s: same is %t, want %t", name, got, test.want)
		}
	}
}
