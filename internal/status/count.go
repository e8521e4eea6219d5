// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// countHold is how long a new pod waits to be counted, unless there is
// something else to tell. Most pods are ready or have failed by then, so that a
// pod that starts is told of once and not twice.
const countHold = 10 * time.Second

// countedPods is the number of pods that the Deployment counts.
func countedPods(in Inputs) int32 {
	d := in.Observed.Children.Deployment
	if d == nil || !metav1.IsControlledBy(d, in.Observed.Agent) {
		return 0
	}
	return d.Status.Replicas
}

// holdCount leaves the number of pods as it was last told, where it has grown,
// nothing else has changed and the newest pod has just begun.
func (r *Result) holdCount(in Inputs) {
	was := in.Observed.Agent.Status
	if r.Status.Replicas <= was.Replicas {
		return
	}
	rest := countHold - in.Now.Sub(newestPod(in))
	if rest <= 0 {
		return
	}
	held := r.Status
	held.Replicas = was.Replicas
	if !equality.Semantic.DeepEqual(was, held) {
		return
	}
	r.Status = held
	if r.RecheckAfter == 0 || rest < r.RecheckAfter {
		r.RecheckAfter = rest
	}
}

// newestPod is when the newest pod was made.
func newestPod(in Inputs) time.Time {
	var newest time.Time
	for i := range in.Observed.Pods {
		if made := in.Observed.Pods[i].CreationTimestamp.Time; made.After(newest) {
			newest = made
		}
	}
	return newest
}
