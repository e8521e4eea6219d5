// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// maxAdditions bounds the additions in a message.
const maxAdditions = 8

// additionRemarks returns a remark if others have added elements to the pod template of the Deployment, such as a
// variable by `kubectl set env`. Server-side apply keeps elements of other field managers.
func additionRemarks(in state.Agent, template *corev1ac.PodTemplateSpecApplyConfiguration) ([]state.Problem, error) {
	d := in.Children.Deployment
	if d == nil || !metav1.IsControlledBy(d, in.Agent) {
		return nil, nil
	}
	text, err := json.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("encode pod template: %w", err)
	}
	want := &corev1.PodTemplateSpec{}
	if err := json.Unmarshal(text, want); err != nil {
		return nil, fmt.Errorf("decode pod template: %w", err)
	}
	added := additions(&d.Spec.Template.Spec, &want.Spec)
	if len(added) == 0 {
		return nil, nil
	}
	if len(added) > maxAdditions {
		added = append(added[:maxAdditions], "more")
	}
	return []state.Problem{state.NewProblem(a2av1alpha1.ConditionProgrammed, a2av1alpha1.ReasonFieldsAdded,
		"The objects are in sync with the spec, and others have added to the pod template of the Deployment: %s; remove it there, or move it into spec.workload.template",
		strings.Join(added, ", "))}, nil
}

// additions lists the elements that a pod spec has and a desired one does not have.
func additions(have, want *corev1.PodSpec) []string {
	var all []string
	extra := func(kind string, have, want []string) {
		for _, name := range have {
			if !slices.Contains(want, name) {
				all = append(all, fmt.Sprintf("%s %q", kind, name))
			}
		}
	}
	containers := func(kind string, have, want []corev1.Container) {
		extra(kind, namesOf(have, containerName), namesOf(want, containerName))
		for i := range have {
			at := slices.IndexFunc(want, func(c corev1.Container) bool { return c.Name == have[i].Name })
			if at < 0 {
				continue
			}
			of := fmt.Sprintf("%s %q ", kind, have[i].Name)
			extra(of+"env", namesOf(have[i].Env, func(e corev1.EnvVar) string { return e.Name }), namesOf(want[at].Env, func(e corev1.EnvVar) string { return e.Name }))
			extra(of+"volumeMount", namesOf(have[i].VolumeMounts, mountPath), namesOf(want[at].VolumeMounts, mountPath))
			if len(have[i].EnvFrom) > len(want[at].EnvFrom) {
				all = append(all, of+"envFrom")
			}
		}
	}
	containers("initContainer", have.InitContainers, want.InitContainers)
	containers("container", have.Containers, want.Containers)
	extra("volume", namesOf(have.Volumes, func(v corev1.Volume) string { return v.Name }), namesOf(want.Volumes, func(v corev1.Volume) string { return v.Name }))
	return all
}

func containerName(c corev1.Container) string { return c.Name }

func mountPath(m corev1.VolumeMount) string { return m.MountPath }

func namesOf[T any](all []T, name func(T) string) []string {
	names := make([]string, 0, len(all))
	for _, each := range all {
		names = append(names, name(each))
	}
	return names
}
