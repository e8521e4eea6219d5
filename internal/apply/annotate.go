// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Annotate puts an annotation onto those running pods that do not carry it.
// The kubelet looks at the volumes of a pod again whenever the pod changes, so
// this makes a new ConfigMap arrive at once. A pod that is not running yet
// reads it when it starts. The pods given are updated to what was written. The
// outcome has what the API server refused last.
func (a *Applier) Annotate(ctx context.Context, pods []corev1.Pod, annotation, value, fieldOwner string) (Outcome, error) {
	var outcome Outcome
	var errs []error
	for i := range pods {
		pod := &pods[i]
		if !running(pod) || pod.Annotations[annotation] == value {
			continue
		}
		object := Object{kind: "Pod", target: target{reflect.TypeFor[corev1.Pod](), pod.Namespace, pod.Name}, name: pod.Name, current: pod}
		if refused := a.refused.of(object, value); refused != nil {
			a.refuse(&outcome, refused)
			continue
		}
		patch, err := annotationPatch(pod.UID, annotation, value)
		if err != nil {
			return outcome, err
		}
		patched := &corev1.Pod{}
		patched.Namespace, patched.Name = pod.Namespace, pod.Name
		err = a.config.Writer.Patch(ctx, patched, patch, client.FieldOwner(fieldOwner))
		// A pod that is gone, or another one by now, needs no annotation.
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			continue
		}
		if rejection := rejectionOf(object, err); rejection != nil {
			a.refuse(&outcome, a.refused.remember(object, value, *rejection))
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("patch Pod %s/%s: %w", pod.Namespace, pod.Name, err))
			continue
		}
		pod.Annotations = patched.Annotations
	}
	return outcome, errors.Join(errs...)
}

func running(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp.IsZero() && pod.Status.Phase == corev1.PodRunning
}

// annotationPatch is a merge patch for this very pod.
func annotationPatch(uid types.UID, annotation, value string) (client.Patch, error) {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":         uid,
		"annotations": map[string]string{annotation: value},
	}})
	if err != nil {
		return nil, fmt.Errorf("encode annotation: %w", err)
	}
	return client.RawPatch(types.MergePatchType, body), nil
}
