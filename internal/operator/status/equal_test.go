// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

func TestEqual(t *testing.T) {
	at := metav1.NewTime(time.Unix(1000, 0))
	status := func(change func(*a2av1alpha1.AgentStatus)) a2av1alpha1.AgentStatus {
		s := a2av1alpha1.AgentStatus{
			URL: "http://echo", Skills: new(int32(1)), ObservedGeneration: 1,
			Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Ready", Message: "m", ObservedGeneration: 1, LastTransitionTime: at}},
		}
		change(&s)
		return s
	}
	base := status(func(*a2av1alpha1.AgentStatus) {})
	for name, test := range map[string]struct {
		change func(*a2av1alpha1.AgentStatus)
		want   bool
	}{
		"equal": {func(*a2av1alpha1.AgentStatus) {}, true},
		"same time in another zone": {func(s *a2av1alpha1.AgentStatus) {
			s.Conditions[0].LastTransitionTime = metav1.NewTime(at.In(time.FixedZone("x", 3600)))
		}, true},
		"other time": {func(s *a2av1alpha1.AgentStatus) {
			s.Conditions[0].LastTransitionTime = metav1.NewTime(at.Add(time.Second))
		}, false},
		"other message":          {func(s *a2av1alpha1.AgentStatus) { s.Conditions[0].Message = "n" }, false},
		"other generation":       {func(s *a2av1alpha1.AgentStatus) { s.Conditions[0].ObservedGeneration = 2 }, false},
		"one more condition":     {func(s *a2av1alpha1.AgentStatus) { s.Conditions = append(s.Conditions, metav1.Condition{}) }, false},
		"other number of skills": {func(s *a2av1alpha1.AgentStatus) { s.Skills = new(int32(2)) }, false},
		"other URL":              {func(s *a2av1alpha1.AgentStatus) { s.URL = "" }, false},
	} {
		if got := Equal(base, status(test.change)); got != test.want {
			t.Errorf("%s: Equal() = %t, want %t", name, got, test.want)
		}
	}
}
