// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// countHold is how long the status does not count a new pod, unless another part of the
// status changes. Within this time, most pods become ready or fail, so that a starting
// pod causes one status write instead of two.
const countHold = 10 * time.Second

// countedPods returns the number of pods in the status of the Deployment.
func countedPods(in Inputs) int32 {
	d := in.Observed.Children.Deployment
	if d == nil || !metav1.IsControlledBy(d, in.Observed.Agent) {
		return 0
	}
	return d.Status.Replicas
}

// holdCount restores the previous number of pods in the status if the number has grown,
// nothing else has changed, and the newest pod is younger than countHold.
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

// newestPod returns the creation time of the newest pod.
func newestPod(in Inputs) time.Time {
	var newest time.Time
	for i := range in.Observed.Pods {
		if made := in.Observed.Pods[i].CreationTimestamp.Time; made.After(newest) {
			newest = made
		}
	}
	return newest
}
