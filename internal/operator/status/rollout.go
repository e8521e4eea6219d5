// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// rollout is the progress of the pods of the current spec.
type rollout struct {
	// ready is the number of ready pods, of any spec.
	ready int
	// complete is true if all pods are ready and have the current spec.
	complete bool
	// diagnosis describes what the rollout waits for. It is empty if the rollout is complete,
	// or if neither a pod nor a condition of the Deployment shows a cause.
	diagnosis
	// former is the failure of a pod of an earlier spec, "" for none.
	former string
	// currentReady is true if a ready pod is known to have the current spec.
	currentReady bool
	// foreign is the name of a pod that takes calls and that the Deployment did not make, "" for none.
	foreign string
	// silent is the name of a ready pod whose sidecar does not report to the registry, "" for none, and
	// silenced is true if it has reported before. reportDue is the delay after which this may have changed.
	silent    string
	silenced  bool
	reportDue time.Duration
	// overdue is true if the Deployment reports that its progress deadline is exceeded.
	overdue bool
	// lostReason and lostMessage describe a failed dependency of a ready pod. They are ""
	// if there is none.
	lostReason, lostMessage string
}

// observeRollout returns the progress of the Deployment and its pods.
func observeRollout(in Inputs) rollout {
	var r rollout
	for i := range in.Observed.Pods {
		if pod := &in.Observed.Pods[i]; takesCalls(pod) {
			r.ready++
			r.currentReady = r.currentReady || in.templateDigest() != "" && in.isCurrent(pod)
		}
	}
	for i := range in.Observed.ForeignPods {
		if pod := &in.Observed.ForeignPods[i]; r.foreign == "" && takesCalls(pod) {
			r.foreign = pod.Name
		}
	}
	d := in.Observed.Children.Deployment
	if d == nil || !metav1.IsControlledBy(d, in.Observed.Agent) {
		return r
	}
	r.observeDependencies(in)
	r.silent, r.silenced, r.reportDue = unreported(in)
	r.complete = !in.DeploymentChanged && rolledOut(d, r.ready)
	if r.complete {
		return r
	}
	r.overdue = !in.DeploymentChanged && d.Status.ObservedGeneration >= d.Generation && deadlineExceeded(d)
	r.diagnosis = diagnosePods(in, in.isCurrent)
	if r.reason == "" {
		recheck := r.recheckAfter
		r.diagnosis = diagnoseDeployment(in, d)
		r.recheckAfter = recheck
	}
	if r.reason == "" {
		former := diagnosePods(in, func(pod *corev1.Pod) bool { return !in.isCurrent(pod) })
		if former.failing {
			r.former = former.message
		}
	}
	return r
}

// templateDigest returns the digest of the pod template of the current spec, "" if it is not known.
func (in *Inputs) templateDigest() string {
	if d := in.Observed.Children.Deployment; in.TemplateDigest == "" && d != nil {
		return d.Spec.Template.Annotations[a2av1alpha1.AnnotationTemplateDigest]
	}
	return in.TemplateDigest
}

// isCurrent reports whether a pod has the current spec. Pods of an earlier spec may fail for a reason that
// the current spec has removed.
func (in *Inputs) isCurrent(pod *corev1.Pod) bool {
	digest := in.templateDigest()
	return digest == "" || pod.Annotations[a2av1alpha1.AnnotationTemplateDigest] == digest
}

// rolledOut reports whether the pods of the Deployment have reached its spec. The Deployment
// counts a pod as available some time after the pod becomes ready. If all pods have the
// current template, rolledOut therefore also accepts ready, the number of ready pods.
func rolledOut(d *appsv1.Deployment, ready int) bool {
	wanted := ptr.Deref(d.Spec.Replicas, 1)
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == wanted &&
		s.Replicas == wanted && (s.AvailableReplicas == wanted || ready == int(wanted))
}

// diagnosePods returns the diagnosis of the newest of the selected pods that is not ready. It is
// empty if there is none.
func diagnosePods(in Inputs, selects func(*corev1.Pod) bool) diagnosis {
	var newest *corev1.Pod
	for i := range in.Observed.Pods {
		pod := &in.Observed.Pods[i]
		if !pod.DeletionTimestamp.IsZero() || podReady(pod) || !selects(pod) {
			continue
		}
		if newest == nil || newest.CreationTimestamp.Before(&pod.CreationTimestamp) {
			newest = pod
		}
	}
	if newest == nil {
		return diagnosis{}
	}
	d, _ := diagnosePod(in, newest)
	return d
}

// diagnoseDeployment returns the failure that the conditions of a Deployment report, or an
// empty diagnosis if they report none. It is for Deployments that have no pod, or whose
// pods show no cause.
func diagnoseDeployment(in Inputs, d *appsv1.Deployment) diagnosis {
	if d.Spec.Paused {
		return failure(a2av1alpha1.ReasonRolloutPaused, "The Deployment is paused, so the current spec does not reach the pods; "+
			"resume it with kubectl rollout resume deployment -n %s %s", d.Namespace, d.Name)
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return failure(a2av1alpha1.ReasonPodsRejected, "The API server rejects the pod: %s%s", strings.TrimSuffix(c.Message, "."), rejectionAction(in, d, c.Message))
		}
	}
	if deadlineExceeded(d) {
		return failure(a2av1alpha1.ReasonProgressDeadlineExceeded, "The pod is not ready, and reports no cause; inspect it with kubectl describe pods -n %s -l %s=%s",
			d.Namespace, a2av1alpha1.LabelAgent, d.Labels[a2av1alpha1.LabelAgent])
	}
	return diagnosis{}
}

// deadlineExceeded reports whether a rollout made no progress for the
// progressDeadlineSeconds of its Deployment.
func deadlineExceeded(d *appsv1.Deployment) bool {
	return slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse
	})
}

// observeDependencies finds a failed dependency of a ready pod. If several pods have one,
// it uses the first pod by name, so that the status is stable.
func (r *rollout) observeDependencies(in Inputs) {
	var first string
	for i := range in.Observed.Pods {
		pod := &in.Observed.Pods[i]
		if !takesCalls(pod) || r.lostReason != "" && pod.Name > first {
			continue
		}
		if reason, message, found := failedDependency(in.Observed.Agent, pod); found {
			first = pod.Name
			r.lostReason = reason
			r.lostMessage = message
		}
	}
}
