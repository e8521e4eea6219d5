// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNewPodIsCounted(t *testing.T) {
	waits := pod("echo-1", false, waiting("ContainerCreating", ""))
	accepted := Agent(healthy(onlyPod(waits), func(in *Inputs) { in.Observed.Children.Deployment.Status.Replicas = 0 })).Status
	two := *accepted.DeepCopy()
	two.Replicas = 2

	for name, test := range map[string]struct {
		age     time.Duration
		change  func(*Inputs)
		want    int32
		recheck time.Duration
	}{
		"a new pod is counted later":                             {age: 3 * time.Second, want: 0, recheck: 7 * time.Second},
		"a pod is counted when it is no longer new":              {age: 10 * time.Second, want: 1},
		"a new pod is counted with another change of the status": {age: 3 * time.Second, change: func(in *Inputs) { in.Card.CardDigest = "other" }, want: 1},
		"a new pod is counted at once after other pods ended":    {age: 3 * time.Second, change: func(in *Inputs) { in.Observed.Agent.Status = two }, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := Agent(healthy(onlyPod(waits), func(in *Inputs) {
				in.Observed.Agent.Status = accepted
				in.Observed.Pods[0].CreationTimestamp = metav1.NewTime(now.Add(-test.age))
				if test.change != nil {
					test.change(in)
				}
			}))
			if got.Status.Replicas != test.want || got.RecheckAfter != test.recheck {
				t.Errorf("Agent() counts %d pods and looks again after %s, want %d and %s",
					got.Status.Replicas, got.RecheckAfter, test.want, test.recheck)
			}
		})
	}
}
