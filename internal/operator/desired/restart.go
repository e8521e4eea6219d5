// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// annotateRestarts sets the annotations of the pod template that restart the agent: the time that
// `kubectl a2a restart` has set on the Agent, and the versions of the objects of spec.workload.restartOn.
func annotateRestarts(in state.Agent, template *corev1ac.PodTemplateSpecApplyConfiguration) {
	if at := in.Agent.Annotations[a2av1alpha1.AnnotationRestartedAt]; at != "" {
		template.WithAnnotations(map[string]string{a2av1alpha1.AnnotationRestartedAt: at})
	}
	if versions := restartVersions(in); versions != "" {
		template.WithAnnotations(map[string]string{a2av1alpha1.AnnotationRestartOn: versions})
	}
}

// restartVersions returns the value of AnnotationRestartOn, such as "ConfigMap/settings=5,Secret/keys=7". While an
// object does not exist or cannot be read, it keeps the former version of the object, so that the loss of a Secret
// stops no agent that runs.
func restartVersions(in state.Agent) string {
	former := map[string]string{}
	if d := in.Children.Deployment; d != nil && metav1.IsControlledBy(d, in.Agent) {
		for entry := range strings.SplitSeq(d.Spec.Template.Annotations[a2av1alpha1.AnnotationRestartOn], ",") {
			object, version, _ := strings.Cut(entry, "=")
			former[object] = version
		}
	}
	var entries []string
	for i, ref := range in.Agent.Spec.Workload.RestartOn {
		object := restartName(ref)
		version := in.RestartOn[i].Version
		if version == "" {
			version = former[object]
		}
		if version != "" {
			entries = append(entries, object+"="+version)
		}
	}
	slices.Sort(entries)
	return strings.Join(entries, ",")
}

func restartName(ref a2av1alpha1.RestartReference) string { return string(ref.Kind) + "/" + ref.Name }

// restartRemarks returns a remark for the first object of spec.workload.restartOn whose version is not known.
func restartRemarks(in state.Agent) []state.Problem {
	for i, ref := range in.Agent.Spec.Workload.RestartOn {
		object := in.RestartOn[i]
		cure := "create it, or correct the name"
		why := "does not exist"
		switch {
		case object.Version != "":
			continue
		case object.Forbidden:
			why = "cannot be read by the operator"
			cure = "allow the manager to get it with a Role, or ask the administrator of the operator to set rbac.readSecrets of the chart"
		case object.Failed:
			why = "could not be read, because the API server did not answer"
			cure = "the operator tries again"
		}
		return []state.Problem{state.NewProblem(a2av1alpha1.ConditionProgrammed, a2av1alpha1.ReasonRestartObjectUnknown,
			"%s %q of spec.workload.restartOn[%d] %s, so a change of it does not restart the agent; %s", ref.Kind, ref.Name, i, why, cure)}
	}
	return nil
}
