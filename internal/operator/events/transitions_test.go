// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// status returns a status with a condition for each given "Type Status Reason". The
// message of a condition is its type.
func status(card string, conditions ...string) a2av1alpha1.AgentStatus {
	s := a2av1alpha1.AgentStatus{URL: "http://echo/", CardDigest: card, Skills: new(int32(2))}
	for _, c := range conditions {
		f := strings.Fields(c)
		s.Conditions = append(s.Conditions, metav1.Condition{
			Type: f[0], Status: metav1.ConditionStatus(f[1]), Reason: f[2], Message: f[0],
		})
	}
	return s
}

func withSkills(s a2av1alpha1.AgentStatus, n int32) a2av1alpha1.AgentStatus {
	s.Skills = &n
	return s
}

func TestTransitions(t *testing.T) {
	tests := map[string]struct {
		before, after a2av1alpha1.AgentStatus
		want          []Event
	}{
		"no change": {
			before: status("a", "Available True Available", "Ready True Ready"),
			after:  status("a", "Available True Available", "Ready True Ready"),
		},
		"first reconcile": {
			before: status("", "Available Unknown Pending", "Ready Unknown Pending"),
			after:  status("a", "Accepted True Accepted", "Available False RolloutInProgress", "CardPublished False NoPodReady", "Ready False RolloutInProgress"),
		},
		"ready": {
			before: status("a", "Available False AgentStarting", "Ready False AgentStarting"),
			after:  status("a", "Available True Available", "Ready True Ready"),
			want:   []Event{{"Normal", "Ready", "The agent serves at http://echo/"}},
		},
		"user errors": {
			before: status("a", "Accepted True Accepted", "Programmed True Programmed", "Ready True Ready"),
			after:  status("a", "Accepted False PortConflict", "SkillsResolved False SkillNotFound", "Programmed False Blocked", "Ready False PortConflict"),
			want:   []Event{{"Warning", "PortConflict", "Accepted"}, {"Warning", "SkillNotFound", "SkillsResolved"}},
		},
		"one failure after another": {
			before: status("a", "Available False ImagePullFailed"),
			after:  status("a", "Available False ContainerCrashing"),
			want:   []Event{{"Warning", "ContainerCrashing", "Available"}},
		},
		"failed rollout while pods of the earlier spec serve": {
			before: status("a", "Available True Available", "Ready False RolloutInProgress"),
			after:  status("a", "Available True ImagePullFailed", "Ready False ImagePullFailed"),
			want:   []Event{{"Warning", "ImagePullFailed", "Available"}},
		},
		"lost dependency of an agent that serves": {
			before: status("a", "Available True Available", "Ready True Ready"),
			after:  status("a", "Available True TaskStoreUnavailable", "Ready True TaskStoreUnavailable"),
			want:   []Event{{"Warning", "TaskStoreUnavailable", "Available"}},
		},
		"recovered dependency": {
			before: status("a", "Available True TaskStoreUnavailable", "Ready True TaskStoreUnavailable"),
			after:  status("a", "Available True Available", "Ready True Ready"),
			want:   []Event{{"Normal", "Ready", "The agent serves at http://echo/"}},
		},
		"scaled to zero": {
			before: status("a", "Available True Available"),
			after:  status("a", "Available False ScaledToZero"),
			want:   []Event{{"Normal", "ScaledToZero", "The agent has no pods because spec.workload.replicas is 0"}},
		},
		"omitted addresses of a remote agent that serves": {
			before: status("a", "Available True Available", "Ready True Ready"),
			after:  status("a", "Available True AddressesOmitted", "Ready True Ready"),
			want:   []Event{{"Normal", "AddressesOmitted", "Available"}},
		},
		"changed card": {
			before: status("a", "Ready True Ready"),
			after:  status("b", "Ready True Ready"),
			want:   []Event{{"Normal", "CardChanged", "The card changed to b and lists 2 skills"}},
		},
		"changed card with one skill": {
			before: status("a", "Ready True Ready"),
			after:  withSkills(status("b", "Ready True Ready"), 1),
			want:   []Event{{"Normal", "CardChanged", "The card changed to b and lists 1 skill"}},
		},
		"write that is retried": {
			before: status("a", "Programmed True Programmed"),
			after:  status("a", "Programmed Unknown ApplyFailed"),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Transitions(test.before, test.after)); diff != "" {
				t.Errorf("Transitions() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPublishBoundsNotes(t *testing.T) {
	fake := events.NewFakeRecorder(1)
	Publish(fake, &runtime.Unknown{}, Event{Type: "Normal", Reason: "Ready", Note: strings.Repeat("%s", maxNote)})
	if got := <-fake.Events; len(got) != len("Normal Ready ")+maxNote {
		t.Errorf("recorded %d bytes: %.60q", len(got), got)
	}
}
