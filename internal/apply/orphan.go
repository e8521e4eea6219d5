// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conflicts are the objects that belong to somebody else. An orphan is taken
// back (docs/adr/0023-orphans-are-taken-back.md).
func (a *Applier) conflicts(ctx context.Context, owner Owner, objects []Object) ([]Conflict, error) {
	var foreign, orphans []Conflict
	namespace := ""
	for _, object := range objects {
		conflict := object.conflict(owner)
		switch {
		case conflict == nil:
		case a.orphan(object, owner):
			orphans, namespace = append(orphans, *conflict), object.namespace
		default:
			foreign = append(foreign, *conflict)
		}
	}
	if len(foreign) > 0 || len(orphans) == 0 {
		return foreign, nil
	}
	// An owner whose deletion the cache does not show yet may be leaving them
	// behind at this moment. Given back to it, they would be deleted after it.
	lives, err := a.config.Lives(ctx, namespace, owner)
	if err != nil || !lives {
		return orphans, err
	}
	return nil, nil
}

// orphan tells of an object that was made here for an owner of the same name,
// and that nobody controls any more.
func (a *Applier) orphan(object Object, owner Owner) bool {
	current := object.current
	if metav1.GetControllerOfNoCopy(current) != nil || !current.GetDeletionTimestamp().IsZero() ||
		current.GetLabels()[a.config.OwnerLabel] != owner.Name {
		return false
	}
	return slices.ContainsFunc(current.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == a.config.FieldOwner && e.Operation == metav1.ManagedFieldsOperationApply
	})
}
