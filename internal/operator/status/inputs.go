// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// Inputs are the inputs of the status of an Agent.
type Inputs struct {
	// Observed is the state that the reconcile read.
	Observed state.Agent
	// Problems are the user errors in the spec, and the failures that prevent the
	// application of the spec.
	Problems []state.Problem
	// Remarks replace the reason and the message of conditions that are True.
	Remarks []state.Problem
	// Card is the card to publish, or nil if there is none.
	Card *Card
	// CardKept is true while the operator keeps the published card, because a problem prevents
	// the card of the current spec. Card is then the published card, and all other objects
	// come from the current spec.
	CardKept bool
	// CardAwaitsPod is true while Card is the published card because no pod of the current spec is ready yet.
	CardAwaitsPod bool
	// Applied is true if the API server has accepted every desired object except the routes of
	// the Gateway API. Failures of the routes are in Problems (Outcome.Problems).
	Applied bool
	// DeploymentChanged is true if the operator wrote the Deployment and the cache does not
	// show the write yet. Observed then contains the Deployment from before the write.
	DeploymentChanged bool
	// Reports is true if sidecars report to a registry.
	Reports bool
	// TemplateDigest is the digest of the desired pod template. If it is "", the pods with the template of
	// the Deployment have the current spec.
	TemplateDigest string
	// SpecTemplate is the digest of the pod template that the spec describes, "" if it is not known.
	SpecTemplate string
	// Runs is the number of the kept revision that runs in place of the spec, 0 for the spec.
	Runs int64
	// RevisionDigest is the digest of what the spec describes as a revision, "" if it cannot be kept.
	RevisionDigest string
	// Now is the time.
	Now time.Time
}

// Card describes the card to publish.
type Card struct {
	URL string
	// ExternalURL is "" if no Gateway routes to the agent.
	ExternalURL  string
	CardDigest   string
	ConfigDigest string
	Skills       int32
}

// Result is a status, and the delay after which to reconcile again if no event starts a
// reconcile earlier.
type Result struct {
	Status a2av1alpha1.AgentStatus
	// Record is true if the operator must keep what the spec describes as a new revision.
	Record bool
	// RecheckAfter is 0 if only an event can change the status.
	RecheckAfter time.Duration
}

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
	if !Equal(was, held) {
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

// Equal reports whether two statuses are equal. It compares the conditions, the largest part
// of a status, without reflection. Reflection took a seventh of the time of a reconcile of
// an Agent in sync.
func Equal(a, b a2av1alpha1.AgentStatus) bool {
	if !slices.EqualFunc(a.Conditions, b.Conditions, equalConditions) {
		return false
	}
	a.Conditions = nil
	b.Conditions = nil
	return equality.Semantic.DeepEqual(a, b)
}

func equalConditions(a, b metav1.Condition) bool {
	since := a.LastTransitionTime.Equal(&b.LastTransitionTime)
	a.LastTransitionTime = metav1.Time{}
	b.LastTransitionTime = metav1.Time{}
	return since && a == b
}
