// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/applyresult"
	"github.com/a2a-operator/a2a-operator/internal/memo"
)

// Annotate sets an annotation on the running pods that lack it. The kubelet syncs a pod,
// and refreshes its volumes, whenever the pod changes, so the annotation makes the
// kubelet update the pod's ConfigMap at once. A pod that does not run yet reads the
// ConfigMap when it starts. Annotate also updates the annotations in the given pods, in new
// maps. It does not repeat a patch that the cache does not show yet. If the API server rejects
// several patches, the result contains the last rejection.
func (a *Applier) Annotate(ctx context.Context, pods []corev1.Pod, annotation, value, fieldOwner string) (applyresult.Result, error) {
	var result applyresult.Result
	var errs []error
	for i := range pods {
		pod := &pods[i]
		if pod.Status.Phase != corev1.PodRunning || !pod.DeletionTimestamp.IsZero() || pod.Annotations[annotation] == value {
			continue
		}
		if sent, pending := a.annotated.Pending(pod.UID, pod.ResourceVersion); pending && sent == value {
			pod.Annotations = maps.Clone(pod.Annotations)
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, annotation, value)
			continue
		}
		object := existing(pod)
		patch, err := annotationPatch(pod.UID, annotation, value)
		if err != nil {
			return result, err
		}
		patched := &corev1.Pod{}
		patched.Namespace, patched.Name = pod.Namespace, pod.Name
		rejected, recheck, err := a.send(object, value, func() error {
			return a.config.Writer.Patch(ctx, patched, patch, client.FieldOwner(fieldOwner))
		})
		switch {
		case rejected != nil:
			result.Rejection, result.RecheckAfter = rejected, recheck
		case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
			// The pod is gone, or another pod has its name.
		case err != nil:
			errs = append(errs, fmt.Errorf("patch %s: %w", object, err))
		default:
			pod.Annotations = patched.Annotations
			if pod.Annotations[annotation] == value { // an admission webhook may have undone the change
				a.annotated.Put(pod.UID, memo.Write[string]{Before: pod.ResourceVersion, After: patched.ResourceVersion, Value: value})
			}
		}
	}
	return result, errors.Join(errs...)
}

// annotationPatch returns a merge patch that fails for a pod with another UID.
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
