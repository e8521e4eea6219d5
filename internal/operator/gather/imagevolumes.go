// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/a2a-operator/a2a-operator/internal/operator/memo"
)

// imageVolumesAge is the time after which the API server is asked again whether it supports image volumes.
const imageVolumesAge = 10 * time.Minute

// imageVolumesRetry is the time after which it is asked again if its answer said nothing about image volumes, such as one about a quota of
// the namespace.
const imageVolumesRetry = time.Minute

// maxImageVolumeAnswers bounds the namespaces whose answers are in memory.
const maxImageVolumeAnswers = 4 << 10

// ImageVolumes knows whether the API server keeps image volumes of the pod templates of a namespace. A server without them drops such a
// volume without an error, so it asks by a dry run. Quotas and policies of a namespace can change the answer, so that each namespace has
// its own. It is safe for concurrent use.
type ImageVolumes struct {
	writer  client.Writer
	clock   clock.PassiveClock
	answers *memo.Memo[string, struct{}, imageVolumesAnswer]
}

// imageVolumesAnswer is valid until a time. It then holds until there is another one.
type imageVolumesAnswer struct {
	isMissing bool
	until     time.Time
}

// NewImageVolumes returns ImageVolumes that ask by writer.
func NewImageVolumes(writer client.Writer, passive clock.PassiveClock) *ImageVolumes {
	return &ImageVolumes{writer: writer, clock: passive, answers: memo.New[string, struct{}, imageVolumesAnswer](maxImageVolumeAnswers, passive)}
}

// missing reports whether the API server drops image volumes in a namespace in which the operator creates Deployments. It returns false
// if the answer was never known.
func (v *ImageVolumes) missing(ctx context.Context, namespace string) bool {
	if v == nil {
		return false
	}
	answer, _ := v.answers.Get(namespace, struct{}{})
	if now := v.clock.Now(); !now.Before(answer.until) {
		age := imageVolumesAge
		deployment := withImageVolume(namespace)
		err := v.writer.Create(ctx, deployment, client.DryRunAll)
		switch {
		case err == nil:
			volumes := deployment.Spec.Template.Spec.Volumes
			answer.isMissing = len(volumes) == 0 || volumes[0].Image == nil
		case apierrors.IsInvalid(err): // a server that does not know the field finds a volume without a source
			answer.isMissing = true
		default:
			log.FromContext(ctx).Info("asking the API server for image volumes failed", "error", err.Error())
			age = imageVolumesRetry
		}
		answer.until = now.Add(age)
		v.answers.Put(namespace, struct{}{}, answer, time.Time{})
	}
	return answer.isMissing
}

// withImageVolume returns a Deployment without pods whose template has an image volume.
func withImageVolume(namespace string) *appsv1.Deployment {
	labels := map[string]string{"a2a-operator.dev/dry-run": "image-volumes"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "a2a-dry-run-", Namespace: namespace, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{Name: "none", Image: "registry.example/none", VolumeMounts: []corev1.VolumeMount{{Name: "image", MountPath: "/image"}}}},
					Volumes: []corev1.Volume{{Name: "image", VolumeSource: corev1.VolumeSource{
						Image: &corev1.ImageVolumeSource{Reference: "registry.example/none@sha256:" + strings.Repeat("0", 64)},
					}}},
				},
			},
		},
	}
}
