// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/operator/memo"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// ErrOwnerGone reports that the owner does not exist in the API server any more, or is
// being deleted there. Nothing was written. The cache shows the deletion soon.
var ErrOwnerGone = errors.New("the owner is gone")

// noVersion is a resource version that no object has: etcd counts from 1, and its first
// write is revision 2. An apply with this version can create an object and can never change
// one: if the name is taken, the API server responds with a conflict. The operator
// therefore never changes an object of another owner that the cache does not show yet, and
// needs no live read (docs/adr/0022-created-without-a-read.md).
const noVersion = "1"

// Set writes the objects that differ from their desired state, in the given order. It
// writes nothing if an object belongs to another owner, and stops at the first object that
// the API server rejects. The result reports both cases, which are not errors, because a
// retry would not help. Set does not repeat a rejected write for a minute. It returns
// ErrOwnerGone if the API server does not have the owner; it checks this only if the cache
// lacks objects that existed, or has orphans.
func (a *Applier) Set(ctx context.Context, owner Owner, objects ...Object) (state.Written, error) {
	var result state.Written
	var orphans bool
	result.Conflicts, orphans = a.conflicts(owner, objects)
	if len(result.Conflicts) > 0 {
		return result, nil
	}
	if orphans || a.lost(owner, objects) {
		exists, err := a.config.OwnerExists(ctx, objects[0].namespace, owner)
		if err != nil {
			return result, err
		}
		if !exists {
			return result, ErrOwnerGone
		}
	}
	for _, object := range objects {
		if err := a.set(ctx, owner, object, &result); err != nil || result.Rejection != nil {
			return result, err
		}
	}
	return result, nil
}

// difference is how an object with the digest of its desired content differs from this content.
type difference struct {
	// change is the change of another, if isForeign is true. If isPart is true, the answer to the write shows whether there is one, and sent
	// has the members of the desired content.
	change            state.Contest
	isForeign, isPart bool
	sent              map[string]any
}

// compare compares an object with its desired content. done is true if no write is needed: they are equal, or the write would be undone
// again.
func (a *Applier) compare(ctx context.Context, owner Owner, object Object, digest string, result *state.Written) (d difference, done bool, err error) {
	if object.current.GetAnnotations()[a.config.DigestAnnotation] != digest {
		return a.compareUnmarked(owner, object, digest, result)
	}
	if inSync(object.desired, object.current) {
		return d, true, nil
	}
	if isPart(object.current) {
		d.isPart = true
		if d.sent, err = members(object.desired); err != nil {
			return d, false, fmt.Errorf("compare %s: %w", object, err)
		}
		d.change = a.named(ctx, owner, object, d.sent, "spec")
		return d, false, nil
	}
	if known, err := a.isUndone(owner, object, digest); known || err != nil {
		result.Undone = result.Undone || known
		return d, true, err
	}
	sent, err := members(object.desired)
	if err != nil {
		return d, false, fmt.Errorf("compare %s: %w", object, err)
	}
	d.change, d.isForeign = a.foreignChange(ctx, owner, object, sent)
	return d, false, nil
}

// compareUnmarked is compare for an object with the digest of another content. If the operator has written this content before, another program
// has changed the annotation.
func (a *Applier) compareUnmarked(owner Owner, object Object, digest string, result *state.Written) (d difference, done bool, err error) {
	count, _ := a.repeats.Wait(object.target, digest)
	d.isForeign = count > 0
	d.change = a.unmarked(object)
	known, err := a.isUndone(owner, object, digest)
	result.Undone = result.Undone || known
	return d, known || err != nil, err
}

// unmarked returns the change of the annotation with the digest.
func (a *Applier) unmarked(o Object) state.Contest {
	return state.Contest{Kind: o.kind(), Name: o.name, Field: "metadata.annotations[" + a.config.DigestAnnotation + "]"}
}

// isPart reports whether the cache does not have the content of an object, so that only the API server can compare it.
func isPart(current client.Object) bool {
	_, isLarge := state.TooLarge(current)
	configMap, is := current.(*corev1.ConfigMap)
	return isLarge || is && configMap.Data == nil
}

// set writes one object if it differs from its desired state. It adds the object to the
// result if a write is pending: a write that it sends now, or an earlier one that the cache
// does not show yet.
func (a *Applier) set(ctx context.Context, owner Owner, object Object, result *state.Written) error {
	meta := metadataOf(object.desired).WithOwnerReferences(owner.reference())
	digest, err := digest(object.desired)
	if err != nil {
		return fmt.Errorf("encode %s: %w", object, err)
	}
	last, _ := a.written.Pending(object.target, object.currentVersion())
	var differs difference
	switch {
	case last.digest == digest:
		addPending(object, result)
		return nil
	case object.current != nil:
		var done bool
		if differs, done, err = a.compare(ctx, owner, object, digest, result); done || err != nil {
			return err
		}
		// With the UID, the API server responds with a conflict if the object was replaced by
		// another one of the same name.
		meta.WithUID(object.current.GetUID())
		if metav1.GetControllerOfNoCopy(object.current) == nil {
			// With the resource version, the API server also responds with a conflict if another
			// owner has adopted the orphan.
			meta.WithResourceVersion(object.currentVersion())
		}
	case last.uid != "":
		meta.WithUID(last.uid)
	default:
		meta.WithResourceVersion(noVersion)
	}
	if _, left := a.repeats.Wait(object.target, digest); left > 0 && object.current != nil {
		result.Undone = true
		result.RecheckAfter = shorter(result.RecheckAfter, left)
		return nil
	}
	rejected, recheck, err := a.send(object, digest, func() error {
		meta.WithAnnotations(map[string]string{a.config.DigestAnnotation: digest})
		return a.config.Writer.Apply(ctx, object.desired, client.FieldOwner(a.config.FieldOwner), client.ForceOwnership)
	})
	if err != nil {
		return fmt.Errorf("apply %s: %w", object, err)
	}
	if rejected != nil {
		result.Rejection = rejected
		result.RecheckAfter = shorter(result.RecheckAfter, recheck)
		return nil
	}
	// The client has decoded the metadata in the API server's response into the apply configuration.
	meta = metadataOf(object.desired)
	version := ptr.Deref(meta.ResourceVersion, "")
	if version == object.currentVersion() {
		return a.unchanged(ctx, owner, object, digest, differs, result)
	}
	// The generation does not change with the status. Kinds without a generation have another version only if their content has changed, except
	// for the status of HorizontalPodAutoscalers, which the operator does not make as large.
	generation := ptr.Deref(meta.Generation, 0)
	isWritten := differs.isPart && (generation == 0 || object.current.GetGeneration() > 0 && generation > object.current.GetGeneration())
	if differs.isForeign || isWritten {
		a.reverted(owner.UID, differs.change, true)
	}
	var pendingFor time.Duration
	if object.current == nil {
		pendingFor = createdTimeout
	} else {
		a.repeats.Wrote(object.target, digest)
	}
	a.written.Put(object.target, memo.Write[write]{
		Before: object.currentVersion(), After: version, Value: write{digest: digest, uid: ptr.Deref(meta.UID, ""), owner: owner.UID}, PendingFor: pendingFor,
	})
	addPending(object, result)
	return nil
}

// unchanged handles a write that has not changed its object, which is as the cache has it. This happens if an admission
// webhook undoes the change each time, and if the cache does not have the whole object.
func (a *Applier) unchanged(ctx context.Context, owner Owner, object Object, digest string, differs difference, result *state.Written) error {
	if object.current == nil {
		return nil
	}
	if object.current.GetAnnotations()[a.config.DigestAnnotation] != digest { // the write has not set it
		differs.isForeign = true
		differs.change = a.unmarked(object)
	}
	switch {
	case differs.isForeign:
		a.reverted(owner.UID, differs.change, false)
		result.Undone = true
		return a.putUndone(object, digest, differs.change)
	case differs.isPart:
		return a.checkPart(ctx, owner, object, digest, differs.sent, result)
	}
	return nil
}

func addPending(object Object, result *state.Written) {
	result.Changed = append(result.Changed, object.kind())
	if object.current == nil {
		result.RecheckAfter = shorter(result.RecheckAfter, createdTimeout)
	}
}

// deletion is the digest of an attempt that deletes its object.
const deletion = "deletion"

// Prune deletes an object that is no longer desired, if the owner controls the object.
// current is the cached object. If the API server rejects the deletion, Prune adds the rejection
// to the result.
func (a *Applier) Prune(ctx context.Context, owner Owner, current client.Object, result *state.Written) error {
	if !current.GetDeletionTimestamp().IsZero() || !owner.controls(current) {
		return nil
	}
	object := existing(current)
	rejected, recheck, err := a.send(object, deletion, func() error {
		a.written.Drop(object.target)
		uid := current.GetUID()
		return client.IgnoreNotFound(a.config.Writer.Delete(ctx, current, client.Preconditions{UID: &uid}))
	})
	if err != nil {
		return fmt.Errorf("delete %s: %w", object, err)
	}
	if rejected != nil {
		result.NotDeleted = append(result.NotDeleted, *rejected)
		if recheck == 0 {
			recheck = rejectedFor
		}
		result.RecheckAfter = shorter(result.RecheckAfter, recheck)
	}
	return nil
}

// shorter returns the shorter one of two delays; 0 stands for none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Scale writes only the number of replicas of the cached Deployment current. It skips a
// write that it has sent before and that the cache does not show yet. replicas must have
// the Deployment's UID. fieldOwner must not be the field manager of the whole object: if
// that manager applied only this field, the API server would remove all other fields of
// that manager.
func (a *Applier) Scale(ctx context.Context, current *appsv1.Deployment, replicas *appsv1ac.DeploymentApplyConfiguration, fieldOwner string) error {
	wanted := *replicas.Spec.Replicas
	before := current.ResourceVersion
	if sent, pending := a.scaled.Pending(current.UID, before); pending && sent == wanted {
		return nil
	}
	if err := a.config.Writer.Apply(ctx, replicas, client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("scale Deployment %s: %w", client.ObjectKeyFromObject(current), err)
	}
	if version := ptr.Deref(replicas.ResourceVersion, ""); version != before { // otherwise an admission webhook has undone the change
		a.scaled.Put(current.UID, memo.Write[int32]{Before: before, After: version, Value: wanted})
	}
	return nil
}

// Annotate sets an annotation on the running pods that do not have it with this value. The
// kubelet syncs a pod, and refreshes its volumes, whenever the pod changes, so the
// annotation makes the kubelet update the pod's ConfigMap at once. A pod that does not run
// yet reads the ConfigMap when it starts. Annotate also updates the annotations of the
// patched pods in the slice pods. It does not repeat a patch that the cache does not show
// yet. If the API server rejects several patches, the result contains the last rejection.
// Annotate ignores a pod that no longer exists. Other errors do not stop Annotate: it
// returns them joined.
func (a *Applier) Annotate(ctx context.Context, pods []corev1.Pod, annotation, value, fieldOwner string) (state.Written, error) {
	var result state.Written
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
		if _, left := a.repeats.Wait(object.target, value); left > 0 {
			result.RecheckAfter = shorter(result.RecheckAfter, left)
			continue
		}
		patch, err := annotationPatch(pod.UID, annotation, value)
		if err != nil {
			return result, err
		}
		// The API server answers with the metadata only, because the rest of the pod may be large.
		patched := &metav1.PartialObjectMetadata{}
		patched.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		patched.Namespace = pod.Namespace
		patched.Name = pod.Name
		rejected, recheck, err := a.send(object, value, func() error {
			return a.config.Writer.Patch(ctx, patched, patch, client.FieldOwner(fieldOwner))
		})
		switch {
		case rejected != nil:
			result.Rejection = rejected
			result.RecheckAfter = recheck
		case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
			// The pod is gone, or another pod has its name.
		case err != nil:
			errs = append(errs, fmt.Errorf("patch %s: %w", object, err))
		default:
			if patched.ResourceVersion != pod.ResourceVersion {
				a.repeats.Wrote(object.target, value)
			}
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
