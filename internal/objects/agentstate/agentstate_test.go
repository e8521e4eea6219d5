// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentstate

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

func TestOf(t *testing.T) {
	for name, test := range map[string]struct {
		available, ready [2]string // status and reason; "" for no condition
		want             State
		problem          string
	}{
		"ready":              {[2]string{"True", "Available"}, [2]string{"True", "Ready"}, State{true, "True", "Ready", ""}, ""},
		"no conditions":      {[2]string{}, [2]string{}, State{false, "Unknown", "Pending", ""}, "Pending"},
		"conflict":           {[2]string{"Unknown", "Pending"}, [2]string{"False", "Conflict"}, State{false, "False", "Conflict", ""}, "Conflict"},
		"wrong port":         {[2]string{"False", "RolloutInProgress"}, [2]string{"False", "PortConflict"}, State{false, "False", "PortConflict", ""}, "PortConflict"},
		"failing rollout":    {[2]string{"True", "ImagePullFailed"}, [2]string{"False", "ImagePullFailed"}, State{true, "False", "ImagePullFailed", ""}, "ImagePullFailed"},
		"a lost dependency":  {[2]string{"True", "TaskStoreUnavailable"}, [2]string{"True", "TaskStoreUnavailable"}, State{true, "True", "TaskStoreUnavailable", ""}, "TaskStoreUnavailable"},
		"a reason of others": {[2]string{"True", "Available"}, [2]string{"True", ""}, State{true, "True", "", ""}, ""},
	} {
		status := &a2av1alpha1.AgentStatus{}
		for kind, c := range map[string][2]string{a2av1alpha1.ConditionAvailable: test.available, a2av1alpha1.ConditionReady: test.ready} {
			if c[0] != "" {
				status.Conditions = append(status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionStatus(c[0]), Reason: c[1]})
			}
		}
		if got := Of(status); got != test.want || got.Problem() != test.problem {
			t.Errorf("%s: Of() = %+v with the problem %q", name, got, got.Problem())
		}
	}
}
