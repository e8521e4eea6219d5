// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// controls reports whether the owner is the controller owner of an object.
func (owner Owner) controls(object client.Object) bool {
	controller := metav1.GetControllerOfNoCopy(object)
	return controller != nil && controller.UID == owner.UID
}

// reference returns the owner reference by which the garbage collector deletes an object
// with its owner.
func (owner Owner) reference() *metav1ac.OwnerReferenceApplyConfiguration {
	apiVersion, kind := owner.Kind.ToAPIVersionAndKind()
	return metav1ac.OwnerReference().
		WithAPIVersion(apiVersion).
		WithKind(kind).
		WithName(owner.Name).
		WithUID(owner.UID).
		WithController(true).
		WithBlockOwnerDeletion(true)
}

// conflicts returns the foreign objects: they exist, the owner does not control them, and they are
// no orphans of the owner. It also reports whether there are orphans. Set adopts orphans
// (docs/adr/0023-orphans-are-taken-back.md) only after a live read of the owner: if the owner is
// being deleted and orphans its objects, the garbage collector would delete adopted objects, too.
func (a *Applier) conflicts(owner Owner, objects []Object) (foreign []state.Conflict, orphans bool) {
	for _, object := range objects {
		switch {
		case object.current == nil || owner.controls(object.current):
		case a.orphaned(object, owner):
			orphans = true
		default:
			controller := metav1.GetControllerOfNoCopy(object.current)
			former := controller != nil && controller.Kind == owner.Kind.Kind &&
				controller.APIVersion == owner.Kind.GroupVersion().String() && controller.Name == owner.Name
			foreign = append(foreign, state.Conflict{Kind: object.kind(), Name: object.name, Former: former})
		}
	}
	return foreign, orphans
}

// orphaned reports whether the operator wrote the object for an owner of the same name, and
// the object no longer has a controller owner.
func (a *Applier) orphaned(object Object, owner Owner) bool {
	current := object.current
	if metav1.GetControllerOfNoCopy(current) != nil || !current.GetDeletionTimestamp().IsZero() ||
		current.GetLabels()[a.config.OwnerLabel] != owner.Name {
		return false
	}
	return slices.ContainsFunc(current.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == a.config.FieldOwner && e.Operation == metav1.ManagedFieldsOperationApply
	})
}

// lost reports whether the cache lacks one of the objects although the object existed. In
// this case the owner may have been deleted together with the object
// (docs/adr/0024-nothing-for-a-deleted-agent.md), and Set reads the owner live.
func (a *Applier) lost(owner Owner, objects []Object) bool {
	return slices.ContainsFunc(objects, func(o Object) bool {
		if o.current != nil {
			return false
		}
		if _, pending := a.written.Pending(o.target, o.currentVersion()); pending {
			return false
		}
		last, ok := a.written.Last(o.target)
		return owner.Programmed || ok && last.owner == owner.UID
	})
}
